-- As Q1.1 for one week.
SELECT sum((lo.doc->>'lo_extendedprice')::int * (lo.doc->>'lo_discount')::int) AS revenue
FROM lineorder lo, date d
WHERE (lo.doc->>'lo_orderdate')::int = (d.doc->>'d_datekey')::int
  AND (d.doc->>'d_weeknuminyear')::int = 6
  AND (d.doc->>'d_year')::int = 1994
  AND (lo.doc->>'lo_discount')::int BETWEEN 5 AND 7
  AND (lo.doc->>'lo_quantity')::int BETWEEN 36 AND 40;
