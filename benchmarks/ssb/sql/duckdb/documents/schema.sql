-- DuckDB has no jsonb; its JSON is text.
CREATE TABLE date (doc JSON NOT NULL);
CREATE TABLE supplier (doc JSON NOT NULL);
CREATE TABLE customer (doc JSON NOT NULL);
CREATE TABLE part (doc JSON NOT NULL);
CREATE TABLE lineorder (doc JSON NOT NULL);
