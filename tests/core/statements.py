"""Cuts what a test program printed into statements and their output.

psql (-a) echoes each line of the script before it reads it, so the script says where output can be: behind a line that ends a statement or holds a
backslash command. isolationtester names each step.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Statement:
    """What was run, as it was echoed, and what it printed."""

    text: str
    output: list[str]
    key: str = field(default="")
    # Of a step that another had to wait for, what it ran: its result comes later.
    runs: str = field(default="")


TOKEN = re.compile(
    r"""--.* | /\* | (?:[eEbBxXnN]|[uU]&)?' | (?:[uU]&)?" | \$(?:[^\W\d]\w*)?\$ | \$\d+ | [^\W\d][\w$]* | \d\w* | .""",
    re.VERBOSE | re.DOTALL)
# Backslash commands that send or forget what has been read of a statement.
SENDS = re.compile(r"\\(g(set|exec|desc|x)?|crosstabview|watch|r|reset|sendpipeline|parse)\b")
NO_ECHO, ECHO = (r"\set ECHO none", r"\set ECHO errors"), r"\set ECHO all"
# What follows is echoed on the same line; or not at all.
UNFINISHED, QUITS = re.compile(r"\\(q?echo|warn) -n\b"), re.compile(r"^\s*\\q(uit)?\b", re.MULTILINE)
FROM_STDIN = re.compile(r"\bcopy\b(?:[^;'-]|'[^']*'|-(?!-))*?\bfrom\s+p?std(?:in|out)\b", re.IGNORECASE)


class Unaligned(Exception):
    """Script and output do not belong together, or psql ended early."""


class Scanner:
    """psql's lexer (psqlscan.l), as far as it says where a statement ends."""

    def __init__(self):
        self.reset()
        self.standard_strings = True
        self.branches = []

    def reset(self):
        # The quotation that is open: a quote, "e'", a $tag$, or the depth of comments.
        self.quote, self.comments = None, 0
        self.parens = self.begins = 0
        self.words = []

    def in_quote(self):
        return self.quote is not None or self.comments > 0

    def ends(self, line):
        """Whether output may follow the line."""
        at, ended = 0, False
        while at < len(line):
            if self.comments:
                at = self.comment(line, at)
            elif self.quote:
                at = self.quoted(line, at)
            else:
                token = TOKEN.match(line, at).group()
                if token == "\\":
                    if line[at + 1:at + 2] in (";", ":"):
                        at += 2
                        continue
                    self.command(line[at:])
                    return True
                at += len(token)
                ended |= self.token(token)
        return ended

    def command(self, text):
        """A backslash command. What a branch that is not taken holds counts for nothing."""
        if SENDS.match(text):
            self.reset()
        elif text.startswith("\\if"):
            self.branches.append(self.parens)
        elif text.startswith(("\\el", "\\endif")) and self.branches:
            self.parens = self.branches[-1]
            if text.startswith("\\endif"):
                self.branches.pop()

    def comment(self, line, at):
        found = re.compile(r"/\*|\*/").search(line, at)
        if not found:
            return len(line)
        self.comments += 1 if found.group() == "/*" else -1
        return found.end()

    def quoted(self, line, at):
        if self.quote[0] == "$":
            end = line.find(self.quote, at)
            if end < 0:
                return len(line)
            end += len(self.quote)
        else:
            body = {"'": r"(?:[^']|'')*", '"': r'(?:[^"]|"")*', "e'": r"(?:[^'\\]|''|\\.|\\$)*"}[self.quote]
            end = re.compile(body, re.DOTALL).match(line, at).end() + 1
            if end > len(line):
                return len(line)
        self.quote = None
        return end

    def token(self, token):
        if token.startswith("--"):
            return False
        if token == "/*":
            self.comments = 1
        elif token[-1] == "'":
            escapes = token[0] in "eE" or token == "'" and not self.standard_strings
            self.quote = "e'" if escapes else "'"
        elif token[-1] == '"':
            self.quote = '"'
        elif re.fullmatch(r"\$\D*\w*\$", token):
            self.quote = token
        elif token in "()":
            self.parens = max(0, self.parens + (1 if token == "(" else -1))
        elif re.match(r"[^\W\d]", token):
            self.word(token.lower())
        elif token == ";" and not self.parens and not self.begins:
            self.reset()
            return True
        return False

    def word(self, word):
        """Bodies of SQL functions hold semicolons: CREATE … BEGIN … END."""
        self.words = (self.words + [word])[:4]
        creates = self.words[:1] == ["create"] and {"function", "procedure"} & set(self.words[1:])
        if creates and not self.parens:
            if word == "begin" or word == "case" and self.begins:
                self.begins += 1
            elif word == "end" and self.begins:
                self.begins -= 1


