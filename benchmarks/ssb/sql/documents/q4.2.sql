-- As Q4.1 for two years, drilled down to categories.
SELECT (d.doc->>'d_year')::int AS d_year,
       (s.doc->>'s_nation') AS s_nation,
       (p.doc->>'p_category') AS p_category,
       sum((lo.doc->>'lo_revenue')::int - (lo.doc->>'lo_supplycost')::int) AS profit
FROM date d, customer c, supplier s, part p, lineorder lo
WHERE (lo.doc->>'lo_custkey')::int = (c.doc->>'c_custkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (lo.doc->>'lo_partkey')::int = (p.doc->>'p_partkey')::int
  AND (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (c.doc->>'c_region') = 'AMERICA'
  AND (s.doc->>'s_region') = 'AMERICA'
  AND ((d.doc->>'d_year')::int = 1997 OR (d.doc->>'d_year')::int = 1998)
  AND ((p.doc->>'p_mfgr') = 'MFGR#1' OR (p.doc->>'p_mfgr') = 'MFGR#2')
GROUP BY d_year, s_nation, p_category
ORDER BY d_year, s_nation, p_category;
