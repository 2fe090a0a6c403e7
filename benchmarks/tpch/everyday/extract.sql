SELECT sum(extract(month from l_shipdate)) FROM lineitem
