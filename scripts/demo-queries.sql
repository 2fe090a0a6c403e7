VACUUM (ANALYZE) crates, npm, crates_heap, npm_heap;

\pset footer off
\timing on
\echo
\echo '-- size on disk, and whether both tables hold the same documents'
SELECT c.relname AS "table", am.amname AS "access method",
       pg_size_pretty(pg_total_relation_size(c.oid)) AS size
FROM pg_class c JOIN pg_am am ON am.oid = c.relam
WHERE c.relname IN ('crates', 'npm', 'crates_heap', 'npm_heap')
ORDER BY c.relname;

SELECT (SELECT count(*) FROM (TABLE crates EXCEPT ALL TABLE crates_heap) d)
     + (SELECT count(*) FROM (TABLE crates_heap EXCEPT ALL TABLE crates) d)
     + (SELECT count(*) FROM (TABLE npm EXCEPT ALL TABLE npm_heap) d)
     + (SELECT count(*) FROM (TABLE npm_heap EXCEPT ALL TABLE npm) d) AS differences;

\echo '-- the crates with most releases, and how many of those were withdrawn'
SELECT doc->>'name' AS crate, count(*) AS releases,
       count(*) FILTER (WHERE (doc->>'yanked')::boolean) AS yanked
FROM crates GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5;

\echo '-- nested arrays: what crates depend on'
SELECT dep->>'name' AS dependency, count(*) AS uses
FROM crates, jsonb_array_elements(doc->'deps') AS dep
WHERE dep->>'kind' = 'normal'
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5;

\echo '-- a field of more than one type'
SELECT jsonb_typeof(doc->'license') AS "type of license", count(*)
FROM npm GROUP BY 1 ORDER BY 2 DESC, 1 NULLS LAST;

\echo '-- an ordinary index on a path, and one row through it'
CREATE INDEX npm_name_version ON npm ((doc->>'name'), (doc->>'version'));
SELECT doc->>'version' AS version, doc->'dependencies' ? 'debug' AS "depends on debug"
FROM npm WHERE doc->>'name' = 'express' ORDER BY 1 LIMIT 3;

\echo '-- rows change as in any table'
BEGIN;
UPDATE npm SET doc = jsonb_set(doc, '{reviewed}', 'true') WHERE doc->>'name' = 'express';
SELECT count(*) AS reviewed FROM npm WHERE doc @> '{"reviewed": true}';
ROLLBACK;

\echo '-- a plan'
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF)
SELECT doc->>'name', count(*) FROM crates WHERE (doc->>'yanked')::boolean GROUP BY 1;
