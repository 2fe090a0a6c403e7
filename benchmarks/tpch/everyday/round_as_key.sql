SELECT round(l_extendedprice / 1000), count(*) FROM lineitem GROUP BY 1
