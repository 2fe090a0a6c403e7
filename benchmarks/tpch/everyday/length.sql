SELECT sum(length(l_comment)) FROM lineitem
