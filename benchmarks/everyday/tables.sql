-- Lines of orders in the form of TPC-H's lineitem, with its types, and orders as documents. :lines rows of the one, :documents of the other.
CREATE TABLE lines (l_orderkey int, l_partkey int, l_suppkey int, l_linenumber int, l_quantity numeric(15, 2), l_extendedprice numeric(15, 2), l_discount numeric(15, 2),
    l_tax numeric(15, 2), l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10),
    l_comment varchar(44), l_shipped timestamp, l_weight float8, l_fragile bool, l_id uuid);
SELECT setseed(0.5);
INSERT INTO lines
SELECT i / 4, (random() * 20000)::int, (random() * 1000)::int, i % 4 + 1, 1 + floor(random() * 50), (900 + random() * 104000)::numeric(15, 2), (floor(random() * 11) / 100)::numeric(15, 2),
    (floor(random() * 9) / 100)::numeric(15, 2), substr('RAN', 1 + (random() * 2)::int, 1), substr('OF', 1 + (random() * 1)::int, 1), shipped, shipped + (random() * 120)::int - 60,
    shipped + (random() * 30)::int, (ARRAY['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[1 + floor(random() * 4)],
    (ARRAY['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[1 + floor(random() * 7)],
    substr((ARRAY['carefully', 'quickly', 'furiously', 'slyly', 'blithely'])[1 + floor(random() * 5)] || ' ' || (ARRAY['final', 'express', 'regular', 'special', 'bold'])[1 + floor(random() * 5)]
        || ' requests ' || md5(i::text), 1, 10 + (random() * 33)::int),
    shipped + random() * interval '1 day', random() * 100, random() < 0.2, md5(i::text)::uuid
FROM generate_series(1, :lines) i, LATERAL (SELECT date '1992-01-02' + (random() * 2520 + 0 * i)::int AS shipped) s;
CREATE TABLE orders (doc jsonb);
INSERT INTO orders
SELECT jsonb_strip_nulls(jsonb_build_object('id', i, 'at', to_char(timestamp '2026-01-01' + i * interval '90 seconds', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    'status', (ARRAY['open', 'paid', 'sent', 'returned'])[1 + floor(random() * 4)], 'amount', round((random() * 1000)::numeric, 2), 'quantity', floor(random() * 50),
    'score', random(), 'express', random() < 0.3, 'customer', jsonb_build_object('id', floor(random() * 20000), 'country', (ARRAY['DE', 'FR', 'US', 'JP', 'BR', 'IN'])[1 + floor(random() * 6)],
        'email', 'user' || floor(random() * 20000) || '@' || (ARRAY['example.org', 'example.com', 'mail.example'])[1 + floor(random() * 3)]),
    'coupon', CASE WHEN random() < 0.1 THEN 'C' || floor(random() * 100) END, 'tags', (SELECT jsonb_agg((ARRAY['new', 'gift', 'bulk', 'fragile', 'vip'])[1 + floor(random() * 5)]) FROM generate_series(1, 1 + i % 3)),
    'items', (SELECT jsonb_agg(jsonb_build_object('sku', 'S' || floor(random() * 500), 'count', 1 + floor(random() * 9), 'price', round((random() * 100)::numeric, 2))) FROM generate_series(1, 1 + i % 4)),
    'note', CASE WHEN i % 3 = 0 THEN (SELECT string_agg(md5(i || ' ' || j), ' ') FROM generate_series(1, 12) j) END))
FROM generate_series(1, :documents) i;
