-- VACUUM and VACUUM FULL say how far they are: another session stops it where an advisory lock is held, and this one looks at the view.
CREATE EXTENSION dblink;
CREATE TABLE events (id int PRIMARY KEY, doc jsonb) USING amax;
SET amax.eager = off;
SET amax.bulk_threshold = 100000;
SET amax.flush_inline = off;
INSERT INTO events SELECT i, jsonb_build_object('i', i, 'pad', repeat('p', 500)) FROM generate_series(1, 3000) i;
CREATE FUNCTION stopped(point text, statement text DEFAULT 'VACUUM events') RETURNS TABLE (phase text, pages bool, looked_at bool, written bigint, index_scans bigint) LANGUAGE plpgsql AS $$
DECLARE
    vacuum int;
    here text := format('dbname=%s port=%s host=%s', current_database(), current_setting('port'), current_setting('unix_socket_directories'));
BEGIN
    PERFORM pg_advisory_lock(77);
    PERFORM dblink_connect('vacuum', here);
    PERFORM dblink_exec('vacuum', format('SET amax.fault_point = %L', point || '@77'));
    PERFORM dblink_exec('vacuum', 'SET amax.merge_ratio = 0');
    SELECT pid INTO vacuum FROM dblink('vacuum', 'SELECT pg_backend_pid()') AS t(pid int);
    PERFORM dblink_send_query('vacuum', statement);
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN EXISTS (SELECT FROM pg_stat_activity a WHERE pid = vacuum AND query LIKE 'VACUUM%' AND (state = 'idle' OR wait_event = 'advisory'));
        PERFORM pg_sleep(0.002);
    END LOOP;
    RETURN QUERY SELECT v.phase, heap_blks_total > 200, heap_blks_scanned > 200, heap_blks_vacuumed, index_vacuum_count FROM pg_stat_progress_vacuum v WHERE pid = vacuum
        UNION ALL SELECT c.phase, NULL, heap_tuples_scanned > 2000, heap_tuples_written, index_rebuild_count FROM pg_stat_progress_cluster c WHERE pid = vacuum;
    PERFORM pg_advisory_unlock(77);
    PERFORM * FROM dblink_get_result('vacuum') AS t(result text);
    PERFORM dblink_disconnect('vacuum');
END $$;
-- Row pages are looked at, and written as columns, all but the last ones
SELECT phase, pages, looked_at, written > 200 AS written, index_scans FROM stopped('flush_shredded');
SELECT count(*) FROM pg_stat_progress_vacuum;
-- Rows of a component that are dead: their index entries are removed
DELETE FROM events WHERE id % 5 = 0;
SELECT phase, index_scans FROM stopped('vacuum_unindexed');
-- A merge, after its first leaf
INSERT INTO events SELECT i, jsonb_build_object('i', i, 'pad', repeat('p', 500)) FROM generate_series(3001, 6000) i;
DELETE FROM events WHERE id % 2 = 0;
SELECT phase, written > 200 AS written, index_scans FROM stopped('merge_leaf');
SELECT count(*), sum((doc->>'i')::int) FROM events;
-- VACUUM FULL, after its rows
SELECT phase, looked_at, written > 2000 AS written FROM stopped('rewrite_shredded', 'VACUUM (FULL) events');
SELECT * FROM amax.verify('events');
DROP TABLE events;
DROP EXTENSION dblink;
