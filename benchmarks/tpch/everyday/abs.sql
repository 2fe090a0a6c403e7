SELECT sum(abs(l_discount - l_tax)) FROM lineitem
