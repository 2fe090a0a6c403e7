"""Whether what a block printed is what its page shows."""

import re

ANY = "…"
RULE = re.compile(r"^-+(\+-+)*$")


def matches(expected, came):
    """Whether the last of the lines that came are those expected, which may leave out parts of lines, or lines, by `…`."""
    # Widths of columns follow from what is left out.
    loose = any(ANY in line for line in expected)
    expected, came = tidy(expected, loose), tidy(came, loose)
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == ANY else ".*".join(map(re.escape, line.split(ANY))) + r"\n" for line in expected)
    return re.fullmatch(r"(?:.*\n)*?" + pattern, "".join(f"{line}\n" for line in came)) is not None


def tidy(lines, loose):
    """Without blanks at ends of lines and lines at the end; `loose`: as if blanks, and dashes below headings, were one."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    if loose:
        lines = [re.sub("-+", "-", line) if RULE.match(line) else re.sub(" +", " ", line) for line in lines]
        # A single column's heading is in its middle.
        lines = [line.lstrip() if RULE.match(after) else line for line, after in zip(lines, lines[1:] + [""])]
    return lines


def messages(lines):
    """Without the places in the query that psql shows below an error."""
    kept, skip = [], False
    for line in lines:
        if skip:
            skip = False
        elif re.match(r"LINE \d+: ", line):
            skip = True
        else:
            kept.append(line)
    return kept
