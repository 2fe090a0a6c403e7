//! Parquet files: the same rows as of the same batches in Arrow, and damage anywhere, which may give an error or other rows, but
//! never a panic.

mod support;

use std::sync::Arc;

use amax_arrow::{Batches, Columns, Error, Parquet, Plain, Rows, Stream, Target, Unwritten};
use arrow_array::builder::{
    FixedSizeListBuilder, Int32Builder, LargeListBuilder, ListBuilder, ListViewBuilder, MapBuilder, StringBuilder,
    StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ArrowWriter, encode_arrow_schema};
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{PrimitiveTypeBuilder, Type};
use proptest::prelude::*;
use support::{Memory, Way, all, damage, is_refused, lines, of_column, quietly};

fn batch(start: i64, rows: i64) -> RecordBatch {
    let numbers = start..start + rows;
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.extend(
        numbers
            .clone()
            .map(|n| (n % 7 != 0).then_some(["red", "green", "blue"][n as usize % 3])),
    );
    let mut list = ListBuilder::new(Int32Builder::new());
    numbers.clone().for_each(|n| match n % 5 {
        0 => list.append_null(),
        _ => list.append_value((0..n % 4).map(|n| (n != 2).then_some(n as i32))),
    });
    let part: ArrayRef = Arc::new(BooleanArray::from_iter(
        numbers.clone().map(|n| (n % 5 != 0).then_some(n % 2 == 0)),
    ));
    let price = Decimal128Array::from_iter_values(numbers.clone().map(i128::from));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "number",
            Arc::new(Int64Array::from_iter(
                numbers.clone().map(|n| (n % 9 != 0).then_some(n)),
            )),
        ),
        ("price", Arc::new(price.with_precision_and_scale(9, 2).unwrap())),
        (
            "ratio",
            Arc::new(Float64Array::from_iter_values(numbers.clone().map(|n| n as f64 / 3.0))),
        ),
        (
            "at",
            Arc::new(TimestampNanosecondArray::from_iter_values(
                numbers.clone().map(|n| n * 1_000_000),
            )),
        ),
        (
            "text",
            Arc::new(StringArray::from_iter_values(
                numbers.clone().map(|n| format!("text {n}")),
            )),
        ),
        (
            "bytes",
            Arc::new(BinaryArray::from_iter_values(numbers.clone().map(|n| n.to_le_bytes()))),
        ),
        ("color", Arc::new(dictionary.finish())),
        ("list", Arc::new(list.finish())),
        (
            "part",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("b", DataType::Boolean, true)),
                part,
            )])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn written(batches: &[RecordBatch], properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

fn properties() -> Vec<WriterProperties> {
    let new = WriterProperties::builder;
    vec![
        new().build(),
        new().set_compression(Compression::SNAPPY).build(),
        new().set_compression(Compression::ZSTD(ZstdLevel::default())).build(),
        new()
            .set_compression(Compression::LZ4_RAW)
            .set_data_page_row_count_limit(10)
            .build(),
        new()
            .set_compression(Compression::GZIP(parquet::basic::GzipLevel::default()))
            .build(),
        new()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_dictionary_enabled(false)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("bytes".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
            .set_column_encoding("number".into(), Encoding::DELTA_BINARY_PACKED)
            .build(),
        new()
            .set_dictionary_enabled(false)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("bytes".into(), Encoding::DELTA_BYTE_ARRAY)
            .set_column_encoding("ratio".into(), Encoding::BYTE_STREAM_SPLIT)
            .build(),
    ]
}

fn of_arrow(batches: &[RecordBatch], columns: &[usize]) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    let stream = writer.into_inner().unwrap();
    lines(Stream::open(&stream[..]).unwrap(), columns).unwrap()
}

#[test]
fn files_have_the_rows_of_their_batches() {
    let batches = [batch(0, 40), batch(1000, 25)];
    let columns: Vec<usize> = (0..9).collect();
    let expected = of_arrow(&batches, &columns);
    for properties in properties() {
        assert_eq!(all(&written(&batches, properties)).unwrap(), expected);
    }
    // In another order, some of them.
    let file = written(&batches, properties().swap_remove(1));
    for columns in [&[4, 0][..], &[8, 7, 2], &[3], &[]] {
        let file = Parquet::open(Memory::of(&file)).unwrap();
        let text = lines(file, columns).unwrap();
        assert_eq!(text, of_arrow(&batches, columns), "{columns:?}");
    }
}

#[test]
fn only_what_is_wanted_is_read() {
    let batches = [batch(0, 400), batch(1000, 400)];
    let bytes = written(&batches, WriterProperties::builder().build());
    let memory = Memory::of(&bytes);
    let read = Arc::clone(&memory.read);
    lines(Parquet::open(memory).unwrap(), &[0]).unwrap();
    let sum: usize = read.lock().unwrap().iter().map(|(_, count)| count).sum();
    let footer = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    assert!(sum < footer + (bytes.len() - footer) / 2, "{sum} of {}", bytes.len());
}

/// A leaf of a column called v, required.
fn leaf(physical: Physical) -> PrimitiveTypeBuilder<'static> {
    Type::primitive_type_builder("v", physical).with_repetition(Repetition::REQUIRED)
}

