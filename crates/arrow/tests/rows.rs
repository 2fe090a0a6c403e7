//! What values become, type by type.

use std::collections::HashMap;
use std::sync::Arc;

use amax_arrow::{Rows, Target};
use arrow_array::builder::{ListBuilder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, FixedSizeBinaryArray, Float64Array, Int32Array, Int64Array, ListArray,
    MapArray, NullArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};

/// The lines of a batch with one column.
fn lines(array: ArrayRef, target: Target) -> Vec<String> {
    marked(array, target, "")
}

fn marked(array: ArrayRef, target: Target, extension: &str) -> Vec<String> {
    let mut field = Field::new("a", array.data_type().clone(), true);
    if !extension.is_empty() {
        field = field.with_metadata(HashMap::from([(
            "ARROW:extension:name".to_owned(),
            extension.to_owned(),
        )]));
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let mut rows = Rows::new(&batch, &[target]).unwrap_or_else(|(_, unsuited)| panic!("{unsuited:?}"));
    let mut text = Vec::new();
    (0..rows.len()).for_each(|row| rows.write(row, &mut text).unwrap());
    let text = String::from_utf8(text).unwrap();
    text.split_terminator('\n').map(str::to_owned).collect()
}

#[test]
fn numbers_and_nulls() {
    let numbers = Int64Array::from(vec![Some(i64::MIN), None, Some(7)]);
    assert_eq!(
        lines(Arc::new(numbers), Target::Other),
        ["-9223372036854775808", "\\N", "7"]
    );
    assert_eq!(
        lines(Arc::new(UInt64Array::from(vec![u64::MAX])), Target::Other),
        ["18446744073709551615"]
    );
    assert_eq!(lines(Arc::new(NullArray::new(2)), Target::Text), ["\\N", "\\N"]);
}

#[test]
fn texts_are_escaped_for_copy() {
    let texts = vec!["", "\\N", "a\tb\nc\rd", "\\."];
    let expected = ["", "\\\\N", "a\\tb\\nc\\rd", "\\\\."];
    assert_eq!(
        lines(Arc::new(StringArray::from(texts.clone())), Target::Text),
        expected
    );
    assert_eq!(lines(Arc::new(StringViewArray::from(texts)), Target::Text), expected);
}

#[test]
fn dictionaries_and_runs_give_their_values() {
    let mut dictionary = StringDictionaryBuilder::<Int32Type>::new();
    dictionary.extend([Some("x"), None, Some("y"), Some("x")]);
    assert_eq!(
        lines(Arc::new(dictionary.finish()), Target::Text),
        ["x", "\\N", "y", "x"]
    );
    let runs = RunArray::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec![Some("x"), None])).unwrap();
    assert_eq!(lines(Arc::new(runs), Target::Text), ["x", "x", "\\N"]);
}

#[test]
fn bytes_go_to_bytea_and_uuid_only() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&[0_u8, 255][..]]));
    assert_eq!(lines(Arc::clone(&bytes), Target::Bytes), ["\\\\x00ff"]);
    let batch = RecordBatch::try_from_iter([("a", bytes)]).unwrap();
    assert!(Rows::new(&batch, &[Target::Text]).is_err());
    let uuid: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter([[0x11_u8; 16]].into_iter()).unwrap());
    let text = "11111111-1111-1111-1111-111111111111";
    assert_eq!(lines(Arc::clone(&uuid), Target::Uuid), [text]);
    assert_eq!(marked(Arc::clone(&uuid), Target::Text, "arrow.uuid"), [text]);
    assert_eq!(marked(uuid, Target::Json, "arrow.uuid"), [format!("\"{text}\"")]);
}

