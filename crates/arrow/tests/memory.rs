//! Memory that is refused is an error, whatever is being read.

#[path = "../../memory/testing/allocator.rs"]
mod allocator;
mod support;

use std::sync::Arc;

use allocator::refuse_each;
use amax_arrow::{Batches, Error, Inference, Mixed, Nested, Nulls, Parquet};
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use support::Memory;

const ROWS: i64 = 40_000;
const TRIES: usize = 6;

fn file(properties: WriterProperties) -> Vec<u8> {
    let mut lists = ListBuilder::new(Int64Builder::new());
    (0..ROWS).for_each(|row| lists.append_value((0..row % 4).map(Some)));
    let texts =
        (0..ROWS).map(|row| (row % 7 > 0).then(|| format!("a text of row {:x}", row.wrapping_mul(0x9e37_79b9_7f4a))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "a",
            Arc::new(Int64Array::from_iter_values((0..ROWS).map(|row| row * 7919))),
        ),
        ("b", Arc::new(StringArray::from_iter(texts))),
        ("c", Arc::new(lists.finish())),
        (
            "d",
            Arc::new(Float64Array::from_iter(
                (0..ROWS).map(|row| (row % 3 > 0).then(|| row as f64 / 7.0)),
            )),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The rows of a file, and those of a column of it; None if memory ran out, nothing else may be wrong.
fn read(bytes: &[u8]) -> Option<(usize, usize)> {
    let read = || {
        let mut file = Parquet::open(Memory::of(bytes))?;
        let mut sum = (0, 0);
        while let Some(batch) = file.next(&[0, 1, 2, 3])? {
            sum = (sum.0 + batch.num_rows(), sum.1 + batch.column(2).len());
        }
        Ok(sum)
    };
    match read() {
        Ok(sum) => Some(sum),
        Err(Error::OutOfMemory(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// How many rows documents have as columns; None if memory ran out, nothing else may be wrong.
fn nested(documents: &[Vec<u8>]) -> Option<usize> {
    let work = || {
        let mut inference = Inference::new(Mixed::Text);
        documents
            .iter()
            .try_for_each(|document| inference.see(document, &mut || {}))?;
        let mut nested = Nested::new(&inference.kind(Nulls::Null));
        for document in documents {
            nested.append(Some(document))?;
        }
        Ok(nested.finish()?.len())
    };
    match work() {
        Ok(rows) => Some(rows),
        Err(amax_jsonb::Error::OutOfMemory(_)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// One test: there is one allocator.
#[test]
fn refused_memory_is_an_error() {
    let new = WriterProperties::builder;
    let plain = || new().set_dictionary_enabled(false);
    for (name, properties) in [
        ("plain", plain()),
        ("dictionaries", new().set_compression(Compression::SNAPPY)),
        ("zstd", plain().set_compression(Compression::ZSTD(ZstdLevel::default()))),
        ("gzip", plain().set_compression(Compression::GZIP(GzipLevel::default()))),
        ("lz4", plain().set_compression(Compression::LZ4)),
        (
            "delta",
            plain()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_column_encoding("b".into(), Encoding::DELTA_BYTE_ARRAY),
        ),
    ] {
        let bytes = file(properties.build());
        refuse_each(name, TRIES, &|| read(&bytes));
    }
    let document = |row| format!("{{\"a\": {row}, \"b\": \"a text of row {row}\", \"c\": [{{\"d\": {row}.5}}, null]}}");
    let documents: Vec<Vec<u8>> = (0..2 * ROWS)
        .map(|row| amax_jsonb::json::parse(&document(row)).unwrap())
        .collect();
    refuse_each("documents", TRIES, &|| nested(&documents));
}
