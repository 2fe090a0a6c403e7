SELECT sum(l_extendedprice * l_discount) FROM lineitem
WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1994-01-01' + interval '1 year' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
