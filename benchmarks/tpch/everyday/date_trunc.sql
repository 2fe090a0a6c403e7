SELECT date_trunc('month', l_shipdate), count(*) FROM lineitem GROUP BY 1
