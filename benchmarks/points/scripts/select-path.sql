\set id random(1, :rows)
SELECT doc->'metrics'->>'likes' FROM points WHERE id = :id;
