//! Columns of a batch in a leaf.

use std::sync::Arc;

use amax_arrow::{Columns, Place, Plain};
use amax_format::{ColumnType, Leaf, LeafBuilder, LeafOptions, Value};
use arrow_array::builder::{StringDictionaryBuilder, StringViewBuilder};
use arrow_array::types::UInt8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int8Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray, Time64MicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_schema::{Field, Schema};

fn columns(array: &ArrayRef, place: Place) -> Option<Columns> {
    let field = Field::new("a", array.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array.clone()]).unwrap();
    Columns::of(&batch, &[place])
}

/// What a leaf has of a column, as text, whether it came at once or in parts.
fn loaded(array: ArrayRef, plain: Plain, column_type: ColumnType) -> Option<Vec<String>> {
    let columns = columns(&array, (plain, true))?;
    let all = columns.rows();
    let in_parts = |parts: &[usize]| {
        let mut builder = LeafBuilder::new(&[ColumnType::Int, column_type], LeafOptions::default());
        let mut done = 0;
        for &part in parts {
            let keys = done as u64..(done + part) as u64;
            builder
                .push_rows(keys, |column, to| match column {
                    0 => Ok(()),
                    _ => columns.fill(0, done..done + part, to),
                })
                .unwrap();
            done += part;
        }
        let image = builder.finish().unwrap();
        let leaf = Leaf::open(image.as_slice(), image.len() as u64).unwrap();
        let (nulls, column) = (leaf.column(0).unwrap(), leaf.column(1).unwrap());
        let mut buffer = Vec::new();
        let mut shown = Vec::new();
        for row in 0..all {
            assert_eq!(nulls.get(row, &mut buffer).unwrap(), Value::Null);
            shown.push(match column.get(row, &mut buffer).unwrap() {
                Value::Bytes(bytes) if column_type == ColumnType::Numeric => {
                    amax_jsonb::numeric::to_text(bytes).unwrap()
                }
                Value::Bytes(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
                other => format!("{other:?}"),
            });
        }
        shown
    };
    let at_once = in_parts(&[all]);
    assert_eq!(in_parts(&[1, all - 1]), at_once);
    Some(at_once)
}

fn fits(array: impl Array + 'static, plain: Plain) -> bool {
    columns(&(Arc::new(array) as ArrayRef), (plain, true)).is_some()
}

#[test]
fn numbers() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(-32768), None, Some(32767)]));
    let expected = ["Int(-32768)", "Null", "Int(32767)"].map(str::to_owned);
    assert_eq!(
        loaded(numbers.clone(), Plain::Int(2), ColumnType::Int).unwrap(),
        expected
    );
    assert!(columns(&numbers, (Plain::Int(2), false)).is_none());
    assert!(!fits(Int64Array::from(vec![32768]), Plain::Int(2)));
    assert!(!fits(Int64Array::from(vec![i64::from(i32::MIN) - 1]), Plain::Int(4)));
    assert!(fits(Int64Array::from(vec![i64::MIN, i64::MAX]), Plain::Int(8)));
    assert!(!fits(UInt64Array::from(vec![u64::MAX]), Plain::Int(8)));
    assert!(!fits(Float64Array::from(vec![1.0]), Plain::Int(8)));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, -f64::NAN]));
    let expected = ["Float8(-0.0)", "Float8(NaN)"];
    assert_eq!(loaded(floats, Plain::Float8, ColumnType::Float8).unwrap(), expected);
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    assert_eq!(
        loaded(flags, Plain::Bool, ColumnType::Bool).unwrap(),
        ["Bool(true)", "Bool(false)"]
    );
}

#[test]
fn decimals() {
    let decimals = |scale| {
        let array = Decimal128Array::from(vec![Some(-150), None, Some(99_999)]);
        Arc::new(array.with_precision_and_scale(10, scale).unwrap()) as ArrayRef
    };
    let of = |scale, limits| loaded(decimals(scale), Plain::Numeric(limits), ColumnType::Numeric);
    assert_eq!(of(2, None).unwrap(), ["-1.50", "Null", "999.99"]);
    assert_eq!(of(2, Some((7, 4))).unwrap(), ["-1.5000", "Null", "999.9900"]);
    assert_eq!(of(0, None).unwrap(), ["-150", "Null", "99999"]);
    // A digit too many, and decimals that would be rounded.
    assert!(of(2, Some((4, 2))).is_none());
    assert!(of(2, Some((10, 1))).is_none());
    assert!(of(-2, None).is_none());
    let bytes: ArrayRef = Arc::new(Int8Array::from(vec![5, -5]));
    let numeric = Plain::Numeric(Some((3, 2)));
    assert_eq!(loaded(bytes, numeric, ColumnType::Numeric).unwrap(), ["5.00", "-5.00"]);
    let large = Decimal128Array::from(vec![i128::MAX / 10])
        .with_precision_and_scale(38, 0)
        .unwrap();
    assert!(!fits(large, Plain::Numeric(None)));
}

