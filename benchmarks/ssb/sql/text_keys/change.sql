-- A twentieth of the rows is updated, and another one deleted.
UPDATE lineorder SET lo_revenue = lo_revenue + 1 WHERE lo_orderkey % 20 = 3;
DELETE FROM lineorder WHERE lo_orderkey % 20 = 7;
UPDATE customer SET c_mktsegment = lower(c_mktsegment) WHERE right(c_custkey, 9)::integer % 20 = 3;
DELETE FROM customer WHERE right(c_custkey, 9)::integer % 20 = 7;
UPDATE supplier SET s_phone = '' WHERE right(s_suppkey, 9)::integer % 20 = 3;
DELETE FROM supplier WHERE right(s_suppkey, 9)::integer % 20 = 7;
UPDATE part SET p_size = p_size + 1 WHERE right(p_partkey, 9)::integer % 20 = 3;
DELETE FROM part WHERE right(p_partkey, 9)::integer % 20 = 7;
