CREATE TABLE documents (
    doc JSON(kind LowCardinality(String), commit.operation LowCardinality(String), commit.collection LowCardinality(String),
             did String, time_us UInt64) CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (doc.kind, doc.commit.operation, doc.commit.collection, doc.did, fromUnixTimestamp64Micro(doc.time_us))
