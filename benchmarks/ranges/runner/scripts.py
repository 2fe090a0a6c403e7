"""pgbench's scripts: how a key is chosen, and what is done with it."""

import re

from .config import HERE, KINDS, THETA, Options


def text(options: Options, starts: str, kind: str) -> str:
    """The script of a kind of range, or of "update"."""
    if kind == "update":
        return _read(starts) + _read("update")
    chosen = KINDS[kind]
    script = "ordered" if options.ordered and chosen.script == "all" else chosen.script
    return _read(starts) + f"\\set length {chosen.length(options.rows)}\n" + _read(script)


def statement(options: Options, kind: str, start: int) -> str:
    """The query of a kind that begins at a key."""
    lines = text(options, "uniform", kind).splitlines()
    values = {"start": start, "stop": start + KINDS[kind].length(options.rows)}
    return re.sub(r"(?<!:):([a-z]+)", lambda found: str(values[found[1]]), next(line for line in lines if line.startswith("SELECT")))


def defines(options: Options) -> list[str]:
    """Arguments of pgbench: the variables of the scripts. Zeta and eta as Gray et al. have them (Quickly Generating Billion-Record Synthetic Databases, SIGMOD 1994)."""
    zeta = sum(rank ** -THETA for rank in range(1, options.rows + 1))
    eta = (1 - (2 / options.rows) ** (1 - THETA)) / (1 - (1 + 2 ** -THETA) / zeta)
    values = {"rows": options.rows, "theta": THETA, "zeta": zeta, "eta": eta}
    return [argument for name, value in values.items() for argument in ("--define", f"{name}={value}")]


def _read(name: str) -> str:
    return (HERE / "scripts" / f"{name}.sql").read_text()
