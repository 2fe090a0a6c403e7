\set start least(:key, :rows - :length)
\set stop :start + :length
SELECT count(*), sum(length(doc->>'field3')), max(left(doc->>'field3', 14)) FROM records WHERE id >= :start AND id < :stop;
