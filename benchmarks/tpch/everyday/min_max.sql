SELECT min(l_extendedprice), max(l_extendedprice) FROM lineitem