#[test]
fn texts() {
    let words = vec![Some("é€"), None, Some("")];
    let expected = ["\"é€\"", "Null", "\"\""];
    let padded = ["\"é€ \"", "Null", "\"   \""];
    let arrays: [ArrayRef; 4] = [
        Arc::new(StringArray::from(words.clone())),
        Arc::new(LargeStringArray::from(words.clone())),
        Arc::new(StringViewArray::from(words.clone())),
        Arc::new({
            let mut builder = StringDictionaryBuilder::<UInt8Type>::new();
            words.iter().for_each(|word| builder.append_option(*word));
            builder.finish()
        }),
    ];
    for array in arrays {
        assert_eq!(
            loaded(array.clone(), Plain::Text(Some(2)), ColumnType::Bytes).unwrap(),
            expected
        );
        assert_eq!(
            loaded(array.clone(), Plain::Padded(3), ColumnType::Bytes).unwrap(),
            padded
        );
        assert!(columns(&array, (Plain::Text(Some(1)), true)).is_none());
        assert!(columns(&array, (Plain::Bytes, true)).is_none());
    }
    assert!(!fits(StringArray::from(vec!["a\0"]), Plain::Text(None)));
    let documents: ArrayRef = Arc::new(StringArray::from(vec![Some("[1]"), None]));
    assert!(columns(&documents, (Plain::Json, true)).is_some());
    assert!(!fits(StringArray::from(vec!["[1"]), Plain::Json));
    let uuids = |size| FixedSizeBinaryArray::try_from_iter([vec![7_u8; size]].into_iter()).unwrap();
    assert!(fits(uuids(16), Plain::Uuid) && !fits(uuids(15), Plain::Uuid) && fits(uuids(15), Plain::Bytes));
}

#[test]
fn bytes_are_no_fewer_than_the_longest_values() {
    let mut builder = StringDictionaryBuilder::<UInt8Type>::new();
    builder.append_value("x".repeat(10_000));
    ["a", "b", "c", "d"].iter().for_each(|word| builder.append_value(word));
    let dictionary = builder.finish().slice(0, 2);
    let columns = columns(&(Arc::new(dictionary) as ArrayRef), (Plain::Text(None), true)).unwrap();
    assert!(columns.rows() == 2 && columns.bytes() >= 10_000);
}

#[test]
fn bytes_of_views_are_those_of_what_they_look_at() {
    let mut builder = StringViewBuilder::new().with_deduplicate_strings();
    (0..100).for_each(|_| builder.append_value("x".repeat(10_000)));
    let views = builder.finish();
    assert!(views.data_buffers().iter().map(|buffer| buffer.len()).sum::<usize>() < 20_000);
    let bytes = |rows| {
        columns(&(Arc::new(views.slice(0, rows)) as ArrayRef), (Plain::Text(None), true))
            .unwrap()
            .bytes()
    };
    assert!(bytes(100) >= 1_000_000 && (10_000..20_000).contains(&bytes(1)));
}

#[test]
fn times() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 10_957, 10_958]));
    assert_eq!(
        loaded(days, Plain::Date, ColumnType::Int).unwrap(),
        ["Int(-10957)", "Int(0)", "Int(1)"]
    );
    assert!(!fits(Date32Array::from(vec![i32::MAX]), Plain::Date));
    let millis = || TimestampMillisecondArray::from(vec![946_684_800_001]);
    assert_eq!(
        loaded(Arc::new(millis()), Plain::Timestamp, ColumnType::Int).unwrap(),
        ["Int(1000)"]
    );
    assert!(!fits(millis(), Plain::TimestampTz) && !fits(millis().with_timezone("UTC"), Plain::Timestamp));
    assert!(fits(millis().with_timezone("Europe/Vienna"), Plain::TimestampTz));
    assert!(!fits(TimestampMillisecondArray::from(vec![i64::MAX]), Plain::Timestamp));
    assert!(fits(TimestampNanosecondArray::from(vec![-1000]), Plain::Timestamp));
    assert!(!fits(TimestampNanosecondArray::from(vec![-1]), Plain::Timestamp));
    assert!(!fits(Time64MicrosecondArray::from(vec![86_400_000_000]), Plain::Time));
    assert!(fits(Time64MicrosecondArray::from(vec![86_399_999_999]), Plain::Time));
}
