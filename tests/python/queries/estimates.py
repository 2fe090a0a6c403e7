"""What the planner expects of real documents, beside what there is: rows of filters, groups, joins and unnested arrays, in crates and npm manifests; and in
partitioned tables of the same.

    estimates.py DIRECTORY RESULTS

The q-error of a query is what is expected over what there is, or the other way round. It is at most 2 in the median, and at most 10 for 19 queries of 20.
The last line is "N passed, N failed".
"""

import lzma
import math
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "storage"))

from checks import Checks  # pylint: disable=wrong-import-position
from server import Server  # pylint: disable=wrong-import-position
from twins import Mismatch  # pylint: disable=wrong-import-position

DATA = pathlib.Path(__file__).parents[3] / "data"
QUERIES = r"""
SELECT * FROM crates WHERE doc->>'name' = 'serde'
SELECT * FROM crates WHERE doc->>'name' = 'tokio'
SELECT * FROM crates WHERE doc->>'name' LIKE 'tokio%'
SELECT * FROM crates WHERE doc->>'name' < 'd'
SELECT * FROM crates WHERE (doc->>'yanked')::bool
SELECT * FROM crates WHERE NOT (doc->>'yanked')::bool
SELECT * FROM crates WHERE doc->'yanked' = 'true'
SELECT * FROM crates WHERE doc->>'yanked' = 'true'
SELECT * FROM crates WHERE doc->>'vers' = '0.1.0'
SELECT * FROM crates WHERE doc->>'vers' LIKE '0.%'
SELECT * FROM crates WHERE doc->>'vers' IN ('0.1.0', '1.0.0', '0.2.0')
SELECT * FROM crates WHERE doc->>'pubtime' >= '2023-01-01'
SELECT * FROM crates WHERE doc->>'pubtime' BETWEEN '2020-01-01' AND '2020-06-30'
SELECT * FROM crates WHERE doc->>'pubtime' > '2024-06-01' AND (doc->>'yanked')::bool
SELECT * FROM crates WHERE doc->>'rust_version' IS NULL
SELECT * FROM crates WHERE doc->>'rust_version' IS NOT NULL
SELECT * FROM crates WHERE doc->>'rust_version' = '1.56'
SELECT * FROM crates WHERE doc->>'links' IS NOT NULL
SELECT * FROM crates WHERE doc->'deps'->0->>'kind' = 'dev'
SELECT * FROM crates WHERE doc->'deps'->0->>'name' = 'libc'
SELECT * FROM crates WHERE (doc->'deps'->0->>'optional')::bool
SELECT * FROM crates WHERE doc->'deps'->0->>'req' LIKE '^1%'
SELECT * FROM crates WHERE jsonb_array_length(doc->'deps') > 10
SELECT * FROM crates WHERE jsonb_array_length(doc->'deps') = 0
SELECT * FROM crates WHERE lower(doc->>'name') = 'serde'
SELECT * FROM crates WHERE left(doc->>'pubtime', 4) = '2021'
SELECT * FROM crates WHERE length(doc->>'name') > 20
SELECT * FROM crates WHERE doc->>'name' = doc->>'vers'
SELECT * FROM crates WHERE (doc->>'pubtime')::timestamptz > '2023-01-01'
SELECT * FROM crates WHERE (doc->>'v')::int = 2
SELECT * FROM crates WHERE doc->>'features2' IS NOT NULL
SELECT * FROM npm WHERE doc->>'license' = 'MIT'
SELECT * FROM npm WHERE doc->>'license' IN ('MIT','ISC')
SELECT * FROM npm WHERE doc->>'license' IS NULL
SELECT * FROM npm WHERE doc->>'name' = 'express'
SELECT * FROM npm WHERE doc->'repository'->>'type' = 'git'
SELECT * FROM npm WHERE jsonb_typeof(doc->'repository') = 'string'
SELECT * FROM npm WHERE jsonb_typeof(doc->'author') = 'object'
SELECT * FROM npm WHERE doc->'engines'->>'node' = '*'
SELECT * FROM npm WHERE doc->'engines'->>'node' LIKE '>=%'
SELECT * FROM npm WHERE doc->'dependencies'->>'debug' IS NOT NULL
SELECT * FROM npm WHERE doc->>'main' = 'index.js'
SELECT * FROM npm WHERE doc->>'homepage' LIKE 'https%'
SELECT * FROM npm WHERE doc->>'description' ILIKE '%parser%'
SELECT * FROM npm WHERE doc ? 'main'
SELECT * FROM npm WHERE doc ? 'bin'
SELECT * FROM npm WHERE doc @> '{"license": "MIT"}'
SELECT * FROM crates WHERE doc @> '{"yanked": true}'
SELECT * FROM crates WHERE doc @> '{"name": "tokio"}'
SELECT * FROM npm WHERE doc @> '{"license": "MIT", "repository": {"type": "git"}}'
SELECT * FROM npm WHERE doc @> '{"keywords": ["parser"]}'
SELECT * FROM npm WHERE NOT doc ? 'homepage' OR doc ?& '{bin,main}'
SELECT * FROM npm WHERE doc->'dependencies' ? 'debug'
SELECT doc->>'name', count(*) FROM crates GROUP BY 1
SELECT doc->>'vers', count(*) FROM crates GROUP BY 1
SELECT doc->>'yanked', count(*) FROM crates GROUP BY 1
SELECT left(doc->>'pubtime', 4), count(*) FROM crates GROUP BY 1
SELECT left(doc->>'pubtime', 7), count(*) FROM crates GROUP BY 1
SELECT doc->>'rust_version', count(*) FROM crates GROUP BY 1
SELECT doc->'deps'->0->>'name', count(*) FROM crates GROUP BY 1
SELECT doc->>'license', count(*) FROM npm GROUP BY 1
SELECT doc->>'name', count(*) FROM npm GROUP BY 1
SELECT doc->'engines'->>'node', count(*) FROM npm GROUP BY 1
SELECT jsonb_array_length(doc->'deps'), count(*) FROM crates GROUP BY 1
SELECT (doc->>'pubtime')::date, count(*) FROM crates GROUP BY 1
SELECT date_trunc('month', (doc->>'pubtime')::timestamptz), count(*) FROM crates GROUP BY 1
SELECT doc->'license', count(*) FROM npm GROUP BY 1
SELECT lower(doc->>'name'), count(*) FROM crates GROUP BY 1
SELECT DISTINCT doc->>'name' FROM crates
SELECT doc->>'name', doc->>'yanked', count(*) FROM crates GROUP BY 1, 2
SELECT doc->>'name', left(doc->>'pubtime', 4), count(*) FROM crates GROUP BY 1, 2
SELECT doc->>'license', doc->'engines'->>'node', count(*) FROM npm GROUP BY 1, 2
SELECT doc->>'name', count(*) FROM crates WHERE doc->>'pubtime' >= '2023-01-01' GROUP BY 1
SELECT DISTINCT doc->>'name', doc->>'vers' FROM npm
SELECT * FROM crates c JOIN npm n ON c.doc->>'name' = n.doc->>'name'
SELECT * FROM crates c JOIN npm n ON c.doc->>'vers' = n.doc->>'version'
SELECT * FROM crates a JOIN npm b ON a.doc->>'name' = b.doc->>'name' AND (a.doc->>'yanked')::bool
SELECT a.doc->>'name', count(*) FROM crates a JOIN npm b ON a.doc->>'name' = b.doc->>'name' GROUP BY 1
SELECT * FROM npm n WHERE EXISTS (SELECT FROM crates c WHERE c.doc->>'name' = n.doc->>'name')
SELECT * FROM npm n WHERE NOT EXISTS (SELECT FROM crates c WHERE c.doc->>'name' = n.doc->>'name')
WITH x AS (SELECT doc->>'name' AS name, doc->>'vers' AS vers FROM crates) SELECT * FROM x WHERE vers = '0.1.0'
WITH x AS MATERIALIZED (SELECT doc->>'name' AS name, doc->>'vers' AS vers FROM crates) SELECT * FROM x WHERE vers = '0.1.0'
SELECT * FROM (SELECT doc->>'name' AS name, count(*) c FROM crates GROUP BY 1) x JOIN npm n ON n.doc->>'name' = x.name
SELECT d->>'name' FROM crates, jsonb_array_elements(doc->'deps') d
SELECT * FROM crates, jsonb_array_elements(doc->'deps') d WHERE d->>'name' = 'serde'
SELECT d->>'kind', count(*) FROM crates, jsonb_array_elements(doc->'deps') d GROUP BY 1
SELECT d->>'name', count(*) FROM crates, jsonb_array_elements(doc->'deps') d GROUP BY 1
SELECT * FROM crates WHERE doc->>'name' IN (SELECT doc->>'name' FROM npm)
SELECT * FROM crates WHERE doc->>'vers' LIKE '%-alpha%'
SELECT * FROM crates WHERE doc->>'vers' LIKE '1.0.%' AND doc->>'rust_version' IS NOT NULL
SELECT * FROM crates WHERE doc->>'vers' ~ '^0\.[0-9]\.'
SELECT * FROM crates WHERE doc->'deps'->1->>'name' IN ('serde','log','libc','rand')
SELECT * FROM crates WHERE doc->'deps'->0->>'target' IS NOT NULL
SELECT * FROM crates WHERE doc->'deps'->0->>'kind' <> 'normal'
SELECT * FROM crates WHERE doc->'features'->>'default' IS NULL
SELECT * FROM crates WHERE doc->'features' ? 'std'
SELECT * FROM crates WHERE doc->'features' = '{}'
SELECT * FROM crates WHERE doc #>> '{features,default,0}' = 'std'
SELECT * FROM crates WHERE (doc->>'pubtime')::date BETWEEN '2022-03-01' AND '2022-03-31'
SELECT * FROM crates WHERE extract(year FROM (doc->>'pubtime')::timestamptz) = 2020
SELECT * FROM crates WHERE extract(month FROM (doc->>'pubtime')::timestamptz) IN (1, 2)
SELECT * FROM crates WHERE doc->>'name' > 'tokio' AND doc->>'name' < 'tokio-z'
SELECT * FROM crates WHERE upper(doc->>'name') LIKE 'SERDE%'
SELECT * FROM crates WHERE coalesce(doc->>'rust_version', 'none') = 'none'
SELECT * FROM crates WHERE NOT (doc->>'yanked')::bool AND doc->>'pubtime' < '2018' AND doc->>'vers' LIKE '0.%'
SELECT * FROM crates WHERE doc->>'name' = 'serde' AND (doc->>'yanked')::bool
SELECT * FROM crates WHERE doc->>'name' = 'serde' OR doc->>'vers' = '0.1.0'
SELECT * FROM crates WHERE doc->>'cksum' LIKE '00%'
SELECT * FROM npm WHERE doc->'scripts'->>'test' LIKE '%mocha%'
SELECT * FROM npm WHERE doc->'scripts'->>'test' IS NULL
SELECT * FROM npm WHERE doc->'devDependencies'->>'mocha' IS NOT NULL AND doc->'devDependencies'->>'eslint' IS NULL
SELECT * FROM npm WHERE doc->>'version' LIKE '1.%'
SELECT * FROM npm WHERE doc->'bugs'->>'url' LIKE 'https%'
SELECT * FROM npm WHERE jsonb_typeof(doc->'bin') IN ('string','object')
SELECT * FROM npm WHERE doc->>'sideEffects' = 'false'
SELECT * FROM npm WHERE doc->'keywords' ? 'react'
SELECT * FROM npm WHERE doc->'dist'->>'fileCount' IS NULL
SELECT * FROM npm WHERE (doc->'dist'->>'fileCount')::int > 20
SELECT * FROM npm WHERE (doc->'dist'->>'unpackedSize')::int BETWEEN 10000 AND 50000
SELECT * FROM npm WHERE doc->'author'->>'name' IS NOT NULL AND doc->>'license' = 'ISC'
SELECT * FROM npm WHERE doc->'repository'->>'url' LIKE '%babel%'
SELECT doc->'repository'->>'url', count(*) FROM npm GROUP BY 1
SELECT doc->'repository'->>'type', doc->>'license', count(*) FROM npm GROUP BY 1, 2
SELECT DISTINCT doc->'bugs'->>'url' FROM npm
SELECT doc->>'main', count(*) FROM npm GROUP BY 1
SELECT doc->'deps'->0->>'req', count(*) FROM crates GROUP BY 1
SELECT doc->'deps'->0->>'name', doc->'deps'->0->>'kind', count(*) FROM crates GROUP BY 1, 2
SELECT doc->>'rust_version', (doc->>'yanked')::bool, count(*) FROM crates GROUP BY 1, 2
SELECT date_trunc('year', (doc->>'pubtime')::timestamptz), doc->>'yanked', count(*) FROM crates GROUP BY 1, 2
SELECT extract(dow FROM (doc->>'pubtime')::timestamptz), count(*) FROM crates GROUP BY 1
SELECT doc->>'vers', count(*) FROM crates WHERE (doc->>'yanked')::bool GROUP BY 1
SELECT doc->>'name', count(*) FROM crates WHERE doc->>'vers' = '0.1.0' GROUP BY 1
SELECT DISTINCT left(doc->>'name', 1) FROM crates
SELECT DISTINCT doc->>'name', doc->'deps'->0->>'name' FROM crates
SELECT * FROM crates a JOIN crates b ON a.doc->>'name' = b.doc->>'name' AND a.doc->>'vers' = b.doc->>'vers'
SELECT * FROM crates a JOIN crates b ON a.doc->'deps'->0->>'name' = b.doc->>'name'
SELECT * FROM npm a JOIN npm b ON a.doc->'repository'->>'url' = b.doc->'repository'->>'url'
SELECT * FROM npm a LEFT JOIN crates b ON a.doc->>'name' = b.doc->>'name' AND b.doc->>'vers' = '0.1.0'
SELECT * FROM crates c WHERE doc->'deps'->0->>'name' IN (SELECT doc->>'name' FROM crates)
SELECT * FROM crates c WHERE NOT EXISTS (SELECT FROM npm n WHERE n.doc->>'version' = c.doc->>'vers')
SELECT f FROM npm, jsonb_array_elements_text(doc->'files') f WHERE f LIKE 'dist%'
SELECT d->>'req', count(*) FROM crates, jsonb_array_elements(doc->'deps') d WHERE d->>'kind' = 'dev' GROUP BY 1
SELECT * FROM crates, jsonb_array_elements(doc->'deps') d WHERE (d->>'optional')::bool AND d->>'kind' = 'normal'
SELECT * FROM crates, jsonb_array_elements(doc->'deps') d WHERE doc->>'name' LIKE 'tokio%' AND d->>'name' = 'bytes'
SELECT c.doc->>'name', count(*) FROM crates c, jsonb_array_elements(c.doc->'deps') d WHERE d->>'name' = 'serde' GROUP BY 1
""".strip().splitlines()


