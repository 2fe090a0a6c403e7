-- The extension goes only when nothing is stored in it, and every version that was released can be updated.
\set VERBOSITY terse
CREATE DATABASE extension_only TEMPLATE template0;
\c extension_only
\set VERBOSITY terse
SET client_min_messages = warning;
CREATE EXTENSION amax;
CREATE TABLE t (doc jsonb) USING amax;
INSERT INTO t VALUES ('{"a": 1}');
DROP EXTENSION amax;
DROP ACCESS METHOD amax;
SELECT doc->'a' FROM t;
ALTER TABLE t SET ACCESS METHOD heap;
DROP EXTENSION amax;
SELECT doc->'a' FROM t;

-- again, with the tables
CREATE EXTENSION amax;
ALTER TABLE t SET ACCESS METHOD amax;
SELECT doc->'a' FROM t;
DROP EXTENSION amax CASCADE;
SELECT doc->'a' FROM t;
SELECT nspname FROM pg_namespace WHERE nspname = 'amax';

-- versions without a way to the newest
SELECT source FROM pg_extension_update_paths('amax'), pg_available_extensions e
WHERE e.name = 'amax' AND source <> e.default_version AND target = e.default_version AND path IS NULL;
SELECT count(*) FROM pg_available_extension_versions v, pg_available_extensions e WHERE v.name = 'amax' AND e.name = 'amax' AND v.version = e.default_version;
\c regression
DROP DATABASE extension_only;
