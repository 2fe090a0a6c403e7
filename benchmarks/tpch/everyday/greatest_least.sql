SELECT sum(greatest(l_discount, l_tax)), sum(least(l_partkey, l_suppkey)) FROM lineitem