/// A file of one column, written without Arrow; `hint` is the type that it says its values had. `levels` are those of repeated ones.
fn of_leaf<T: parquet::data_type::DataType>(
    leaf: Type,
    values: &[T::T],
    properties: WriterPropertiesBuilder,
    hint: Option<DataType>,
    levels: Option<(&[i16], &[i16])>,
) -> Vec<u8> {
    let hint = hint.map(|hint| KeyValue {
        key: ARROW_SCHEMA_META_KEY.into(),
        value: Some(encode_arrow_schema(&Schema::new(vec![Field::new("v", hint, true)]))),
    });
    let properties = properties.set_key_value_metadata(hint.map(|hint| vec![hint])).build();
    of_column::<T>(leaf, values, properties, levels)
}

/// The rows of a file's only column as they go to a column.
fn as_target(bytes: &[u8], target: &Target) -> Result<String, Error> {
    let mut file = Parquet::open(Memory::of(bytes))?;
    let mut text = Vec::new();
    while let Some(batch) = file.next(&[0])? {
        let mut rows = Rows::new(&batch, std::slice::from_ref(target)).unwrap();
        for row in 0..rows.len() {
            rows.write(row, &mut text).unwrap();
        }
    }
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn intervals_have_all_their_parts() {
    let value: Vec<u8> = [14_u32, 3, 1500].iter().flat_map(|part| part.to_le_bytes()).collect();
    let leaf = leaf(Physical::FIXED_LEN_BYTE_ARRAY)
        .with_length(12)
        .with_converted_type(ConvertedType::INTERVAL)
        .build()
        .unwrap();
    let values = [FixedLenByteArray::from(value)];
    let bytes = of_leaf::<FixedLenByteArrayType>(leaf, &values, WriterProperties::builder(), None, None);
    let batch = Parquet::open(Memory::of(&bytes)).unwrap().next(&[0]).unwrap().unwrap();
    assert!(Columns::of(&batch, &[(Plain::Bytes, true)]).is_none());
    assert_eq!(as_target(&bytes, &Target::Micros).unwrap(), "P14M3DT0M1.5S\n");
}

/// As Spark and Impala write them: of any year, in UTC.
#[test]
fn old_timestamps_are_of_any_year() {
    let int96 = |day: u32, nanos: u64| {
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, day);
        value
    };
    let file = |values: &[Int96], hint| {
        let leaf = leaf(Physical::INT96).build().unwrap();
        of_leaf::<Int96Type>(leaf, values, WriterProperties::builder(), hint, None)
    };
    let values = [
        int96(2_440_588, 1_999),
        int96(2_440_587, 86_399_999_999_999),
        int96(2_816_788, 0),
        // Before and beyond what nanoseconds since 1970 hold in 64 bits.
        int96(1_721_426, 0),
    ];
    let plain = "1970-01-01T00:00:00.000001\n1969-12-31T23:59:59.999999\n3000-01-01T00:00:00\n0001-01-01T00:00:00\n";
    let zoned = plain.replace('\n', "+00:00\n");
    assert_eq!(as_target(&file(&values, None), &Target::Timestamp).unwrap(), plain);
    assert_eq!(as_target(&file(&values, None), &Target::Text).unwrap(), plain);
    assert_eq!(as_target(&file(&values, None), &Target::TimestampTz).unwrap(), zoned);
    // With the zone that they had when they were written; without one of any other column.
    let tokyo = DataType::Timestamp(TimeUnit::Nanosecond, Some("Asia/Tokyo".into()));
    assert_eq!(as_target(&file(&values, Some(tokyo)), &Target::Text).unwrap(), zoned);
    let text = as_target(
        &file(&values, Some(DataType::Timestamp(TimeUnit::Nanosecond, None))),
        &Target::Text,
    );
    assert_eq!(text.unwrap(), plain);
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values([1]));
    let micros = RecordBatch::try_from_iter([("v", micros)]).unwrap();
    let micros = written(&[micros], WriterProperties::builder().build());
    assert_eq!(
        as_target(&micros, &Target::TimestampTz).unwrap(),
        "1970-01-01T00:00:00.000001\n"
    );
    // As columns, both are counted from the same moment.
    let bytes = file(&values, None);
    for plain in [Plain::Timestamp, Plain::TimestampTz] {
        let batch = Parquet::open(Memory::of(&bytes)).unwrap().next(&[0]).unwrap().unwrap();
        assert!(Columns::of(&batch, &[(plain, false)]).is_some(), "{plain:?}");
    }
    // What goes around is no other year.
    for wrong in [int96(i32::MAX as u32, 0), int96(i32::MIN as u32, 0)] {
        let found = as_target(&file(&[wrong], None), &Target::Text);
        assert!(
            matches!(&found, Err(Error::Damaged(text)) if text.contains("beyond all years")),
            "{found:?}"
        );
    }
}

