-- As Q2.1 for eight brands.
SELECT sum((lo.doc->>'lo_revenue')::int) AS revenue,
       (d.doc->>'d_year')::int AS d_year,
       (p.doc->>'p_brand1') AS p_brand1
FROM lineorder lo, date d, part p, supplier s
WHERE (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (lo.doc->>'lo_partkey')::int = (p.doc->>'p_partkey')::int
  AND (lo.doc->>'lo_suppkey')::int = (s.doc->>'s_suppkey')::int
  AND (p.doc->>'p_brand1') BETWEEN 'MFGR#2221' AND 'MFGR#2228'
  AND (s.doc->>'s_region') = 'ASIA'
GROUP BY d_year, p_brand1
ORDER BY d_year, p_brand1;
