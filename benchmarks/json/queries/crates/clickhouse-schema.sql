CREATE TABLE documents (
    doc JSON(name String, vers String, yanked Bool, pubtime String, rust_version LowCardinality(String)) CODEC(ZSTD(1))
)
ENGINE = MergeTree
ORDER BY (doc.yanked, doc.rust_version, doc.name, doc.vers)
