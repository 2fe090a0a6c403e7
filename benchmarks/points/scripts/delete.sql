\set id random(1, :rows)
DELETE FROM points WHERE id = :id;
