SELECT count(*), sum(o_totalprice) FROM customer, LATERAL (SELECT o_totalprice FROM orders WHERE o_custkey = c_custkey LIMIT 1) o
