SELECT orders, count(*) AS customers
FROM (SELECT c_custkey, count(o_orderkey) AS orders FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY 1) c
GROUP BY 1 ORDER BY 2 DESC, 1 DESC
