-- One statement a line.
SELECT count(*) FROM orders WHERE doc->>'status' = 'paid'
SELECT count(*) FROM orders WHERE (doc->>'at')::timestamptz >= '2026-02-01' AND (doc->>'at')::timestamptz < '2026-02-02'
SELECT count(*) FROM orders WHERE doc->>'at' >= '2026-03-01T12' AND doc->>'at' < '2026-03-01T13'
SELECT count(*) FROM orders WHERE (doc->>'amount')::numeric > 500.5
SELECT count(*) FROM orders WHERE (doc->'customer'->>'country') IN ('DE', 'FR') AND (doc->>'express')::bool
SELECT count(*) FROM orders WHERE doc->'customer'->>'email' LIKE '%@example.org'
SELECT count(*) FROM orders WHERE doc->'customer'->>'email' ILIKE '%USER1%'
SELECT count(*) FROM orders WHERE doc @> '{"customer": {"country": "JP"}}'
SELECT count(*) FROM orders WHERE doc @> '{"tags": ["gift"]}'
SELECT count(*) FROM orders WHERE doc->'tags' ? 'vip'
SELECT count(*) FROM orders WHERE doc ? 'coupon'
SELECT count(*) FROM orders WHERE doc->>'coupon' IS NULL
SELECT count(*) FROM orders WHERE jsonb_typeof(doc->'coupon') = 'string'
SELECT count(*) FROM orders WHERE doc @? '$.items[*] ? (@.price > 99)'
SELECT count(*) FROM orders WHERE doc @@ '$.customer.country == "US"'
SELECT count(*) FROM orders WHERE jsonb_path_exists(doc, '$.items[*] ? (@.count > 8)')
SELECT count(*) FROM orders WHERE jsonb_array_length(doc->'items') > 3
SELECT count(*) FROM orders WHERE doc['customer']['country'] = '"BR"'
SELECT count(*) FROM orders WHERE (doc->'items'->0->>'price')::numeric < 1
SELECT doc->>'status', count(*), sum((doc->>'amount')::numeric) FROM orders GROUP BY 1
SELECT doc->'customer'->>'country', doc->>'status', avg((doc->>'amount')::numeric) FROM orders GROUP BY 1, 2
SELECT date_trunc('day', (doc->>'at')::timestamptz), count(*) FROM orders GROUP BY 1
SELECT (doc->>'at')::timestamptz::date, sum((doc->>'amount')::numeric) FROM orders GROUP BY 1
SELECT left(doc->>'at', 10), count(*) FROM orders GROUP BY 1
SELECT substring(doc->>'at', 1, 7), count(*) FROM orders GROUP BY 1
SELECT extract(hour FROM (doc->>'at')::timestamptz), count(*) FROM orders GROUP BY 1
SELECT min((doc->>'at')::timestamptz), max((doc->>'at')::timestamptz) FROM orders
SELECT min(doc->>'at'), max(doc->>'at') FROM orders
SELECT max(doc->>'status'), min(doc->'customer'->>'email') FROM orders
SELECT sum((doc->>'quantity')::int), avg((doc->>'score')::float8) > 0 FROM orders
SELECT sum((doc->>'amount')::numeric % 7), max((doc->>'amount')::numeric) FROM orders
SELECT round(sum((doc->>'amount')::numeric * (doc->>'quantity')::int), 2) FROM orders
SELECT sum(length(doc->>'note')) FROM orders
SELECT count(DISTINCT doc->'customer'->>'id') FROM orders
SELECT doc->>'status', count(DISTINCT doc->'customer'->>'email') FROM orders GROUP BY 1
SELECT DISTINCT doc->'customer'->>'country', doc->>'status' FROM orders
SELECT string_agg(DISTINCT doc->>'coupon', ',' ORDER BY doc->>'coupon') FROM orders
SELECT doc->'customer'->>'country', string_agg(doc->>'status', '' ORDER BY (doc->>'id')::int) FROM orders WHERE (doc->>'id')::int < 20000 GROUP BY 1
SELECT doc->'customer'->>'country', doc->>'status', count(*) FROM orders GROUP BY ROLLUP (1, 2)
SELECT doc->>'status', count(*) FROM orders GROUP BY GROUPING SETS ((doc->>'status'), ())
SELECT doc->>'status', percentile_cont(0.5) WITHIN GROUP (ORDER BY (doc->>'amount')::numeric::float8) FROM orders GROUP BY 1
SELECT mode() WITHIN GROUP (ORDER BY doc->>'status') FROM orders
SELECT doc->>'status', count(*) FILTER (WHERE (doc->>'express')::bool), sum((doc->>'amount')::numeric) FILTER (WHERE doc ? 'coupon') FROM orders GROUP BY 1
SELECT jsonb_agg(doc->'id') FROM orders WHERE doc->>'coupon' = 'C7'
SELECT jsonb_object_agg(doc->>'status', doc->'express') FROM orders
SELECT array_length(array_agg((doc->>'id')::int), 1) FROM orders
SELECT tag, count(*) FROM orders, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1
SELECT i->>'sku', sum((i->>'count')::int * (i->>'price')::numeric) FROM orders, jsonb_array_elements(doc->'items') i GROUP BY 1 ORDER BY 2 DESC LIMIT 10
SELECT x.sku, count(*) FROM orders, jsonb_to_recordset(doc->'items') AS x(sku text, price numeric) WHERE x.price > 90 GROUP BY 1
SELECT k, count(*) FROM orders, jsonb_object_keys(doc) k GROUP BY 1
SELECT lower(doc->'customer'->>'country'), count(*) FROM orders GROUP BY 1
SELECT split_part(doc->'customer'->>'email', '@', 2), count(*) FROM orders GROUP BY 1
SELECT (doc->'customer'->>'country') || '-' || (doc->>'status'), count(*) FROM orders GROUP BY 1
SELECT CASE WHEN (doc->>'amount')::numeric > 500 THEN 'large' ELSE 'small' END, count(*) FROM orders GROUP BY 1
SELECT coalesce(doc->>'coupon', 'none'), count(*) FROM orders GROUP BY 1
SELECT (doc->>'quantity')::int / 10, count(*) FROM orders GROUP BY 1
SELECT round((doc->>'amount')::numeric, -2), count(*) FROM orders GROUP BY 1
SELECT floor((doc->>'score')::float8 * 10), count(*) FROM orders GROUP BY 1
SELECT doc->>'status', doc->>'amount' FROM orders ORDER BY (doc->>'amount')::numeric DESC, doc->>'id' LIMIT 10
SELECT doc FROM orders ORDER BY doc->>'at' DESC LIMIT 10
SELECT count(*) FROM (SELECT jsonb_path_query(doc, '$.items[*].price') FROM orders) x
SELECT jsonb_path_query_first(doc, '$.items[0].sku'), count(*) FROM orders GROUP BY 1
SELECT sum(jsonb_array_length(doc->'items')) FROM orders
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY doc->'customer'->>'id' ORDER BY doc->>'at') n FROM orders) x
SELECT max(pg_column_size(doc->'customer')) FROM orders
