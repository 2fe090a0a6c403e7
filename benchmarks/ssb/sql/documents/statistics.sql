-- Of heap's documents the planner knows nothing unless told to look: without
-- these, it joins by nested loops. One for each expression the
-- queries filter, join or group by; ANALYZE fills them.
CREATE STATISTICS d_datekey_statistics ON ((doc->>'d_datekey')::int) FROM date;
CREATE STATISTICS d_weeknuminyear_statistics ON ((doc->>'d_weeknuminyear')::int) FROM date;
CREATE STATISTICS d_year_statistics ON ((doc->>'d_year')::int) FROM date;
CREATE STATISTICS d_yearmonth_statistics ON (doc->>'d_yearmonth') FROM date;
CREATE STATISTICS d_yearmonthnum_statistics ON ((doc->>'d_yearmonthnum')::int) FROM date;
CREATE STATISTICS s_city_statistics ON (doc->>'s_city') FROM supplier;
CREATE STATISTICS s_nation_statistics ON (doc->>'s_nation') FROM supplier;
CREATE STATISTICS s_region_statistics ON (doc->>'s_region') FROM supplier;
CREATE STATISTICS s_suppkey_statistics ON ((doc->>'s_suppkey')::int) FROM supplier;
CREATE STATISTICS c_city_statistics ON (doc->>'c_city') FROM customer;
CREATE STATISTICS c_custkey_statistics ON ((doc->>'c_custkey')::int) FROM customer;
CREATE STATISTICS c_nation_statistics ON (doc->>'c_nation') FROM customer;
CREATE STATISTICS c_region_statistics ON (doc->>'c_region') FROM customer;
CREATE STATISTICS p_brand1_statistics ON (doc->>'p_brand1') FROM part;
CREATE STATISTICS p_category_statistics ON (doc->>'p_category') FROM part;
CREATE STATISTICS p_mfgr_statistics ON (doc->>'p_mfgr') FROM part;
CREATE STATISTICS p_partkey_statistics ON ((doc->>'p_partkey')::int) FROM part;
CREATE STATISTICS lo_custkey_statistics ON ((doc->>'lo_custkey')::int) FROM lineorder;
CREATE STATISTICS lo_discount_statistics ON ((doc->>'lo_discount')::int) FROM lineorder;
CREATE STATISTICS lo_orderdate_statistics ON ((doc->>'lo_orderdate')::int) FROM lineorder;
CREATE STATISTICS lo_partkey_statistics ON ((doc->>'lo_partkey')::int) FROM lineorder;
CREATE STATISTICS lo_quantity_statistics ON ((doc->>'lo_quantity')::int) FROM lineorder;
CREATE STATISTICS lo_suppkey_statistics ON ((doc->>'lo_suppkey')::int) FROM lineorder;
