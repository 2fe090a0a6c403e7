SELECT l_returnflag, l_linestatus, l_shipmode, count(*), sum(l_extendedprice), max(l_shipdate)
FROM lineitem
GROUP BY CUBE (l_returnflag, l_linestatus, l_shipmode)
