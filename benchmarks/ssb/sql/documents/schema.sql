-- Each row of the relational form as one document, its column names as keys.
CREATE TABLE date (doc jsonb NOT NULL);
CREATE TABLE supplier (doc jsonb NOT NULL);
CREATE TABLE customer (doc jsonb NOT NULL);
CREATE TABLE part (doc jsonb NOT NULL);
CREATE TABLE lineorder (doc jsonb NOT NULL);
