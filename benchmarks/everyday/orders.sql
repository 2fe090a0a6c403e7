-- One statement a line.
SELECT count(*) FROM orders WHERE doc->>'status' = 'paid' -- clickhouse: SELECT count() FROM orders WHERE doc.status::String = 'paid'
SELECT count(*) FROM orders WHERE (doc->>'at')::timestamptz >= '2026-02-01' AND (doc->>'at')::timestamptz < '2026-02-02' -- clickhouse: SELECT count() FROM orders WHERE parseDateTimeBestEffort(doc.at::String) >= '2026-02-01 00:00:00' AND parseDateTimeBestEffort(doc.at::String) < '2026-02-02 00:00:00'
SELECT count(*) FROM orders WHERE doc->>'at' >= '2026-03-01T12' AND doc->>'at' < '2026-03-01T13' -- clickhouse: SELECT count() FROM orders WHERE doc.at::String >= '2026-03-01T12' AND doc.at::String < '2026-03-01T13'
SELECT count(*) FROM orders WHERE (doc->>'amount')::numeric > 500.5 -- clickhouse: SELECT count() FROM orders WHERE doc.amount::Float64 > 500.5
SELECT count(*) FROM orders WHERE (doc->'customer'->>'country') IN ('DE', 'FR') AND (doc->>'express')::bool -- clickhouse: SELECT count() FROM orders WHERE doc.customer.country::String IN ('DE', 'FR') AND doc.express::Bool
SELECT count(*) FROM orders WHERE doc->'customer'->>'email' LIKE '%@example.org' -- clickhouse: SELECT count() FROM orders WHERE doc.customer.email::String LIKE '%@example.org'
SELECT count(*) FROM orders WHERE doc->'customer'->>'email' ILIKE '%USER1%' -- clickhouse: SELECT count() FROM orders WHERE doc.customer.email::String ILIKE '%USER1%'
SELECT count(*) FROM orders WHERE doc @> '{"customer": {"country": "JP"}}' -- clickhouse: SELECT count() FROM orders WHERE doc.customer.country::String = 'JP'
SELECT count(*) FROM orders WHERE doc @> '{"tags": ["gift"]}' -- clickhouse: SELECT count() FROM orders WHERE has(doc.tags::Array(String), 'gift')
SELECT count(*) FROM orders WHERE doc->'tags' ? 'vip' -- clickhouse: SELECT count() FROM orders WHERE has(doc.tags::Array(String), 'vip')
SELECT count(*) FROM orders WHERE doc ? 'coupon' -- clickhouse: SELECT count() FROM orders WHERE doc.coupon IS NOT NULL
SELECT count(*) FROM orders WHERE doc->>'coupon' IS NULL -- clickhouse: SELECT count() FROM orders WHERE doc.coupon IS NULL
SELECT count(*) FROM orders WHERE jsonb_typeof(doc->'coupon') = 'string' -- clickhouse: SELECT count() FROM orders WHERE dynamicType(doc.coupon) = 'String'
SELECT count(*) FROM orders WHERE doc @? '$.items[*] ? (@.price > 99)' -- clickhouse: SELECT count() FROM orders WHERE arrayExists(x -> x > 99, doc.items[].price::Array(Float64))
SELECT count(*) FROM orders WHERE doc @@ '$.customer.country == "US"' -- clickhouse: SELECT count() FROM orders WHERE doc.customer.country::String = 'US'
SELECT count(*) FROM orders WHERE jsonb_path_exists(doc, '$.items[*] ? (@.count > 8)') -- clickhouse: SELECT count() FROM orders WHERE arrayExists(x -> x > 8, doc.items[].count::Array(Int64))
SELECT count(*) FROM orders WHERE jsonb_array_length(doc->'items') > 3 -- clickhouse: SELECT count() FROM orders WHERE length(doc.items[].sku) > 3
SELECT count(*) FROM orders WHERE doc['customer']['country'] = '"BR"' -- clickhouse: SELECT count() FROM orders WHERE doc.customer.country::String = 'BR'
SELECT count(*) FROM orders WHERE (doc->'items'->0->>'price')::numeric < 1 -- clickhouse: SELECT count() FROM orders WHERE (doc.items[].price::Array(Float64))[1] < 1
SELECT doc->>'status', count(*), sum((doc->>'amount')::numeric) FROM orders GROUP BY 1 -- clickhouse: SELECT doc.status::String AS s, count(), sum(toDecimal64(doc.amount::String, 2)) FROM orders GROUP BY s
SELECT doc->'customer'->>'country', doc->>'status', avg((doc->>'amount')::numeric) FROM orders GROUP BY 1, 2 -- clickhouse: SELECT doc.customer.country::String AS c, doc.status::String AS s, avg(doc.amount::Float64) FROM orders GROUP BY c, s
SELECT date_trunc('day', (doc->>'at')::timestamptz), count(*) FROM orders GROUP BY 1
SELECT (doc->>'at')::timestamptz::date, sum((doc->>'amount')::numeric) FROM orders GROUP BY 1
SELECT left(doc->>'at', 10), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT left(doc.at::String, 10) AS d, count() FROM orders GROUP BY d
SELECT substring(doc->>'at', 1, 7), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT substring(doc.at::String, 1, 7) AS d, count() FROM orders GROUP BY d
SELECT extract(hour FROM (doc->>'at')::timestamptz), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT toHour(parseDateTimeBestEffort(doc.at::String)) AS h, count() FROM orders GROUP BY h
SELECT min((doc->>'at')::timestamptz), max((doc->>'at')::timestamptz) FROM orders
SELECT min(doc->>'at'), max(doc->>'at') FROM orders -- clickhouse: SELECT min(doc.at::String), max(doc.at::String) FROM orders
SELECT max(doc->>'status'), min(doc->'customer'->>'email') FROM orders -- clickhouse: SELECT max(doc.status::String), min(doc.customer.email::String) FROM orders
SELECT sum((doc->>'quantity')::int), avg((doc->>'score')::float8) > 0 FROM orders
SELECT sum((doc->>'amount')::numeric % 7), max((doc->>'amount')::numeric) FROM orders -- clickhouse: SELECT sum(doc.amount::Float64 - 7 * floor(doc.amount::Float64 / 7)), max(doc.amount::Float64) FROM orders
SELECT round(sum((doc->>'amount')::numeric * (doc->>'quantity')::int), 2) FROM orders -- clickhouse: SELECT round(sum(doc.amount::Float64 * doc.quantity::Int64), 2) FROM orders
SELECT sum(length(doc->>'note')) FROM orders -- clickhouse: SELECT sum(length(doc.note::Nullable(String))) FROM orders
SELECT count(DISTINCT doc->'customer'->>'id') FROM orders -- clickhouse: SELECT count(DISTINCT doc.customer.id::Int64) FROM orders
SELECT doc->>'status', count(DISTINCT doc->'customer'->>'email') FROM orders GROUP BY 1 -- clickhouse: SELECT doc.status::String AS s, count(DISTINCT doc.customer.email::String) FROM orders GROUP BY s
SELECT DISTINCT doc->'customer'->>'country', doc->>'status' FROM orders -- clickhouse: SELECT DISTINCT doc.customer.country::String, doc.status::String FROM orders
SELECT string_agg(DISTINCT doc->>'coupon', ',' ORDER BY doc->>'coupon') FROM orders
SELECT doc->'customer'->>'country', string_agg(doc->>'status', '' ORDER BY (doc->>'id')::int) FROM orders WHERE (doc->>'id')::int < 20000 GROUP BY 1
SELECT doc->'customer'->>'country', doc->>'status', count(*) FROM orders GROUP BY ROLLUP (1, 2) -- clickhouse: SELECT nullIf(c, ''), nullIf(s, ''), n FROM (SELECT doc.customer.country::String AS c, doc.status::String AS s, count() AS n FROM orders GROUP BY ROLLUP (c, s))
SELECT doc->>'status', count(*) FROM orders GROUP BY GROUPING SETS ((doc->>'status'), ()) -- clickhouse: SELECT nullIf(s, ''), n FROM (SELECT doc.status::String AS s, count() AS n FROM orders GROUP BY GROUPING SETS ((s), ()))
SELECT doc->>'status', percentile_cont(0.5) WITHIN GROUP (ORDER BY (doc->>'amount')::numeric::float8) FROM orders GROUP BY 1 -- clickhouse: SELECT doc.status::String AS s, quantileExactInclusive(0.5)(doc.amount::Float64) FROM orders GROUP BY s
SELECT mode() WITHIN GROUP (ORDER BY doc->>'status') FROM orders
SELECT doc->>'status', count(*) FILTER (WHERE (doc->>'express')::bool), sum((doc->>'amount')::numeric) FILTER (WHERE doc ? 'coupon') FROM orders GROUP BY 1 -- clickhouse: SELECT doc.status::String AS s, countIf(doc.express::Bool), sumIf(doc.amount::Float64, doc.coupon IS NOT NULL) FROM orders GROUP BY s
SELECT jsonb_agg(doc->'id') FROM orders WHERE doc->>'coupon' = 'C7'
SELECT jsonb_object_agg(doc->>'status', doc->'express') FROM orders
SELECT array_length(array_agg((doc->>'id')::int), 1) FROM orders
SELECT tag, count(*) FROM orders, jsonb_array_elements_text(doc->'tags') tag GROUP BY 1 -- clickhouse: SELECT arrayJoin(doc.tags::Array(String)) AS tag, count() FROM orders GROUP BY tag
SELECT i->>'sku', sum((i->>'count')::int * (i->>'price')::numeric) FROM orders, jsonb_array_elements(doc->'items') i GROUP BY 1 ORDER BY 2 DESC LIMIT 10 -- clickhouse: SELECT i.1 AS sku, sum(i.2 * i.3) AS s FROM (SELECT arrayJoin(arrayZip(doc.items[].sku::Array(String), doc.items[].count::Array(Int64), doc.items[].price::Array(Float64))) AS i FROM orders) GROUP BY sku ORDER BY s DESC LIMIT 10
SELECT x.sku, count(*) FROM orders, jsonb_to_recordset(doc->'items') AS x(sku text, price numeric) WHERE x.price > 90 GROUP BY 1 -- clickhouse: SELECT i.1 AS sku, count() FROM (SELECT arrayJoin(arrayZip(doc.items[].sku::Array(String), doc.items[].price::Array(Float64))) AS i FROM orders) WHERE i.2 > 90 GROUP BY sku
SELECT k, count(*) FROM orders, jsonb_object_keys(doc) k GROUP BY 1 -- clickhouse: SELECT arrayJoin(arrayDistinct(arrayMap(p -> splitByChar('.', p)[1], JSONAllPaths(doc)))) AS k, count() FROM orders GROUP BY k
SELECT lower(doc->'customer'->>'country'), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT lower(doc.customer.country::String) AS c, count() FROM orders GROUP BY c
SELECT split_part(doc->'customer'->>'email', '@', 2), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT splitByChar('@', doc.customer.email::String)[2] AS d, count() FROM orders GROUP BY d
SELECT (doc->'customer'->>'country') || '-' || (doc->>'status'), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT concat(doc.customer.country::String, '-', doc.status::String) AS x, count() FROM orders GROUP BY x
SELECT CASE WHEN (doc->>'amount')::numeric > 500 THEN 'large' ELSE 'small' END, count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT CASE WHEN doc.amount::Float64 > 500 THEN 'large' ELSE 'small' END AS x, count() FROM orders GROUP BY x
SELECT coalesce(doc->>'coupon', 'none'), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT coalesce(doc.coupon::Nullable(String), 'none') AS x, count() FROM orders GROUP BY x
SELECT (doc->>'quantity')::int / 10, count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT intDiv(doc.quantity::Int64, 10) AS x, count() FROM orders GROUP BY x
SELECT round((doc->>'amount')::numeric, -2), count(*) FROM orders GROUP BY 1
SELECT floor((doc->>'score')::float8 * 10), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT floor(doc.score::Float64 * 10) AS x, count() FROM orders GROUP BY x
SELECT doc->>'status', doc->>'amount' FROM orders ORDER BY (doc->>'amount')::numeric DESC, doc->>'id' LIMIT 10
SELECT doc FROM orders ORDER BY doc->>'at' DESC LIMIT 10
SELECT count(*) FROM (SELECT jsonb_path_query(doc, '$.items[*].price') FROM orders) x -- clickhouse: SELECT count() FROM (SELECT arrayJoin(doc.items[].price) FROM orders)
SELECT jsonb_path_query_first(doc, '$.items[0].sku'), count(*) FROM orders GROUP BY 1 -- clickhouse: SELECT (doc.items[].sku::Array(String))[1] AS x, count() FROM orders GROUP BY x
SELECT sum(jsonb_array_length(doc->'items')) FROM orders -- clickhouse: SELECT sum(length(doc.items[].sku)) FROM orders
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY doc->'customer'->>'id' ORDER BY doc->>'at') n FROM orders) x -- clickhouse: SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY doc.customer.id::Int64 ORDER BY doc.at::String) AS n FROM orders)
SELECT max(pg_column_size(doc->'customer')) FROM orders
