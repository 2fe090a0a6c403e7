SELECT l_returnflag, l_linestatus, count(*), sum(l_quantity), avg(l_discount)
FROM lineitem
GROUP BY ROLLUP (l_returnflag, l_linestatus)