def chunk(script, at, scanner):
    """The lines from `at` on that are echoed without output in between, and where the next begins."""
    lines = []
    while at < len(script):
        line = script[at]
        at += 1
        if not line and not scanner.in_quote():
            continue
        lines.append(line)
        if scanner.ends(line):
            break
        scanner.ends("\n")
    text = "\n".join(lines)
    setting = re.search(r"standard_conforming_strings\s*(?:=|to)\s*(\w+)", text, re.IGNORECASE)
    if setting:
        scanner.standard_strings = setting.group(1).lower() == "on"
    return lines, at


def find(lines, output, at):
    """Where `lines` are in the output, from `at` on; None if they are not there."""
    while True:
        try:
            at = output.index(lines[0], at)
        except ValueError:
            return None
        if output[at:at + len(lines)] == lines:
            return at
        at += 1


def cut_script(script, output):
    """The statements of a psql script and what each printed."""
    found = []  # (text, first line, line behind)
    scanner, at, position, echo = Scanner(), 0, 0, True
    while at < len(script):
        lines, at = chunk(script, at, scanner)
        if not echo:
            echo = lines[-1:] == [ECHO]
            continue
        if not lines:
            break
        start = find(lines, output, position)
        if start is None:
            last = found[-1][0] if found else ""
            if UNFINISHED.search(last):
                continue
            if QUITS.search(last):
                break
            raise Unaligned(f"the output does not echo: {lines[0]}")
        position = start + len(lines)
        text = "\n".join(lines)
        found.append((text, start, position))
        echo = lines[-1] not in NO_ECHO
        for _ in FROM_STDIN.findall(text):
            at = skip_data(script, at, output, position)
    ends = [start for _, start, _ in found[1:]] + [len(output)]
    leading = [Statement("", output[:found[0][1]] if found else output)]
    statements = [Statement(text, output[behind:end]) for (text, _, behind), end in zip(found, ends)]
    return name([s for s in leading if s.output] + statements)


def skip_data(script, at, output, position):
    """Behind COPY FROM stdin comes data up to `\\.`, which is not echoed, unless the statement failed."""
    try:
        behind = script.index("\\.", at) + 1
    except ValueError:
        return at
    as_script, _ = chunk(script, at, Scanner())
    as_data, _ = chunk(script, behind, Scanner())
    first = find(as_script, output, position) if as_script else None
    second = find(as_data, output, position) if as_data else None
    if first is not None and (second is None or first < second):
        return at
    return behind


STEP = re.compile(r"^step ([^:]+): ?(.*)$")


def cut_isolation(output):
    """The steps of each permutation. A step's output is what follows its text; a step that waited is named again when it is done."""
    statements, permutation, texts = [], "", {}
    current = Statement("", [])
    for line in output:
        step = STEP.match(line)
        if line.startswith("starting permutation:"):
            permutation, texts = line, {}
            current = Statement(line, [])
        elif step:
            texts.setdefault(step.group(1), []).append(line) if "<... completed>" not in line else None
            current = Statement(f"{permutation}\n{line}", [], runs="\n".join(texts.get(step.group(1), [])))
            current_texts = texts.get(step.group(1), [])
        else:
            current.output.append(line)
            # The text of a step may have several lines; what it printed does no harm here.
            if current.runs and "<... completed>" not in current.text:
                current_texts.append(line)
                current.runs += "\n" + line
            continue
        statements.append(current)
    return name(statements)


def name(statements):
    """Gives each a key: a digest of its text, and which of several with the same text it is."""
    seen = Counter()
    for statement in statements:
        digest = hashlib.sha256(statement.text.encode(errors="surrogateescape")).hexdigest()[:8]
        seen[digest] += 1
        statement.key = digest if seen[digest] == 1 else f"{digest}.{seen[digest]}"
        statement.runs = statement.runs or statement.text
    return statements
