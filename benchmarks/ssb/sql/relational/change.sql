-- A twentieth of the rows is updated, and another one deleted.
UPDATE lineorder SET lo_revenue = lo_revenue + 1 WHERE lo_orderkey % 20 = 3;
DELETE FROM lineorder WHERE lo_orderkey % 20 = 7;
UPDATE customer SET c_mktsegment = lower(c_mktsegment) WHERE c_custkey % 20 = 3;
DELETE FROM customer WHERE c_custkey % 20 = 7;
UPDATE supplier SET s_phone = '' WHERE s_suppkey % 20 = 3;
DELETE FROM supplier WHERE s_suppkey % 20 = 7;
UPDATE part SET p_size = p_size + 1 WHERE p_partkey % 20 = 3;
DELETE FROM part WHERE p_partkey % 20 = 7;