def load(session, name):
    session.execute(f"CREATE TABLE {name} (doc jsonb) USING amax")
    with session.cursor() as cursor, lzma.open(DATA / f"{name}.jsonl.xz") as lines:
        with cursor.copy(f"COPY {name} FROM STDIN WITH (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02')") as copy:
            while part := lines.read(1 << 20):
                copy.write(part)
    session.execute(f"VACUUM (FULL, ANALYZE) {name}")


def partition(session, name, by, bounds):
    """The same rows in a table of partitions, NAME_parts."""
    session.execute(f"CREATE TABLE {name}_parts (doc jsonb) PARTITION BY {by}")
    for number, bound in enumerate(bounds):
        session.execute(f"CREATE TABLE {name}_part{number} PARTITION OF {name}_parts FOR VALUES {bound} USING amax")
    session.execute(f"INSERT INTO {name}_parts SELECT doc FROM {name}")
    for number in range(len(bounds)):
        session.execute(f"VACUUM (FULL, ANALYZE) {name}_part{number}")


def error(session, query):
    plan = session.execute("EXPLAIN (ANALYZE, TIMING off, FORMAT json) " + query).fetchone()[0][0]["Plan"]
    expected, found = max(plan["Plan Rows"], 1), max(plan["Actual Rows"] * plan["Actual Loops"], 1)
    return max(expected / found, found / expected)


