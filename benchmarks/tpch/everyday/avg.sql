SELECT avg(l_quantity) FROM lineitem
