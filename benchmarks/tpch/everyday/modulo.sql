SELECT sum(l_quantity % 7) FROM lineitem
