SELECT count(*), max(o_orderdate) FROM customer, LATERAL (SELECT o_orderdate FROM orders WHERE o_custkey <= c_custkey ORDER BY o_custkey DESC LIMIT 1) o
