SELECT l_shipmode || l_shipinstruct, count(*) FROM lineitem GROUP BY 1
