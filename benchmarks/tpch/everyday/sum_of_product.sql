SELECT sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) FROM lineitem
