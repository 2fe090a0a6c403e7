-- Q1, documents
SELECT count(*) FROM cell;

-- Q2, ten callers with the longest calls
SELECT doc->>'caller', max((doc->>'duration')::int) FROM cell GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10;

-- Q3, calls of 600 seconds and more
SELECT count(*) FROM cell WHERE (doc->>'duration')::int >= 600;
