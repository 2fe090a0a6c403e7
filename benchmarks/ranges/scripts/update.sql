\set n random(0, 9)
UPDATE records SET doc = jsonb_set(doc, ARRAY['field' || (:n)::int::text], to_jsonb(field(id, (:n)::int, left(doc->>('field' || (:n)::int::text), 14)::bigint + 1))) WHERE id = :key;
