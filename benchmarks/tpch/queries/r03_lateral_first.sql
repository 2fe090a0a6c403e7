SELECT sum(l_quantity), max(l_shipdate) FROM orders, LATERAL (SELECT l_quantity, l_shipdate FROM lineitem WHERE l_orderkey = o_orderkey ORDER BY l_linenumber DESC LIMIT 1) l
WHERE o_orderkey % 8 = 1
