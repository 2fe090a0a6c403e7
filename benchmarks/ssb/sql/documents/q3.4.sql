-- As Q3.3 for one month: about five rows per scale factor.
SELECT (c.doc->>'c_city') AS c_city,
       (s.doc->>'s_city') AS s_city,
       (d.doc->>'d_year')::int AS d_year,
       sum((lo.doc->>'lo_revenue')::int) AS revenue
FROM customer c, lineorder lo, supplier s, date d
WHERE (lo.doc->>'lo_custkey')::int = (c.doc->>'c_custkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND ((c.doc->>'c_city') = 'UNITED KI1' OR (c.doc->>'c_city') = 'UNITED KI5')
  AND ((s.doc->>'s_city') = 'UNITED KI1' OR (s.doc->>'s_city') = 'UNITED KI5')
  AND (d.doc->>'d_yearmonth') = 'Dec1997'
GROUP BY c_city, s_city, d_year
ORDER BY d_year ASC, revenue DESC;
