SELECT sum(floor(l_extendedprice)), sum(ceil(l_extendedprice)) FROM lineitem
