SELECT sum(l_receiptdate - l_shipdate) FROM lineitem