/// What may not be NULL is, within what is: text, decimals and small integers, in groups and in lists of them.
#[test]
fn required_values_of_nothing() {
    let message = "message schema {
        optional group a { required group b { required binary c (STRING); required binary d (DECIMAL(9,2)); required int32 e (INTEGER(8,true)); } }
        optional group l (LIST) { repeated group list { optional group element { required group b { required binary c (STRING); } } } }
    }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    // Of two rows the first has a value; and a list of one that is NULL, and one that is not.
    let levels = [1, 0];
    let texts = |column: &mut SerializedColumnWriter<'_>, value: &[u8]| {
        let values = [ByteArray::from(value.to_vec())];
        column
            .typed::<ByteArrayType>()
            .write_batch(&values, Some(&levels), None)
            .unwrap();
    };
    let mut c = group.next_column().unwrap().unwrap();
    texts(&mut c, b"text");
    c.close().unwrap();
    let mut d = group.next_column().unwrap().unwrap();
    texts(&mut d, &[0xff, 0x38]);
    d.close().unwrap();
    let mut e = group.next_column().unwrap().unwrap();
    e.typed::<parquet::data_type::Int32Type>()
        .write_batch(&[-7], Some(&levels), None)
        .unwrap();
    e.close().unwrap();
    let mut l = group.next_column().unwrap().unwrap();
    let values = [ByteArray::from("in a list")];
    l.typed::<ByteArrayType>()
        .write_batch(&values, Some(&[2, 3, 0]), Some(&[0, 1, 0]))
        .unwrap();
    l.close().unwrap();
    group.close().unwrap();
    let bytes = writer.into_inner().unwrap();
    let text = String::from_utf8(all(&bytes).unwrap()).unwrap();
    let first = "{\"b\":{\"c\":\"text\",\"d\":-2.00,\"e\":-7}}\t[null,{\"b\":{\"c\":\"in a list\"}}]";
    assert_eq!(text, format!("{first}\n\\N\t\\N\n"));
}

/// 300 is no byte.
#[test]
fn integers_are_of_their_type() {
    for (type_, fits, does_not) in [
        (ConvertedType::INT_8, i32::from(i8::MIN), 128),
        (ConvertedType::INT_16, i32::from(i16::MIN), 32_768),
        (ConvertedType::UINT_8, 255, 300),
        (ConvertedType::UINT_16, 65_535, -1),
    ] {
        let leaf = || leaf(Physical::INT32).with_converted_type(type_).build().unwrap();
        let of = |value| {
            let bytes =
                of_leaf::<parquet::data_type::Int32Type>(leaf(), &[value], WriterProperties::builder(), None, None);
            all(&bytes)
        };
        assert_eq!(of(fits).unwrap(), format!("{fits}\n").as_bytes());
        let found = of(does_not);
        assert!(
            matches!(&found, Err(Error::Damaged(text)) if text.contains("of its type")),
            "{found:?}"
        );
    }
}

