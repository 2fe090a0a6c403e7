"""The fenced blocks of a page, and what is wrong with them before anything is run."""

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^( *)(`{3,}|~{3,}) *(.*?) *$")
REASON = re.compile(r"^ *<!-- not run: \S.* -->$")
EXECUTED = ("sql", "sh", "python")
SHOWN = ("text", "json", "ini", "toml", "yaml", "rust", "c")


@dataclass
class Block:
    line: int
    language: str
    words: list
    lines: list
    before: str  # the line above it
    answer: list | None = None  # the lines of the text block right behind it
    problems: list = field(default_factory=list)

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    @property
    def runs(self):
        return self.language in EXECUTED and "norun" not in self.words

    @property
    def fails(self):
        return "fails" in self.words


def ends(lines):
    """Whether the last of these lines ends a statement or a command of psql's."""
    code = [line for line in (re.sub(r"(^|\s)--.*$", "", line).rstrip() for line in lines) if line]
    return bool(code) and (code[-1].endswith(";") or "\\" in code[-1])


def look(block):
    """What is wrong with a block by itself."""
    if not block.language:
        yield "has no language"
    elif block.language not in EXECUTED + SHOWN:
        yield f"is in {block.language}: write {', '.join(EXECUTED)}, or {', '.join(SHOWN)}"
    for word in block.words:
        if word not in ("fails", "norun") or block.language not in EXECUTED:
            yield f"says {word}, which means nothing here"
    if "norun" in block.words and not REASON.match(block.before):
        yield "is not run, and the line above does not say why: <!-- not run: REASON -->"
    if block.language == "sql" and block.runs and not ends(block.lines):
        yield "does not end its last statement"


def blocks_of(text):
    """The blocks of a page, each with the answer that is expected of it."""
    found, opened, last, before = [], None, 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opened is None and fence and "`" not in fence[3]:
            opened = fence
            language, *words = fence[3].split() or [""]
            block = Block(number, language, words, [], before)
        elif opened is not None and fence and not fence[3] and fence[2].startswith(opened[2]):
            opened = None
            block.problems += look(block)
            if found and block.language == "text" and found[-1].runs and last == found[-1].line:
                found[-1].answer = block.lines
            found.append(block)
            last = block.line
        elif opened is not None:
            block.lines.append(re.sub(rf"^ {{0,{len(opened[1])}}}", "", line))
        elif line.strip():
            last = 0
        before = line
    if opened is not None:
        block.problems.append("does not end")
        found.append(block)
    return found
