WITH revenue AS (SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS total FROM lineitem
    WHERE l_shipdate >= date '1996-01-01' AND l_shipdate < date '1996-01-01' + interval '3 months' GROUP BY 1)
SELECT s_suppkey, s_name, s_address, s_phone, total FROM supplier, revenue WHERE s_suppkey = l_suppkey AND total = (SELECT max(total) FROM revenue) ORDER BY 1
