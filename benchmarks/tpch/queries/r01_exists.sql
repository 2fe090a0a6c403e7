SELECT count(*) FROM orders WHERE o_orderkey % 8 = 1 AND (SELECT count(*) FROM (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_quantity > 25 LIMIT 1) l) = 1
