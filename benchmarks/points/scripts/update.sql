\set id random(1, :rows)
\set likes random(1, 3000)
UPDATE points SET seen = clock_timestamp(), doc = jsonb_set(doc, '{metrics,likes}', to_jsonb(:likes::int)) WHERE id = :id;
