SELECT count(*) FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '90' day
