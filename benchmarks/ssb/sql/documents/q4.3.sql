-- As Q4.2 for one nation's suppliers and one category.
SELECT (d.doc->>'d_year')::int AS d_year,
       (s.doc->>'s_city') AS s_city,
       (p.doc->>'p_brand1') AS p_brand1,
       sum((lo.doc->>'lo_revenue')::int - (lo.doc->>'lo_supplycost')::int) AS profit
FROM date d, customer c, supplier s, part p, lineorder lo
WHERE (lo.doc->>'lo_custkey')::int = (c.doc->>'c_custkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (lo.doc->>'lo_partkey')::int = (p.doc->>'p_partkey')::int
  AND (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (c.doc->>'c_region') = 'AMERICA'
  AND (s.doc->>'s_nation') = 'UNITED STATES'
  AND ((d.doc->>'d_year')::int = 1997 OR (d.doc->>'d_year')::int = 1998)
  AND (p.doc->>'p_category') = 'MFGR#14'
GROUP BY d_year, s_city, p_brand1
ORDER BY d_year, s_city, p_brand1;