#[test]
fn timestamps_where_they_fit() {
    let zoned: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![0]).with_timezone("Europe/Vienna"));
    assert_eq!(
        lines(Arc::clone(&zoned), Target::TimestampTz),
        ["1970-01-01T00:00:00+00:00"]
    );
    let batch = RecordBatch::try_from_iter([("a", zoned)]).unwrap();
    assert!(Rows::new(&batch, &[Target::Timestamp]).is_err());
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_000, 1]));
    assert_eq!(
        lines(Arc::clone(&nanos), Target::Text),
        ["1970-01-01T00:00:00.000001", "1970-01-01T00:00:00.000000001"]
    );
    let batch = RecordBatch::try_from_iter([("a", nanos)]).unwrap();
    let mut rows = Rows::new(&batch, &[Target::Timestamp]).unwrap();
    let mut text = Vec::new();
    rows.write(0, &mut text).unwrap();
    assert_eq!(rows.write(1, &mut text).unwrap_err().0, 0);
}

#[test]
fn lists_are_arrays_or_json() {
    let mut strings = ListBuilder::new(StringBuilder::new());
    strings.append_value([Some("a\"b\\"), None, Some("NULL"), Some("")]);
    strings.append_value([] as [Option<&str>; 0]);
    strings.append_null();
    let list: ArrayRef = Arc::new(strings.finish());
    let array = Target::Array {
        delimiter: b',',
        element: Box::new(Target::Text),
    };
    assert_eq!(
        lines(Arc::clone(&list), array),
        [r#"{"a\\"b\\\\",NULL,"NULL",""}"#, "{}", "\\N"]
    );
    assert_eq!(
        lines(list, Target::Json),
        [r#"["a\\"b\\\\",null,"NULL",""]"#, "[]", "\\N"]
    );
}

#[test]
fn lists_of_lists_are_arrays_of_more_dimensions() {
    let rows = vec![Some(vec![Some(1), None]), Some(vec![Some(3), Some(4)])];
    let inner = ListArray::from_iter_primitive::<Int32Type, _, _>(rows);
    let field = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let outer = ListArray::new(field, OffsetBuffer::from_lengths([2]), Arc::new(inner), None);
    let array = Target::Array {
        delimiter: b';',
        element: Box::new(Target::Other),
    };
    assert_eq!(lines(Arc::new(outer), array), ["{{1;NULL};{3;4}}"]);
}

fn person() -> StructArray {
    let fields = Fields::from(vec![
        Field::new("name", DataType::Utf8, true),
        Field::new("born", DataType::Date32, true),
        Field::new("weight", DataType::Float64, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![Some("O\"Hara"), None])),
        Arc::new(Date32Array::from(vec![Some(0), Some(1)])),
        Arc::new(Float64Array::from(vec![f64::NAN, 0.5])),
    ];
    StructArray::new(fields, columns, None)
}

#[test]
fn structs_are_composite_values_or_json() {
    let attributes = vec![
        ("born".to_owned(), Target::Date),
        ("missing".to_owned(), Target::Other),
        ("name".to_owned(), Target::Text),
        ("weight".to_owned(), Target::Other),
    ];
    assert_eq!(
        lines(Arc::new(person()), Target::Composite(attributes)),
        [r#"("1970-01-01",,"O""Hara",NaN)"#, r#"("1970-01-02",,,0.5)"#]
    );
    assert_eq!(
        lines(Arc::new(person()), Target::Json),
        [
            r#"{"name":"O\\"Hara","born":"1970-01-01","weight":"NaN"}"#,
            r#"{"name":null,"born":"1970-01-02","weight":0.5}"#
        ]
    );
    let batch = RecordBatch::try_from_iter([("a", Arc::new(person()) as ArrayRef)]).unwrap();
    assert!(Rows::new(&batch, &[Target::Composite(vec![("name".into(), Target::Text)])]).is_err());
}

#[test]
fn maps_are_objects() {
    let entries = StructArray::new(
        Fields::from(vec![
            Field::new("keys", DataType::Int32, false),
            Field::new("values", DataType::Utf8, true),
        ]),
        vec![
            Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef,
            Arc::new(StringArray::from(vec![Some("{\"x\":1}"), None])),
        ],
        None,
    );
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let map = MapArray::new(
        field,
        OffsetBuffer::new(ScalarBuffer::from(vec![0, 2])),
        entries,
        None,
        false,
    );
    assert_eq!(lines(Arc::new(map), Target::Json), [r#"{"1":"{\\"x\\":1}","2":null}"#]);
}
