-- Profit within one region from two manufacturers.
SELECT (d.doc->>'d_year')::int AS d_year,
       (c.doc->>'c_nation') AS c_nation,
       sum((lo.doc->>'lo_revenue')::int - (lo.doc->>'lo_supplycost')::int) AS profit
FROM date d, customer c, supplier s, part p, lineorder lo
WHERE (lo.doc->>'lo_custkey')::int = (c.doc->>'c_custkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (lo.doc->>'lo_partkey')::int = (p.doc->>'p_partkey')::int
  AND (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (c.doc->>'c_region') = 'AMERICA'
  AND (s.doc->>'s_region') = 'AMERICA'
  AND ((p.doc->>'p_mfgr') = 'MFGR#1' OR (p.doc->>'p_mfgr') = 'MFGR#2')
GROUP BY d_year, c_nation
ORDER BY d_year, c_nation;
