//! Parquet files that we write: read back by parquet's reader and by ours they have the rows and the statistics of their batches, whatever the
//! numbers are and however the rows are cut.

use std::sync::Arc;

use amax_arrow::ParquetFile;
use amax_format::Compression as Squeezed;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;

/// A file of arrays, of which each has a row group if they are `apart`.
fn file(fields: Vec<Field>, parts: &[Vec<ArrayRef>], squeezed: Squeezed, apart: bool) -> Bytes {
    let compression = match squeezed {
        Squeezed::None => Compression::UNCOMPRESSED,
        Squeezed::Snappy => Compression::SNAPPY,
        _ => Compression::ZSTD(ZstdLevel::default()),
    };
    let properties = WriterProperties::builder().set_compression(compression).build();
    let options = ArrowWriterOptions::new().with_properties(properties);
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let mut bytes = Vec::new();
    let mut file = ParquetFile::new(&mut bytes, schema, options, squeezed).unwrap();
    let mut rows = 0;
    for part in parts {
        file.write(part).unwrap();
        rows += part[0].len();
        assert_eq!(file.rows(), rows);
        assert!(file.memory_size() > 0);
        if apart {
            file.flush().unwrap();
            assert_eq!((file.rows(), file.memory_size()), (0, 0));
            rows = 0;
        }
    }
    file.finish().unwrap();
    drop(file);
    bytes.into()
}

/// What parquet's reader has of it, in one batch.
fn read(file: &Bytes) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).unwrap();
    let rows = builder.metadata().file_metadata().num_rows() as usize;
    let schema = Arc::clone(builder.schema());
    let mut batches = builder.with_batch_size(rows.max(1)).build().unwrap();
    batches
        .next()
        .map_or_else(|| RecordBatch::new_empty(schema), Result::unwrap)
}

fn metadata(file: &Bytes) -> ParquetMetaData {
    let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    reader.try_parse(file).unwrap();
    reader.finish().unwrap()
}

fn encodings(file: &Bytes, column: usize) -> Vec<Encoding> {
    metadata(file).row_group(0).column(column).encodings().collect()
}

fn of_numbers(numbers: &[Option<i64>]) -> (Field, ArrayRef) {
    (
        Field::new("n", DataType::Int64, true),
        Arc::new(Int64Array::from(numbers.to_vec())),
    )
}

/// A file of one column of numbers, in parts of so many rows.
fn numbers(numbers: &[Option<i64>], part: usize, squeezed: Squeezed) -> Bytes {
    let (field, array) = of_numbers(numbers);
    let parts = (0..numbers.len()).step_by(part);
    let parts: Vec<Vec<ArrayRef>> = parts
        .map(|from| vec![array.slice(from, part.min(numbers.len() - from))])
        .collect();
    file(vec![field], &parts, squeezed, false)
}

/// The same numbers, with the same bounds: of all, and of each page.
fn are_there(expected: &[Option<i64>], file: &Bytes) {
    let batch = read(file);
    let found = batch.column(0).as_primitive::<arrow_array::types::Int64Type>();
    assert!(found.iter().eq(expected.iter().copied()));
    let metadata = metadata(file);
    let group = metadata.row_group(0);
    let statistics = group.column(0).statistics().unwrap();
    let bytes = |number: Option<i64>| number.map(|number| number.to_le_bytes().to_vec());
    let least = |numbers: &[Option<i64>]| numbers.iter().flatten().min().copied();
    let greatest = |numbers: &[Option<i64>]| numbers.iter().flatten().max().copied();
    let nulls = |numbers: &[Option<i64>]| numbers.iter().filter(|number| number.is_none()).count();
    assert_eq!(statistics.min_bytes_opt().map(<[u8]>::to_vec), bytes(least(expected)));
    assert_eq!(
        statistics.max_bytes_opt().map(<[u8]>::to_vec),
        bytes(greatest(expected))
    );
    assert_eq!(statistics.null_count_opt(), Some(nulls(expected) as u64));
    let index = metadata.page_index_for_row_group(0);
    let pages = index.offset_index(0).unwrap().page_locations().clone();
    let index = index.column_index(0).unwrap();
    let starts: Vec<usize> = pages.iter().map(|page| page.first_row_index as usize).collect();
    for (page, &start) in starts.iter().enumerate() {
        let rows = &expected[start..starts.get(page + 1).copied().unwrap_or(expected.len())];
        let parquet::file::page_index::column_index::ColumnIndexMetaData::INT64(typed) = &index else {
            panic!("an index of numbers")
        };
        assert_eq!(typed.min_value(page).copied(), least(rows));
        assert_eq!(typed.max_value(page).copied(), greatest(rows));
        assert_eq!(index.null_count(page), Some(nulls(rows) as i64));
    }
}

