SELECT sum(coalesce(nullif(l_discount, 0), 0.01)) FROM lineitem
