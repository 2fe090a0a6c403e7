\set id random(1, :rows)
SELECT doc FROM points WHERE id = :id;