/// What columns may have, and how it is stored.
fn kinds(count: i64) -> Vec<(Vec<Option<i64>>, Option<Encoding>)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut of = |make: &mut dyn FnMut(&mut fastrand::Rng, i64) -> Option<i64>| -> Vec<Option<i64>> {
        (0..count).map(|at| make(&mut random, at)).collect()
    };
    vec![
        (of(&mut |_, at| Some(at * 3)), Some(Encoding::DELTA_BINARY_PACKED)),
        (
            of(&mut |random, _| Some(random.i64(0..1 << 40))),
            Some(Encoding::DELTA_BINARY_PACKED),
        ),
        (of(&mut |random, _| Some(random.i64(..))), None),
        (
            of(&mut |random, _| Some(*random.choice(&[i64::MIN, -1, 0, i64::MAX]).unwrap())),
            None,
        ),
        (
            of(&mut |random, _| Some(random.i64(-3..9) * 1000)),
            Some(Encoding::RLE_DICTIONARY),
        ),
        (
            of(&mut |random, _| random.bool().then(|| random.i64(0..50))),
            Some(Encoding::RLE_DICTIONARY),
        ),
        (
            of(&mut |random, at| (at % 1000 < 500).then(|| random.i64(0..1 << 30))),
            Some(Encoding::DELTA_BINARY_PACKED),
        ),
        (of(&mut |_, at| Some(at / 1000)), None),
        (of(&mut |_, _| Some(-7)), None),
        (of(&mut |_, _| None), Some(Encoding::PLAIN)),
        // Few at first, and then many.
        (
            of(&mut |random, at| Some(if at < 17_000 { at % 5 } else { random.i64(0..200_000) })),
            None,
        ),
        (
            of(&mut |random, at| Some(if at < 17_000 { at % 5 } else { random.i64(..) })),
            None,
        ),
        // The same again and again, as of lines of an order.
        (
            of(&mut |_, at| Some((at / 4).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed()) >> 24)),
            None,
        ),
    ]
}

#[test]
fn numbers_of_all_kinds() {
    for count in [0, 1, 2, 31, 33, 129, 5000, 16_384, 40_001] {
        for (kind, (values, encoding)) in kinds(count).into_iter().enumerate() {
            for squeezed in [Squeezed::Zstd(1), Squeezed::None, Squeezed::Snappy] {
                let file = numbers(&values, 7001, squeezed);
                if count > 0 {
                    are_there(&values, &file);
                }
                if let (true, Some(encoding)) = (count >= 5000, encoding) {
                    assert!(encodings(&file, 0).contains(&encoding), "{kind}, {count} numbers");
                }
            }
        }
    }
}

/// Where differences or a dictionary take more than numbers that are compressed, these are it.
#[test]
fn what_repeats_is_compressed() {
    let count = 100_000;
    let of = |values: &[Option<i64>], squeezed| numbers(values, 65_536, squeezed).len();
    let mut kinds = kinds(count);
    let (lines, _) = kinds.pop().unwrap();
    assert!(3 * of(&lines, Squeezed::Zstd(1)) < of(&lines, Squeezed::None));
    // And what does not is no larger than it is.
    let (random, _) = &kinds[2];
    assert!(of(random, Squeezed::Zstd(1)) < 8 * count as usize + 4096);
    // Six bits each.
    let few: Vec<_> = (0..count).map(|at| Some(at * at % 61)).collect();
    assert!(of(&few, Squeezed::None) < 6 * count as usize / 8 + 2048);
}