/// Parquet lets keys be NULL, documents do not.
#[test]
fn keys_are_not_null() {
    let file = |key: &str| {
        let message = format!(
            "message schema {{ optional group m (MAP) {{ repeated group key_value {{ optional {key}; optional int32 value; }} }} }}"
        );
        let schema = Arc::new(parse_message_type(&message).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        // One entry, whose key alone is NULL.
        let mut keys = group.next_column().unwrap().unwrap();
        let levels = (Some(&[2][..]), Some(&[0][..]));
        match keys.untyped() {
            ColumnWriter::Int32ColumnWriter(keys) => keys.write_batch(&[], levels.0, levels.1),
            ColumnWriter::ByteArrayColumnWriter(keys) => keys.write_batch(&[], levels.0, levels.1),
            _ => panic!("another type"),
        }
        .unwrap();
        keys.close().unwrap();
        let mut values = group.next_column().unwrap().unwrap();
        let of_values = values.typed::<parquet::data_type::Int32Type>();
        of_values.write_batch(&[1], Some(&[3]), Some(&[0])).unwrap();
        values.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    };
    let batch = Parquet::open(Memory::of(&file("int32 key")))
        .unwrap()
        .next(&[0])
        .unwrap()
        .unwrap();
    let mut rows = Rows::new(&batch, &[Target::Json]).unwrap();
    match rows.write(0, &mut Vec::new()) {
        Err((0, Unwritten::Unfit(unfit))) => assert!(unfit.detail.contains("key that is NULL"), "{unfit:?}"),
        other => panic!("{other:?}"),
    }
    let found = Parquet::open(Memory::of(&file("binary key (STRING)")))
        .unwrap()
        .next(&[0]);
    assert!(matches!(&found, Err(Error::Damaged(_))), "{found:?}");
}

/// Whatever says that they are text, and however they are stored.
#[test]
fn texts_are_utf8() {
    let byte_array = || leaf(Physical::BYTE_ARRAY);
    let of_type = |converted| (byte_array().with_converted_type(converted), None);
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
    let list = DataType::List(Arc::new(Field::new("v", DataType::Utf8, false)));
    let kinds = [
        of_type(ConvertedType::UTF8),
        of_type(ConvertedType::JSON),
        of_type(ConvertedType::ENUM),
        (byte_array().with_logical_type(Some(LogicalType::Json)), None),
        (byte_array(), Some(DataType::Utf8)),
        (byte_array(), Some(dictionary)),
        (byte_array().with_repetition(Repetition::REPEATED), Some(list)),
    ];
    // Half a letter each, of which a page makes a whole one; and none.
    let cases: [(&[&[u8]], bool); 4] = [
        (&["é".as_bytes(), b"long enough to be somewhere else", b""], true),
        (&[b"\xc3", b"\xa9"], false),
        (
            &[b"in front of half a letter \xc3", b"\xa9 and behind it there is more"],
            false,
        ),
        (&[b"x", b"\xff"], false),
    ];
    let new = || WriterProperties::builder().set_dictionary_enabled(false);
    for (leaf, hint) in kinds {
        let leaf = leaf.build().unwrap();
        let is_repeated = leaf.get_basic_info().repetition() == Repetition::REPEATED;
        for properties in [
            WriterProperties::builder(),
            new(),
            new().set_encoding(Encoding::DELTA_LENGTH_BYTE_ARRAY),
            new().set_encoding(Encoding::DELTA_BYTE_ARRAY),
            new().set_writer_version(WriterVersion::PARQUET_2_0),
        ] {
            for (values, is_text) in cases {
                let values: Vec<ByteArray> = values.iter().map(|value| value.to_vec().into()).collect();
                let definitions = vec![1; values.len()];
                let repetitions: Vec<i16> = (0..values.len()).map(|at| i16::from(at > 0)).collect();
                let levels = is_repeated.then_some((&definitions[..], &repetitions[..]));
                let file = of_leaf::<ByteArrayType>(leaf.clone(), &values, properties.clone(), hint.clone(), levels);
                let found = all(&file);
                let is_refused = |text: &str| text.contains("\"v\"") && text.contains("UTF-8");
                match &found {
                    Ok(_) => assert!(is_text, "{leaf:?}"),
                    Err(Error::Damaged(text)) => assert!(!is_text && is_refused(text), "{leaf:?}: {text}"),
                    Err(error) => panic!("{leaf:?}: {error}"),
                }
            }
        }
    }
}

/// As long as they need to be, in a dictionary or not; and with the scale of their column, whatever else is said of it.
#[test]
fn decimals_are_what_their_column_says() {
    let of_bytes = |values: &[&[u8]], properties, precision, hint| {
        let leaf = leaf(Physical::BYTE_ARRAY)
            .with_converted_type(ConvertedType::DECIMAL)
            .with_precision(precision)
            .with_scale(2)
            .build()
            .unwrap();
        let values: Vec<ByteArray> = values.iter().map(|value| value.to_vec().into()).collect();
        as_target(
            &of_leaf::<ByteArrayType>(leaf, &values, properties, hint, None),
            &Target::Other,
        )
    };
    let new = WriterProperties::builder;
    let values: [&[u8]; 4] = [&[125], &[0xff], &[0x01, 0, 0], &[0xff; 16]];
    for properties in [new(), new().set_dictionary_enabled(false)] {
        assert_eq!(
            of_bytes(&values, properties.clone(), 38, None).unwrap(),
            "1.25\n-0.01\n655.36\n-0.01\n"
        );
        assert_eq!(
            of_bytes(&values, properties, 76, None).unwrap(),
            "1.25\n-0.01\n655.36\n-0.01\n"
        );
    }
    assert_eq!(
        of_bytes(&[&[0; 17], &[0x80; 1]], new(), 76, None).unwrap(),
        "0.00\n-1.28\n"
    );
    for wrong in [&[0; 17][..], &[]] {
        assert!(matches!(of_bytes(&[wrong], new(), 38, None), Err(Error::Damaged(_))));
    }
    for hint in [
        DataType::Decimal32(9, 4),
        DataType::Decimal64(18, 0),
        DataType::Decimal256(76, 70),
    ] {
        assert_eq!(of_bytes(&values[..1], new(), 9, Some(hint.clone())).unwrap(), "1.25\n");
        let leaf = leaf(Physical::INT32)
            .with_converted_type(ConvertedType::DECIMAL)
            .with_precision(9)
            .with_scale(2)
            .build()
            .unwrap();
        let file = of_leaf::<parquet::data_type::Int32Type>(leaf, &[125], new(), Some(hint), None);
        assert_eq!(as_target(&file, &Target::Other).unwrap(), "1.25\n");
    }
}

/// Of whatever kind a list was, and what is in it.
#[test]
fn nested_columns_have_their_values() {
    let texts = StringBuilder::new;
    let mut large = LargeListBuilder::new(texts());
    let mut fixed = FixedSizeListBuilder::new(texts(), 2);
    let mut views = ListViewBuilder::new(texts());
    let mut maps = MapBuilder::new(None, texts(), ListBuilder::new(texts()));
    for row in 0..50 {
        let value = |n: usize| (!n.is_multiple_of(3)).then(|| format!("text {n} of row {row}, which is long"));
        large.append_option((row % 4 > 0).then(|| (0..row % 5).map(value)));
        (row..row + 2).for_each(|n| fixed.values().append_option(value(n)));
        fixed.append(true);
        views.append_value((0..row % 3).map(value));
        for key in 0..row % 3 {
            maps.keys().append_value(format!("key {key}"));
            maps.values().append_option((key > 0).then(|| (0..3).map(value)));
        }
        maps.append(row % 6 > 0).unwrap();
    }
    let of_texts: ArrayRef = Arc::new(StringArray::from_iter(
        (0..50).map(|n| (n % 2 > 0).then(|| format!("{n}"))),
    ));
    let fields = vec![(Arc::new(Field::new("s", DataType::Utf8, true)), of_texts)];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("large", Arc::new(large.finish())),
        ("fixed", Arc::new(fixed.finish())),
        ("views", Arc::new(views.finish())),
        ("maps", Arc::new(maps.finish())),
        ("part", Arc::new(StructArray::from(fields))),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let expected = of_arrow(std::slice::from_ref(&batch), &[0, 1, 2, 3, 4]);
    for properties in properties() {
        let properties = properties.into_builder().set_max_row_group_row_count(Some(17)).build();
        assert_eq!(
            all(&written(std::slice::from_ref(&batch), properties)).unwrap(),
            expected
        );
    }
    // A list whose length is said by the Arrow schema alone.
    let endless = DataType::FixedSizeList(Arc::new(Field::new("v", DataType::Int32, false)), i32::MAX);
    let leaf = leaf(Physical::INT32)
        .with_repetition(Repetition::REPEATED)
        .build()
        .unwrap();
    let levels: (&[i16], &[i16]) = (&[0, 1, 1], &[0, 0, 1]);
    let file = of_leaf::<parquet::data_type::Int32Type>(
        leaf,
        &[7, 8],
        WriterProperties::builder(),
        Some(endless),
        Some(levels),
    );
    assert_eq!(all(&file).unwrap(), b"[]\n[7,8]\n");
}

#[test]
fn twelve_bytes_are_bytes() {
    let array: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[7_u8; 12]].into_iter()).unwrap());
    let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
    let text = all(&written(&[batch], WriterProperties::builder().build())).unwrap();
    assert_eq!(text, b"\\\\x070707070707070707070707\n");
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_an_error() {
    let file = written(&[batch(0, 5)], WriterProperties::builder().build());
    for end in 0..file.len() {
        assert!(all(&file[..end]).is_err(), "{end} of {} bytes", file.len());
    }
}

