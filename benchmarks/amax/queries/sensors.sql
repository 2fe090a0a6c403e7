-- Q1, documents
SELECT count(*) FROM sensors;

-- Q2, the highest reading
SELECT max((reading->>'temp')::float8) FROM sensors, jsonb_array_elements(doc->'readings') reading;

-- Q2 by jsonpath
SELECT max(temp::float8) FROM sensors, jsonb_path_query(doc, '$.readings[*].temp') temp;

-- Q3, ten sensors with the highest readings
SELECT (doc->>'sensor_id')::int, max((reading->>'temp')::float8) FROM sensors, jsonb_array_elements(doc->'readings') reading GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q4, those of a day
SELECT (doc->>'sensor_id')::int, max((reading->>'temp')::float8) FROM sensors, jsonb_array_elements(doc->'readings') reading
WHERE (doc->>'report_time')::bigint > 1556496000000 AND (doc->>'report_time')::bigint < 1556496000000 + 24 * 60 * 60 * 1000 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;