/// Files are hardly larger than parquet's writer makes them of compressed numbers, and mostly smaller.
#[test]
fn no_larger_than_numbers_that_are_compressed() {
    let mut random = fastrand::Rng::with_seed(2);
    let mut walk = 0;
    let mut others: Vec<Vec<Option<i64>>> = vec![
        // A clock, and one that stands still now and then; keys of few; a step in long runs; what comes around.
        (0..131_072)
            .map(|at| Some(1_700_000_000_000_000 + at * 1_000 + random.i64(0..900)))
            .collect(),
        (0..131_072)
            .map(|_| {
                Some({
                    walk += random.i64(0..3) / 2 * random.i64(0..5000);
                    walk
                })
            })
            .collect(),
        (0..131_072)
            .map(|_| Some(random.i64(0..300) * random.i64(0..300)))
            .collect(),
        (0..131_072).map(|at| Some(at / 5000 * 77)).collect(),
        (0..131_072).map(|at| Some((at % 613) * 1_000_003)).collect(),
        (0..131_072).map(|at| (at % 100 == 0).then_some(at)).collect(),
        (0..131_072).map(|at| (at % 3 > 0).then_some(at % 7)).collect(),
    ];
    others.extend(kinds(131_072).into_iter().map(|(numbers, _)| numbers));
    for (kind, values) in others.iter().enumerate() {
        let (field, array) = of_numbers(values);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_dictionary_enabled(false)
            .build();
        let mut theirs = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        theirs.write(&batch).unwrap();
        let theirs = theirs.into_inner().unwrap().len();
        let ours = numbers(values, 65_536, Squeezed::Zstd(1)).len();
        assert!(10 * ours <= 11 * theirs + 5_000, "{kind}: {ours} bytes for {theirs}");
    }
}

fn texts(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(texts.iter().copied().collect::<DictionaryArray<Int32Type>>())
}

fn plain(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(texts.iter().copied().collect::<StringArray>())
}

/// However texts come, they are the same texts.
#[test]
fn texts_of_dictionaries() {
    let field = || vec![Field::new("s", DataType::Utf8, true)];
    let of =
        |count: usize, of: &dyn Fn(usize) -> Option<String>| -> Vec<Option<String>> { (0..count).map(of).collect() };
    let long = "x".repeat(65);
    let cases = [
        of(50_000, &|at| (at % 7 != 3).then(|| format!("text {}", at % 11))),
        of(50_000, &|at| {
            Some(["same", "other"][usize::from(at > 40_000)].to_owned())
        }),
        of(50_000, &|_| None),
        of(10, &|_| Some(String::new())),
        of(20_000, &|at| Some(format!("{}{}", at % 2, long))),
        // Too many for a dictionary.
        of(20_000, &|at| Some(format!("another text {at}"))),
    ];
    for (case, rows) in cases.iter().enumerate() {
        let rows: Vec<Option<&str>> = rows.iter().map(Option::as_deref).collect();
        let parts: Vec<&[Option<&str>]> = rows.chunks(rows.len().div_ceil(3)).collect();
        let coded: Vec<Vec<ArrayRef>> = parts.iter().map(|part| vec![texts(part)]).collect();
        let mixed: Vec<Vec<ArrayRef>> = parts
            .iter()
            .enumerate()
            .map(|(at, part)| vec![if at == 1 { plain(part) } else { texts(part) }])
            .collect();
        for (way, parts) in [coded, mixed].iter().enumerate() {
            for squeezed in [Squeezed::Zstd(1), Squeezed::None] {
                let file = file(field(), parts, squeezed, false);
                let batch = read(&file);
                assert!(
                    batch.column(0).as_string::<i32>().iter().eq(rows.iter().copied()),
                    "{case}, {way}"
                );
                let metadata = metadata(&file);
                let statistics = metadata.row_group(0).column(0).statistics().unwrap();
                let nulls = rows.iter().filter(|text| text.is_none()).count();
                assert_eq!(statistics.null_count_opt(), Some(nulls as u64));
                if case != 4 {
                    let least = rows.iter().flatten().min().map(|text| text.as_bytes());
                    let greatest = rows.iter().flatten().max().map(|text| text.as_bytes());
                    assert_eq!(
                        (statistics.min_bytes_opt(), statistics.max_bytes_opt()),
                        (least, greatest),
                        "{case}, {way}"
                    );
                }
            }
        }
    }
}

