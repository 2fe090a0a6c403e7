-- The tables of TPC-H's form in the current schema, on heap; :scale is the scale factor. Values are uniform, as in the specification's
-- clauses 4.2.2 and 4.2.3, but text is of few words.
SELECT setseed(0.5);
-- An integer from low to high.
CREATE FUNCTION pick(low int, high int) RETURNS int LANGUAGE sql AS 'SELECT low + floor(random() * (high - low + 1))::int';
CREATE FUNCTION pick(words text) RETURNS text LANGUAGE sql AS
    'SELECT split_part(words, '' '', pick(1, length(words) - length(replace(words, '' '', '''')) + 1))';
CREATE FUNCTION some_words() RETURNS text LANGUAGE sql AS $$
    SELECT pick(words) || ' ' || pick(words) || ' ' || pick(words) || ' ' || pick(words) FROM (VALUES ('special pending unusual express furious sly careful blithe quick even final '
        || 'ironic regular bold packages requests accounts deposits foxes ideas theodolites instructions dependencies excuses platelets asymptotes')) w (words) $$;
CREATE FUNCTION money(low numeric, high numeric) RETURNS numeric LANGUAGE sql AS 'SELECT round((low + random()::numeric * (high - low)), 2)';
CREATE FUNCTION price(part int) RETURNS numeric LANGUAGE sql AS 'SELECT (90000 + part / 10 % 20001 + 100 * (part % 1000)) / 100.0';
-- One of the four suppliers of a part.
CREATE FUNCTION supplier_of(part int, i int, suppliers int) RETURNS int LANGUAGE sql AS
    'SELECT (part + i * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1';
CREATE FUNCTION phone(nation int) RETURNS text LANGUAGE sql AS
    'SELECT 10 + nation || ''-'' || pick(100, 999) || ''-'' || pick(100, 999) || ''-'' || pick(1000, 9999)';

CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text NOT NULL, r_comment text);
INSERT INTO region SELECT n - 1, split_part('AFRICA,AMERICA,ASIA,EUROPE,MIDDLE EAST', ',', n), some_words() FROM generate_series(1, 5) n;

CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text NOT NULL, n_regionkey int NOT NULL, n_comment text);
INSERT INTO nation SELECT n - 1, split_part('ALGERIA,ARGENTINA,BRAZIL,CANADA,EGYPT,ETHIOPIA,FRANCE,GERMANY,INDIA,INDONESIA,IRAN,IRAQ,JAPAN,JORDAN,KENYA,'
    'MOROCCO,MOZAMBIQUE,PERU,CHINA,ROMANIA,SAUDI ARABIA,VIETNAM,RUSSIA,UNITED KINGDOM,UNITED STATES', ',', n),
    split_part('0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1', ',', n)::int, some_words() FROM generate_series(1, 25) n;

CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name text NOT NULL, s_address text NOT NULL, s_nationkey int NOT NULL, s_phone text NOT NULL,
    s_acctbal numeric(15, 2) NOT NULL, s_comment text NOT NULL);
INSERT INTO supplier SELECT n, 'Supplier#' || lpad(n::text, 9, '0'), md5(n::text), nation, phone(nation), money(-999.99, 9999.99),
    some_words() || CASE WHEN n % 97 = 0 THEN ' Customer ' || pick('and for in') || ' Complaints' ELSE '' END
    FROM (SELECT n, pick(0, 24) AS nation FROM generate_series(1, 10000 * :scale) n) s;

CREATE TABLE part (p_partkey int PRIMARY KEY, p_name text NOT NULL, p_mfgr text NOT NULL, p_brand text NOT NULL, p_type text NOT NULL, p_size int NOT NULL,
    p_container text NOT NULL, p_retailprice numeric(15, 2) NOT NULL, p_comment text NOT NULL);
INSERT INTO part SELECT n, (SELECT string_agg(pick('almond antique azure beige bisque black blue blush brown burnished chartreuse chocolate coral cornflower cream cyan '
    'dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime '
    'linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy '
    'royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow'), ' ')
    FROM generate_series(1, 5 + 0 * n)), 'Manufacturer#' || maker, 'Brand#' || maker || pick(1, 5),
    concat_ws(' ', pick('STANDARD SMALL MEDIUM LARGE ECONOMY PROMO'), pick('ANODIZED BURNISHED PLATED POLISHED BRUSHED'), pick('TIN NICKEL BRASS STEEL COPPER')), pick(1, 50),
    concat_ws(' ', pick('SM LG MED JUMBO WRAP'), pick('CASE BOX BAG JAR PKG PACK CAN DRUM')), price(n), some_words()
    FROM (SELECT n, pick(1, 5) AS maker FROM generate_series(1, (200000 * :scale)::int) n) p;

CREATE TABLE partsupp (ps_partkey int NOT NULL, ps_suppkey int NOT NULL, ps_availqty int NOT NULL, ps_supplycost numeric(15, 2) NOT NULL, ps_comment text NOT NULL,
    PRIMARY KEY (ps_partkey, ps_suppkey));
INSERT INTO partsupp SELECT p_partkey, supplier_of(p_partkey, i, (10000 * :scale)::int), pick(1, 9999), money(1, 1000), some_words() FROM part, generate_series(0, 3) i;

CREATE TABLE customer (c_custkey int PRIMARY KEY, c_name text NOT NULL, c_address text NOT NULL, c_nationkey int NOT NULL, c_phone text NOT NULL,
    c_acctbal numeric(15, 2) NOT NULL, c_mktsegment text NOT NULL, c_comment text NOT NULL);
INSERT INTO customer SELECT n, 'Customer#' || lpad(n::text, 9, '0'), md5(n::text), nation, phone(nation), money(-999.99, 9999.99),
    pick('AUTOMOBILE BUILDING FURNITURE MACHINERY HOUSEHOLD'), some_words() FROM (SELECT n, pick(0, 24) AS nation FROM generate_series(1, 150000 * :scale) n) c;

CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL, o_orderstatus text NOT NULL, o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL,
    o_orderpriority text NOT NULL, o_clerk text NOT NULL, o_shippriority int NOT NULL, o_comment text NOT NULL);
CREATE TABLE lineitem (l_orderkey int NOT NULL, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int NOT NULL, l_quantity numeric(15, 2) NOT NULL,
    l_extendedprice numeric(15, 2) NOT NULL, l_discount numeric(15, 2) NOT NULL, l_tax numeric(15, 2) NOT NULL, l_returnflag text NOT NULL, l_linestatus text NOT NULL,
    l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL, l_shipinstruct text NOT NULL, l_shipmode text NOT NULL, l_comment text NOT NULL,
    PRIMARY KEY (l_orderkey, l_linenumber));
-- Of 32 keys in a row the first eight are used; a third of the customers has no orders.
CREATE TEMP TABLE draft AS SELECT n / 8 * 32 + n % 8 AS o_orderkey, date '1992-01-01' + pick(0, 2405) AS o_orderdate, pick(1, 7) AS lines
    FROM generate_series(1, (1500000 * :scale)::int) n;
INSERT INTO lineitem SELECT o_orderkey, part, supplier_of(part, pick(0, 3), (10000 * :scale)::int), line, quantity, quantity * price(part), pick(0, 10) / 100.0, pick(0, 8) / 100.0,
    CASE WHEN received > '1995-06-17' THEN 'N' WHEN random() < 0.5 THEN 'R' ELSE 'A' END, CASE WHEN shipped > '1995-06-17' THEN 'O' ELSE 'F' END, shipped, o_orderdate + pick(30, 90),
    received, (array['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])[pick(1, 4)],
    (array['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])[pick(1, 7)], some_words()
    FROM (SELECT *, shipped + pick(1, 30) AS received FROM (
        SELECT *, pick(1, (200000 * :scale)::int) AS part, pick(1, 50) AS quantity, o_orderdate + pick(1, 121) AS shipped
        FROM draft, generate_series(1, lines) line) l) l;
INSERT INTO orders SELECT o_orderkey, customer - (customer % 3 = 0)::int, status, total, o_orderdate,
    (array['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'])[pick(1, 5)], 'Clerk#' || lpad(pick(1, (1000 * :scale)::int)::text, 9, '0'), 0, some_words()
    FROM (SELECT o_orderkey, o_orderdate, pick(1, (150000 * :scale)::int) AS customer, status, total FROM draft JOIN (
        SELECT l_orderkey, CASE WHEN min(l_linestatus) = max(l_linestatus) THEN min(l_linestatus) ELSE 'P' END AS status,
            sum(round(l_extendedprice * (1 + l_tax) * (1 - l_discount), 2)) AS total FROM lineitem GROUP BY 1) l ON l_orderkey = o_orderkey) o ORDER BY 1;
DROP TABLE draft;
