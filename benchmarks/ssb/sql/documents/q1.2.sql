-- As Q1.1 for one month, other discounts and quantities.
SELECT sum((lo.doc->>'lo_extendedprice')::int * (lo.doc->>'lo_discount')::int) AS revenue
FROM lineorder lo, date d
WHERE (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (d.doc->>'d_yearmonthnum')::int = 199401
  AND (lo.doc->>'lo_discount')::int BETWEEN 4 AND 6
  AND (lo.doc->>'lo_quantity')::int BETWEEN 26 AND 35;
