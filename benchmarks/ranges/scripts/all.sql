\set start least(:key, :rows - :length)
\set stop :start + :length
SELECT id, doc FROM records WHERE id >= :start AND id < :stop;
