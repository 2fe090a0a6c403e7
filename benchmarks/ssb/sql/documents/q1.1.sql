-- Revenue gained had the discounts of a year's small orders not been given.
SELECT sum((lo.doc->>'lo_extendedprice')::int * (lo.doc->>'lo_discount')::int) AS revenue
FROM lineorder lo, date d
WHERE (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (d.doc->>'d_year')::int = 1993
  AND (lo.doc->>'lo_discount')::int BETWEEN 1 AND 3
  AND (lo.doc->>'lo_quantity')::int < 25;
