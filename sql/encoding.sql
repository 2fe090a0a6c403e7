-- A database whose encoding is not UTF-8: answers, and names in EXPLAIN.
SELECT current_database() AS here \gset
CREATE DATABASE amax_latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0;
\c amax_latin1
SET client_encoding = 'UTF8';
CREATE EXTENSION amax;
CREATE TABLE words USING amax AS SELECT jsonb_build_object('größe', 'Äpfel' || i % 3, 'ß', jsonb_build_array('é', i)) AS "straße", 'ä' || i % 7 AS t FROM generate_series(1, 2000) i;
VACUUM words;
SELECT "straße" ->> 'größe', count(*) FROM words WHERE "straße" @> '{"ß": ["é"]}' AND t LIKE 'ä_' GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT "straße" -> 'ß' @> '["é"]', "straße" ? 'ß' FROM words WHERE "straße" ->> 'größe' = 'Äpfel1' AND t = 'ä1';
EXPLAIN (COSTS OFF) SELECT v FROM words, jsonb_array_elements("straße" -> 'ß') v;
-- SQL/JSON paths order strings by their characters in UTF-8, so in PostgreSQL's hands.
EXPLAIN (COSTS OFF) SELECT "straße" @@ '$.a == "b"', "straße" @@ '$.a < "b"', "straße" @@ '$.a < 5' FROM words;
SELECT count(*), count(*) FILTER (WHERE "straße" @@ '$."größe" > "Äpfel0"') FROM words WHERE "straße" @? '$."größe" ? (@ != "Äpfel1" && @ starts with "Ä")';
SELECT DISTINCT path, min FROM amax.columns('words') WHERE min ~ '[?]' ORDER BY 1, 2;
SELECT attname, path FROM amax.schema('words');
\c :here
DROP DATABASE amax_latin1;
