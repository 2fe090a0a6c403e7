-- LIKE, ILIKE and regular expressions on vectors, beside heap: what matches, and what is an error.
SET amax.eager = off;
CREATE TABLE plain (id int, t text, doc jsonb);
-- Strings of up to four characters, each of one to four bytes, with a dictionary and without.
INSERT INTO plain
    SELECT row_number() OVER (), t, jsonb_build_object('few', left(t, 1), 'many', t || '/' || i, 'mixed', CASE WHEN i % 7 = 0 THEN to_jsonb(i) ELSE to_jsonb(t) END)
    FROM (SELECT i, string_agg(substr('aAbBIiıİéÉ€😀_%\Kſ', 1 + (i * 31 + c * (i / 11 + 7)) % 17, 1), '' ORDER BY c) AS t
          FROM generate_series(1, 240) i, generate_series(1, i % 5) c GROUP BY i) s;
INSERT INTO plain SELECT 1000 + i, t, jsonb_build_object('few', left(t, 2), 'many', t || '/' || i, 'mixed', t)
    FROM unnest(ARRAY[E'a\nb', E'a\n', E'\nb', 'a.b', 'a*', '^a', 'a$', 'a(b', 'care is bold', 'İi', 'ıI']) WITH ORDINALITY u(t, i);
INSERT INTO plain VALUES (0, NULL, '{"few": null}'), (0, '', '{"few": "", "many": {"a": "b"}}');
CREATE TABLE columns (LIKE plain) USING amax;
INSERT INTO columns SELECT * FROM plain;
VACUUM columns;

-- Each pattern, escaped and multi-byte ones too, by each operator and collation: rows found, or the error.
CREATE FUNCTION found(relation regclass, condition text, OUT rows text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM %s WHERE %s', relation, condition) INTO rows;
EXCEPTION WHEN OTHERS THEN
    rows := SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE asked AS
    SELECT format('%s %s %L COLLATE %I', value, operator, pattern, rule) AS condition
    FROM unnest(ARRAY['', '%', '_', '%%', '_%', '%_', '__', '%__%', '_%_', 'a', 'a_', '_a', '%a', 'a%', '%a%', '%a_b%', '%_a', 'a_%b', '%b__%', 'i%', '%I_',
                      'é', '%é_', '_é%', '€_%', '%😀', '%K%', 'K', 'k', 'ſ%', '%ı%', '%İ', '\_%', '%\%', '\%', '%\%%', '_\__', '\a%', '\é%', '%\€%', 'a\', '%_\', '\',
                      '%\\%', '\\_', '%/_', '%/1_', 'A%/__3', '%A%/%', '_']) pattern,
         unnest(ARRAY['doc->>''few''', 'doc->>''many''', 'doc->>''mixed''']) value,
         unnest(ARRAY['LIKE', 'NOT LIKE', 'ILIKE', 'NOT ILIKE']) operator,
         unnest(ARRAY['C', 'default', 'en-x-icu', 'tr-x-icu']) rule;
-- Regular expressions: those that LIKE can be asked, and others; errors, options and escapes.
INSERT INTO asked
    SELECT format('%s %s %L COLLATE %I', value, operator, pattern, rule)
    FROM unnest(ARRAY['', '^', '$', '^$', '^.$', '^.*$', '.', '..', '.*', '^..', '...$', 'a', '^a', 'a$', '^a$', '^a.', 'a.b', '^a.*b', 'a.*b$', '^a.*b$', 'b.*$', '^.a', 'i', '^I.', 'é', '^.é', '€.*',
                      '😀$', 'K', 'ſ', 'k.*', 'ı', 'İ', '_', '%', '^_.*%', '/1.$', 'A.*/', 'care.*bold', '^care.*bold$', 'a.*_', E'a\n', E'^\nb', '^^a', 'a$$', '$^', 'a^b', 'a$b', 'a*', 'é*', '^a*', '*', '*a',
                      '^*', '$*', '.**', '.*?', '.+', '***', '***=a', '***=a*', '***:a', '***:(?i)a', '(?i)a', '(?n)^b', '(?w)^b', '(?p)a.b', '(?q)a.b', '(?x) a ', '\.', 'a\', '\a', '\m', 'a|b', '|', '(a)',
                      '()', '(', ')', '[ab]', '[', ']', 'a]', '{', '}', 'a{', 'a{1}', 'a{1', '.{2}', 'a}', '^(', 'a.*(b|c)', '^[', repeat('.', 300)]) pattern,
         unnest(ARRAY['doc->>''few''', 'doc->>''many''', 'doc->>''mixed''']) value,
         unnest(ARRAY['~', '!~', '~*', '!~*']) operator,
         unnest(ARRAY['C', 'default', 'en-x-icu', 'tr-x-icu']) rule;
CREATE TABLE answers AS SELECT condition, found('plain', condition) AS heap, found('columns', condition) AS amax FROM asked;
SELECT count(*), count(DISTINCT heap) > 100 AS many, count(*) FILTER (WHERE heap LIKE '22025%') AS errors,
    count(*) FILTER (WHERE heap LIKE '2201B%') AS of_regexes, count(*) FILTER (WHERE heap IS DISTINCT FROM amax) AS differ FROM answers;
SELECT * FROM answers WHERE heap IS DISTINCT FROM amax LIMIT 10;
-- A collation that is not deterministic is an error.
CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
SELECT found('plain', condition) = found('columns', condition) AS same, found('columns', condition)
FROM unnest(ARRAY['t LIKE ''a_'' COLLATE loose AND id < 1000', 't ILIKE ''a'' COLLATE loose', 't ~ ''a'' COLLATE loose', 't !~* ''a'' COLLATE loose']) condition;

-- By vectors also where not all rows are asked for, unless a Turkish i or another language's letters are.
EXPLAIN (COSTS OFF) SELECT id FROM columns WHERE t LIKE 'a_%' LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM columns WHERE doc->>'many' NOT ILIKE 'A_%' COLLATE "en-x-icu" LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM columns WHERE doc->>'many' ILIKE 'A_%' COLLATE "tr-x-icu" LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM columns WHERE doc->>'many' ILIKE 'é%' COLLATE "en-x-icu" LIMIT 1;
DROP TABLE plain, columns, asked, answers;
DROP FUNCTION found;
DROP COLLATION loose;
