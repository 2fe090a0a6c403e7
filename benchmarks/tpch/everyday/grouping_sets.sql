SELECT l_shipmode, l_shipinstruct, date_trunc('year', l_shipdate), GROUPING(l_shipmode, l_shipinstruct), count(*), sum(l_extendedprice * (1 - l_discount))
FROM lineitem
GROUP BY GROUPING SETS ((l_shipmode, l_shipinstruct), (l_shipmode), (date_trunc('year', l_shipdate)), ())
