SELECT stddev(l_extendedprice) FROM lineitem
