SELECT count(*) FROM orders WHERE o_orderkey % 8 = 1 AND (o_totalprice < 1000 OR EXISTS (SELECT FROM lineitem WHERE l_orderkey = o_orderkey AND l_quantity > o_totalprice / 10000))
