-- A twentieth of the rows is updated, and another one deleted.
UPDATE lineorder SET doc = json_merge_patch(doc, json_object('lo_revenue', (doc->>'lo_revenue')::int + 1)) WHERE (doc->>'lo_orderkey')::bigint % 20 = 3;
DELETE FROM lineorder WHERE (doc->>'lo_orderkey')::bigint % 20 = 7;
UPDATE customer SET doc = json_merge_patch(doc, json_object('c_mktsegment', lower(doc->>'c_mktsegment'))) WHERE (doc->>'c_custkey')::bigint % 20 = 3;
DELETE FROM customer WHERE (doc->>'c_custkey')::bigint % 20 = 7;
UPDATE supplier SET doc = json_merge_patch(doc, '{"s_phone": ""}'::json) WHERE (doc->>'s_suppkey')::bigint % 20 = 3;
DELETE FROM supplier WHERE (doc->>'s_suppkey')::bigint % 20 = 7;
UPDATE part SET doc = json_merge_patch(doc, json_object('p_size', (doc->>'p_size')::int + 1)) WHERE (doc->>'p_partkey')::bigint % 20 = 3;
DELETE FROM part WHERE (doc->>'p_partkey')::bigint % 20 = 7;
