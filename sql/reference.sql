-- docs/reference.md says what there is: settings, options, functions, views.
\getenv abs_srcdir PG_ABS_SRCDIR
\set page `cat "$PG_ABS_SRCDIR/docs/reference.md"`
SELECT amax.load();
CREATE TEMP TABLE page AS
    SELECT regexp_split_to_array(btrim(line, '| '), ' \| ') AS cells FROM regexp_split_to_table(:'page', '\n') AS line WHERE line LIKE '| `amax.%';
SELECT count(*) > 30 AS has_lines FROM page;
-- Settings; those that only tests have are none of users'.
CREATE TEMP VIEW settings AS
    SELECT name, CASE WHEN unit IN ('kB', 's') THEN boot_val || unit ELSE boot_val END AS value,
        CASE vartype WHEN 'bool' THEN 'on, off' WHEN 'enum' THEN array_to_string(enumvals, ', ') ELSE format('%s%s to %s%s', min_val, unit, max_val, unit) END AS range,
        CASE context WHEN 'user' THEN 'user' ELSE context END AS who
    FROM pg_settings WHERE name LIKE 'amax.%' AND name NOT IN ('amax.fault_point', 'amax.fault_allocation', 'amax.mutant');
-- Memory as PostgreSQL shows it.
CREATE FUNCTION pg_temp.shown(value text) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN value ~ '^[1-9][0-9]*kB$' AND pg_size_bytes(value) % (1024 ^ 3)::bigint = 0 THEN pg_size_bytes(value) / (1024 ^ 3)::bigint || 'GB'
        WHEN value ~ '^[1-9][0-9]*kB$' AND pg_size_bytes(value) % (1024 ^ 2)::bigint = 0 THEN pg_size_bytes(value) / (1024 ^ 2)::bigint || 'MB' ELSE value END $$;
SELECT btrim(cells[1], '`') AS name, cells[2] AS value, cells[3] AS range, cells[4] AS who FROM page WHERE cells[1] !~ '\(' AND cells[1] !~ 'stats|stat_|tables|join_indexes'
EXCEPT SELECT name, pg_temp.shown(value), array_to_string(ARRAY(SELECT pg_temp.shown(part) FROM unnest(string_to_array(range, ' to ')) AS part), ' to '), who FROM settings;
SELECT name, pg_temp.shown(value) AS value, array_to_string(ARRAY(SELECT pg_temp.shown(part) FROM unnest(string_to_array(range, ' to ')) AS part), ' to ') AS range, who FROM settings
EXCEPT SELECT btrim(cells[1], '`'), cells[2], cells[3], cells[4] FROM page;
-- Options are settings.
CREATE TABLE optional (doc jsonb) USING amax;
SELECT name FROM amax.options('optional') WHERE position(format('`%s`', name) IN substring(:'page' FROM 'Names and values are those of [^\n]*')) = 0;
DROP TABLE optional;
-- Functions and views
CREATE TEMP VIEW functions AS
    SELECT format('amax.%s(%s)', p.proname, pg_get_function_arguments(p.oid)) AS call, pg_get_function_result(p.oid) AS result FROM pg_proc p WHERE pronamespace = 'amax'::regnamespace;
SELECT * FROM functions EXCEPT SELECT btrim(cells[1], '`'), cells[2] FROM page;
SELECT btrim(cells[1], '`') AS call, cells[2] AS result FROM page WHERE cells[1] ~ '\(' EXCEPT SELECT * FROM functions;
CREATE TEMP VIEW views AS
    SELECT format('amax.%s', c.relname) AS view, string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 WHERE c.relnamespace = 'amax'::regnamespace AND c.relkind = 'v' GROUP BY 1;
SELECT * FROM views EXCEPT SELECT btrim(cells[1], '`'), cells[2] FROM page;
