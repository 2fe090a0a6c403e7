"""docs/functions.md: the operators, functions and aggregates that run on columns, by the names that the code itself has of them.

The code names a function of PostgreSQL by its number's constant, F_ and the name, and the types of its arguments where several have that name (gen_fmgrtab.pl).
"""

import collections
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "functions.md"
QUERY = ROOT / "src" / "query"
# What says which of them have a form on columns.
EXPRESSIONS = ["operators", "compile", "times", "path", "condition", "containment", "jsonpath", "unnesting"]
FILES = [QUERY / "expr" / f"{name}.rs" for name in EXPRESSIONS] + [QUERY / "plan" / "aggregates.rs", QUERY / "plan" / "collect.rs"]
CATALOG = """
    WITH functions AS (
        SELECT oid, proname, CASE WHEN proretset THEN 's' ELSE prokind::text END AS kind, count(*) OVER (PARTITION BY proname) > 1 AS several,
            ARRAY(SELECT t.typname FROM unnest(proargtypes) WITH ORDINALITY a (type, n) JOIN pg_type t ON t.oid = a.type ORDER BY n)::text[] AS names,
            ARRAY(SELECT CASE WHEN a.type = 'bpchar'::regtype THEN 'char(n)' ELSE format_type(a.type, NULL) END FROM unnest(proargtypes) WITH ORDINALITY a (type, n) ORDER BY n) AS types
        FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND oid < 10000)
    SELECT 'F_' || upper(proname || CASE WHEN several THEN '_' || array_to_string(names, '_') ELSE '' END), proname, kind, array_to_string(types, ', '),
        (SELECT string_agg(DISTINCT oprname, ' ') FROM pg_operator WHERE oprcode = f.oid),
        (SELECT string_agg(format_type(castsource, NULL) || ' to ' || format_type(casttarget, NULL), ';') FROM pg_cast
            WHERE castfunc = f.oid AND castsource < 4000 AND casttarget::regtype::text !~ '^(oid|reg.*|character varying|character)$' AND castsource <> 'bpchar'::regtype)
    FROM functions f"""
# Of exp, ln, log, round and trunc: nobody writes them.
OTHER_NAMES = {"dexp", "dlog1", "dlog10", "dround", "dtrunc"}
SHORT = {"double precision": "float8", "real": "float4", "boolean": "bool", "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
         "time without time zone": "time", "bigint": "int8", "integer": "int4", "smallint": "int2", '"any"': "any"}


def catalog():
    """Name of the constant: name, kind, argument types, operators, casts."""
    done = subprocess.run([f"{os.environ['PG_BIN']}/psql", "-XAtq", "-F", "\t", "-d", "postgres", "-c", CATALOG], check=True, text=True, stdout=subprocess.PIPE)
    text = done.stdout
    for name, short in SHORT.items():
        text = re.sub(rf"(?<![\w]){re.escape(name)}(?![\w])", short, text)
    lines = (line.split("\t") for line in text.splitlines())
    return {line[0]: line[1:] for line in lines}


def listed():
    """Kind: name: arguments."""
    known = catalog()
    found = {kind: collections.defaultdict(set) for kind in ("operators", "functions", "casts", "aggregates", "rows")}
    for constant in {name for file in FILES for name in re.findall(r"\bF_[A-Z0-9_]+", file.read_text(encoding="utf-8"))}:
        name, kind, types, operators, casts = known[constant]
        if name in OTHER_NAMES:
            continue
        if operators:
            sides = types.split(", ")
            types = sides[0] if len(set(sides)) == 1 else types
            for operator in operators.split():
                found["operators"][operator].add(types)
        elif casts:
            for cast in casts.split(";"):
                source, target = cast.split(" to ")
                found["casts"][source].add(target)
        else:
            found[{"a": "aggregates", "s": "rows"}.get(kind, "functions")][name].add(types or "*")
    return found


def table(of, heads, code=True):
    lines = [f"| {heads[0]} | {heads[1]} |", "|---|---|"]
    for name in sorted(of):
        shown = name.replace("|", "\\|")
        shown = f"`{shown}`" if code else shown
        lines.append(f"| {shown} | {'; '.join(sorted(of[name]))} |")
    return "\n".join(lines)


def page():
    found = listed()
    return "\n\n".join([
        "# Operators and functions on columns",
        "The list of the code, made by a test (`tests/python/docs/functions.py`). Beside these: AND, OR, NOT, IS NULL, IS DISTINCT FROM, IN, BETWEEN, CASE, COALESCE, NULLIF, GREATEST and LEAST. "
        "Of some, further arguments have to be constants. [What runs on columns](columns.md) says what becomes of others.",
        "## Operators", table(found["operators"], ("operator", "of")),
        "## Functions", table(found["functions"], ("function", "of")),
        "## Casts", "Those of paths of documents as text to all of these types as well.", table(found["casts"], ("from", "to"), code=False),
        "## Aggregates", table(found["aggregates"], ("aggregate", "of")),
        "## Functions that give rows", table(found["rows"], ("function", "of")),
    ]) + "\n"


def check(output):
    """Writes what the page should say; whether it does."""
    text = page()
    output.write_text(text, encoding="utf-8")
    fine = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    print("ok      the list of functions" if fine else f"FAILED  docs/functions.md is not what the code says; {output.relative_to(ROOT)} is", flush=True)
    return fine
