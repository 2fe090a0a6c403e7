-- Revenue between the nations of one region over six years.
SELECT (c.doc->>'c_nation') AS c_nation,
       (s.doc->>'s_nation') AS s_nation,
       (d.doc->>'d_year')::int AS d_year,
       sum((lo.doc->>'lo_revenue')::int) AS revenue
FROM customer c, lineorder lo, supplier s, date d
WHERE (lo.doc->>'lo_custkey')::int = (c.doc->>'c_custkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (c.doc->>'c_region') = 'ASIA'
  AND (s.doc->>'s_region') = 'ASIA'
  AND (d.doc->>'d_year')::int >= 1992
  AND (d.doc->>'d_year')::int <= 1997
GROUP BY c_nation, s_nation, d_year
ORDER BY d_year ASC, revenue DESC;
