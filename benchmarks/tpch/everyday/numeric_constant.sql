SELECT count(*) FROM lineitem WHERE l_quantity < 24
