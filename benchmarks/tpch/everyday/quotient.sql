SELECT sum(CASE WHEN l_shipmode = 'AIR' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / sum(l_extendedprice * (1 - l_discount)) FROM lineitem