/// Of the texts of a dictionary that no row has, nothing is in the file.
#[test]
fn texts_that_no_row_has() {
    let values = Arc::new(StringArray::from(vec!["a secret", "b", "zzz"]));
    let array: ArrayRef = Arc::new(DictionaryArray::new(Int32Array::from(vec![1; 100]), values));
    let file = file(
        vec![Field::new("s", DataType::Utf8, true)],
        &[vec![array]],
        Squeezed::None,
        false,
    );
    let has = |text: &[u8]| file.windows(text.len()).any(|part| part == text);
    assert!(!has(b"secret") && !has(b"zzz"));
    let metadata = metadata(&file);
    let statistics = metadata.row_group(0).column(0).statistics().unwrap();
    assert_eq!(statistics.max_bytes_opt(), Some(&b"b"[..]));
}

/// Arrays of all types that are encoded by us, beside others.
fn arrays(numbers: &[Option<i64>]) -> Vec<(&'static str, ArrayRef)> {
    let small = || numbers.iter().map(|number| number.map(|number| number as i32));
    let decimals = |bound: i128| {
        numbers
            .iter()
            .map(move |number| number.map(|number| i128::from(number) % bound))
            .collect::<Decimal128Array>()
    };
    let names: Vec<Option<String>> = numbers
        .iter()
        .map(|number| number.map(|number| (number % 9).to_string()))
        .collect();
    vec![
        (
            "a",
            Arc::new(
                small()
                    .map(|number| number.map(|number| number as i16))
                    .collect::<Int16Array>(),
            ),
        ),
        ("b", Arc::new(small().collect::<Int32Array>())),
        ("c", Arc::new(numbers.iter().copied().collect::<Int64Array>())),
        ("d", Arc::new(small().collect::<Date32Array>())),
        (
            "e",
            Arc::new(numbers.iter().copied().collect::<Time64MicrosecondArray>()),
        ),
        (
            "f",
            Arc::new(
                numbers
                    .iter()
                    .copied()
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("UTC"),
            ),
        ),
        (
            "g",
            Arc::new(decimals(1_000_000_000).with_precision_and_scale(9, 2).unwrap()),
        ),
        (
            "h",
            Arc::new(
                decimals(1_000_000_000_000_000_000)
                    .with_precision_and_scale(18, 0)
                    .unwrap(),
            ),
        ),
        (
            "i",
            Arc::new(decimals(i128::MAX).with_precision_and_scale(38, 0).unwrap()),
        ),
        (
            "j",
            Arc::new(
                numbers
                    .iter()
                    .map(|number| number.map(|number| number as f64))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "k",
            Arc::new(names.iter().map(Option::as_deref).collect::<StringArray>()),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn columns_of_all_types(
        numbers in prop::collection::vec(
            prop_oneof![
                4 => (-5_i64..5).prop_map(Some),
                2 => any::<i64>().prop_map(Some),
                1 => Just(Some(i64::MIN)),
                1 => Just(Some(i64::from(i32::MAX))),
                2 => Just(None),
            ],
            1..400,
        ),
        cuts in prop::collection::vec(0_usize..400, 0..5),
        apart: bool,
        squeezed in prop_oneof![Just(Squeezed::None), Just(Squeezed::Snappy), Just(Squeezed::Zstd(1))],
    ) {
        let arrays = arrays(&numbers);
        let fields: Vec<Field> = arrays.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        let mut ends: Vec<usize> = cuts.into_iter().filter(|&cut| cut > 0 && cut < numbers.len()).chain([numbers.len()]).collect();
        ends.sort_unstable();
        ends.dedup();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let parts: Vec<Vec<ArrayRef>> = starts.zip(&ends)
            .map(|(from, to)| arrays.iter().map(|(_, array)| array.slice(from, to - from)).collect())
            .collect();
        let found = read(&file(fields, &parts, squeezed, apart));
        for ((name, array), found) in arrays.iter().zip(found.columns()) {
            prop_assert_eq!(array, found, "{}", name);
        }
    }
}

/// Rows that may not be NULL have no levels.
#[test]
fn columns_without_nulls() {
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(0..20_000));
    let unit = DataType::Timestamp(TimeUnit::Microsecond, None);
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(
        (0..20_000).map(|at| at * 77),
    ));
    let fields = vec![Field::new("n", DataType::Int64, false), Field::new("t", unit, false)];
    let found = read(&file(
        fields,
        &[vec![array.clone(), times.clone()]],
        Squeezed::None,
        false,
    ));
    assert_eq!(found.columns(), &[array, times]);
}
