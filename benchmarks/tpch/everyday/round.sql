SELECT sum(round(l_extendedprice * l_discount, 1)) FROM lineitem
