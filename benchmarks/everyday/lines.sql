-- One statement a line; behind "duckdb:" how DuckDB wants it, where that differs.
SELECT count(*) FROM lines WHERE l_shipdate <= date '1998-12-01' - interval '90' day
SELECT count(*) FROM lines WHERE l_quantity < 24
SELECT count(*) FROM lines WHERE l_shipmode IN ('AIR', 'REG AIR') AND l_discount BETWEEN 0.05 AND 0.07
SELECT count(*) FROM lines WHERE l_comment LIKE '%special%'
SELECT count(*) FROM lines WHERE l_comment ~ '^care.*bold' -- duckdb: SELECT count(*) FROM lines WHERE regexp_matches(l_comment, '^care.*bold')
SELECT count(*) FROM lines WHERE l_receiptdate > l_commitdate
SELECT count(*) FROM lines WHERE extract(year FROM l_shipdate) = 1995
SELECT count(*) FROM lines WHERE l_shipped >= timestamp '1995-03-01 12:00' AND l_shipped < timestamp '1995-03-08'
SELECT count(*) FROM lines WHERE l_fragile AND NOT l_weight > 50
SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), count(*) FROM lines WHERE l_shipdate <= date '1998-09-02' GROUP BY 1, 2
SELECT sum(l_extendedprice * l_discount) FROM lines WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24
SELECT l_returnflag, count(*) FROM lines GROUP BY 1
SELECT l_shipinstruct, l_shipmode, min(l_shipdate), max(l_shipdate) FROM lines GROUP BY 1, 2
SELECT min(l_extendedprice), max(l_extendedprice) FROM lines
SELECT sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) FROM lines
SELECT round(stddev(l_weight)::numeric, 6), round(variance(l_weight)::numeric, 6) FROM lines -- duckdb: SELECT round(stddev(l_weight), 6)::numeric(18,6), round(variance(l_weight), 6)::numeric(18,6) FROM lines
SELECT round(corr(l_weight, l_partkey)::numeric, 8), round(regr_slope(l_weight, l_partkey)::numeric, 12) FROM lines -- duckdb: SELECT round(corr(l_weight, l_partkey), 8)::numeric(18,8), round(regr_slope(l_weight, l_partkey), 12)::numeric(18,12) FROM lines
SELECT date_trunc('month', l_shipdate), count(*) FROM lines GROUP BY 1
SELECT date_trunc('hour', l_shipped), count(*) FROM lines GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10
SELECT extract(dow FROM l_shipdate), avg(l_weight) > 50 FROM lines GROUP BY 1
SELECT to_char(l_shipdate, 'YYYY-MM'), count(*) FROM lines GROUP BY 1 -- duckdb: SELECT strftime(l_shipdate, '%Y-%m'), count(*) FROM lines GROUP BY 1
SELECT sum(l_receiptdate - l_shipdate) FROM lines
SELECT l_receiptdate - l_shipdate, count(*) FROM lines GROUP BY 1
SELECT sum(CASE WHEN l_discount > 0.05 THEN l_extendedprice ELSE 0 END) FROM lines
SELECT CASE WHEN l_quantity < 10 THEN 'few' WHEN l_quantity < 30 THEN 'some' ELSE 'many' END, count(*) FROM lines GROUP BY 1
SELECT sum(coalesce(nullif(l_discount, 0), 0.01)) FROM lines
SELECT sum(round(l_extendedprice * l_discount, 1)) FROM lines
SELECT sum(abs(l_discount - l_tax)), sum(sign(l_discount - l_tax)) FROM lines
SELECT sum(greatest(l_discount, l_tax)), sum(least(l_partkey, l_suppkey)) FROM lines
SELECT sum(l_partkey % 7), sum(l_quantity % 7) FROM lines
SELECT round(sum(sqrt(l_weight))::numeric, 3), round(sum(ln(l_weight + 1))::numeric, 3) FROM lines -- duckdb: SELECT round(sum(sqrt(l_weight)), 3)::numeric(18,3), round(sum(ln(l_weight + 1)), 3)::numeric(18,3) FROM lines
SELECT count(DISTINCT l_partkey), count(DISTINCT l_shipdate) FROM lines
SELECT l_shipmode, count(DISTINCT l_suppkey) FROM lines GROUP BY 1
SELECT DISTINCT l_suppkey, l_linenumber FROM lines
SELECT l_returnflag, l_linestatus, count(*), sum(l_quantity) FROM lines GROUP BY ROLLUP (l_returnflag, l_linestatus)
SELECT l_shipmode, l_shipinstruct, count(*) FROM lines GROUP BY CUBE (l_shipmode, l_shipinstruct)
SELECT l_shipmode, count(*) FILTER (WHERE l_fragile), sum(l_quantity) FILTER (WHERE l_discount = 0) FROM lines GROUP BY 1 HAVING count(*) > 10
SELECT l_suppkey, sum(l_quantity) FROM lines GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10
SELECT l_orderkey, sum(l_quantity) FROM lines GROUP BY 1 HAVING sum(l_quantity) > 180
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l_weight) FROM lines
SELECT l_shipmode, percentile_disc(0.9) WITHIN GROUP (ORDER BY l_extendedprice) FROM lines GROUP BY 1
SELECT mode() WITHIN GROUP (ORDER BY l_shipdate) FROM lines -- duckdb: SELECT arg_max(d, c) FROM (SELECT l_shipdate d, count(*) c FROM lines GROUP BY 1)
SELECT l_linestatus, string_agg(DISTINCT trim(l_shipmode), ',' ORDER BY trim(l_shipmode)) FROM lines GROUP BY 1
SELECT l_suppkey, length(string_agg(l_comment, ',')) FROM lines GROUP BY 1
SELECT l_suppkey, cardinality(array_agg(l_partkey)) FROM lines GROUP BY 1 -- duckdb: SELECT l_suppkey, len(array_agg(l_partkey)) FROM lines GROUP BY 1
SELECT bool_and(l_fragile), bool_or(l_fragile), bit_or(l_partkey) FROM lines
SELECT sum(length(l_comment)) FROM lines
SELECT max(l_comment), min(l_comment) FROM lines
SELECT max(l_shipmode), min(l_shipinstruct) FROM lines
SELECT left(l_comment, 5), count(*) FROM lines GROUP BY 1
SELECT count(DISTINCT upper(l_comment)) FROM lines
SELECT substring(l_comment FROM 1 FOR 12), count(*) FROM lines GROUP BY 1
SELECT split_part(l_comment, ' ', 2), count(*) FROM lines GROUP BY 1
SELECT l_shipmode || '/' || l_linestatus, count(*) FROM lines GROUP BY 1
SELECT sum(length(replace(l_comment, 'e', ''))) FROM lines
SELECT count(*) FROM lines WHERE position('bold' IN l_comment) > 0
SELECT count(*) FROM lines WHERE l_id > 'f0000000-0000-0000-0000-000000000000'
SELECT max(l_shipped) - min(l_shipped) FROM lines
SELECT sum(extract(epoch FROM l_shipped - l_shipdate))::bigint / 1000 FROM lines -- duckdb: SELECT floor(sum(epoch(l_shipped - l_shipdate::timestamp)) / 1000)::bigint FROM lines
SELECT width_bucket(l_weight, 0, 100, 10), count(*) FROM lines GROUP BY 1 -- duckdb: SELECT floor(l_weight / 10)::int + 1, count(*) FROM lines GROUP BY 1
SELECT l_extendedprice::int / 1000, count(*) FROM lines GROUP BY 1 -- duckdb: SELECT l_extendedprice::int // 1000, count(*) FROM lines GROUP BY 1
SELECT sum(l_quantity::int), sum(l_extendedprice::float8)::bigint FROM lines
SELECT l_returnflag, avg(l_extendedprice)::numeric(15, 2) FROM lines GROUP BY 1
SELECT count(*) FROM (SELECT l_partkey FROM lines GROUP BY 1 HAVING count(*) > 1) x
SELECT l_partkey, l_suppkey, l_extendedprice FROM lines ORDER BY l_extendedprice DESC, l_partkey, l_suppkey LIMIT 20
SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY l_suppkey ORDER BY l_extendedprice) n FROM lines) x
SELECT max(s) FROM (SELECT sum(l_quantity) OVER (PARTITION BY l_shipmode ORDER BY l_shipdate) s FROM lines) x