def judge(errors):
    for query, factor in sorted(errors.items(), key=lambda item: -item[1]):
        if factor > 3:
            print(f"        {factor:.1f}: {query}", flush=True)
    sizes = sorted(errors.values())
    median, most, within = statistics.median(sizes), sizes[math.ceil(0.95 * len(sizes)) - 1], sum(size <= 10 for size in sizes)
    said = f"{len(sizes)} queries, q-error {median:.2f} in the median, {most:.1f} for 95 of 100, at most 10 for {within}"
    if median > 2 or within < 0.95 * len(sizes):
        raise Mismatch(said)
    return said


def main():
    server = Server(pathlib.Path(sys.argv[1]), "estimates", ["autovacuum = off", "fsync = off", "jit = off"])
    server.start()
    checks = Checks()
    with server.connect() as session:
        session.execute("CREATE EXTENSION amax")
        for name in ("crates", "npm"):
            load(session, name)
        partition(session, "crates", "HASH ((doc->>'name'))", [f"WITH (MODULUS 8, REMAINDER {n})" for n in range(8)])
        bounds = ["MINVALUE", "'d'", "'k'", "'r'", "MAXVALUE"]
        partition(session, "npm", "RANGE ((doc->>'name'))", [f"FROM ({low}) TO ({high})" for low, high in zip(bounds, bounds[1:])])
        parted = [re.sub(r"\b(crates|npm)\b", r"\1_parts", query) for query in QUERIES]
        for title, queries in (("", QUERIES), (", partitioned", parted)):
            with checks.check(f"estimates of real documents{title}") as said:
                said.append(judge({query: error(session, query) for query in queries}))
    server.stop()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