/// Every byte of small files, in one of some ways; in all of them with AMAX_DAMAGED_FILES.
#[test]
fn every_byte_may_be_another() {
    let in_all = std::env::var("AMAX_DAMAGED_FILES").is_ok();
    quietly(|| {
        for properties in properties() {
            let file = written(&[batch(0, 5), batch(10, 5)], properties);
            for at in 0..file.len() {
                let ways = [file[at] ^ 0xff, file[at] ^ 1, file[at] ^ 0x80, 0x7f];
                let ways = if in_all { &ways[..] } else { &ways[at % 4..=at % 4] };
                for &byte in ways {
                    let mut damaged = file.clone();
                    damaged[at] = byte;
                    is_refused(|| all(&damaged), &format!("byte {at} as {byte}"));
                }
            }
        }
    });
}

/// So many, or AMAX_DAMAGED_FILES.
const FILES: u64 = 20_000;

#[test]
fn damage_is_an_error_or_other_rows() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let count = number("AMAX_DAMAGED_FILES").unwrap_or(FILES);
    let seed = number("AMAX_SEED").unwrap_or(1);
    let batches = [batch(0, 40), batch(1000, 10)];
    let files: Vec<Vec<u8>> = properties()
        .into_iter()
        .map(|properties| written(&batches, properties))
        .collect();
    // A number of many bytes, as the footer and the headers of pages have them.
    let many: Way = |random, bytes, at| {
        let end = bytes.len().min(at + random.usize(1..9));
        bytes[at..end].fill(0xff);
    };
    let mut random = fastrand::Rng::with_seed(seed);
    let mut refused = 0;
    quietly(|| {
        for nth in 0..count {
            let mut file = random.choice(&files).unwrap().clone();
            damage(&mut random, &mut file, &[many]);
            refused += u64::from(is_refused(|| all(&file), &format!("file {nth} of seed {seed}")));
        }
    });
    assert!(refused > count / 4, "{refused} of {count}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_texts_and_numbers_come_back(
        rows in prop::collection::vec((any::<Option<i64>>(), any::<Option<String>>(), prop::collection::vec(any::<Option<i32>>(), 0..5)), 1..200),
        group in 1_usize..100,
        which in 0_usize..5,
    ) {
        let mut list = ListBuilder::new(Int32Builder::new());
        rows.iter().for_each(|row| list.append_value(row.2.iter().copied()));
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("a", Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0))), true),
            ("b", Arc::new(StringArray::from_iter(rows.iter().map(|row| row.1.as_deref()))), true),
            ("c", Arc::new(list.finish()), true),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let properties = properties().swap_remove(which).into_builder().set_max_row_group_row_count(Some(group)).build();
        let file = written(std::slice::from_ref(&batch), properties);
        prop_assert_eq!(all(&file).unwrap(), of_arrow(&[batch], &[0, 1, 2]));
    }
}
