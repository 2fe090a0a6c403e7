//! Documents as columns: whoever reads these has the documents back, but for nulls and keys that are missing, which are one.

use std::collections::BTreeMap;

use amax_arrow::{Inference, Kind, Mixed, Nested, Nulls};
use amax_jsonb::{Value, json, numeric};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Doc {
    Null,
    Bool(bool),
    /// Its text, without zeros at the end of decimals.
    Number(String),
    String(String),
    Array(Vec<Doc>),
    /// Without keys whose values are null.
    Object(BTreeMap<String, Doc>),
}

fn number(text: &str) -> Doc {
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    };
    Doc::Number(text.to_owned())
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn object(pairs: impl Iterator<Item = (String, Doc)>) -> Doc {
    Doc::Object(pairs.filter(|(_, value)| *value != Doc::Null).collect())
}

fn doc(value: Value<'_>) -> Doc {
    match value {
        Value::Null => Doc::Null,
        Value::Bool(value) => Doc::Bool(value),
        Value::Numeric(payload) => number(&numeric::to_text(payload).unwrap()),
        Value::String(bytes) => Doc::String(string(bytes)),
        Value::Array(array) => Doc::Array(array.elements().map(|element| doc(element.unwrap())).collect()),
        Value::Object(pairs) => object(pairs.pairs().map(|pair| {
            let (key, value) = pair.unwrap();
            (string(key), doc(value))
        })),
    }
}

/// A row of an array, as who knows nothing but its field reads it.
fn read(field: &Field, array: &ArrayRef, row: usize) -> Doc {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Doc::Null;
    }
    match array.data_type() {
        DataType::Boolean => Doc::Bool(array.as_boolean().value(row)),
        DataType::Int64 => number(&array.as_primitive::<Int64Type>().value(row).to_string()),
        DataType::Float64 => number(&format!("{}", array.as_primitive::<Float64Type>().value(row))),
        DataType::Decimal128(..) => number(&array.as_primitive::<Decimal128Type>().value_as_string(row)),
        DataType::Utf8 => {
            let text = array.as_string::<i32>().value(row);
            match field.metadata().get("ARROW:extension:name").map(String::as_str) {
                Some("arrow.json") => doc(amax_jsonb::root(&json::parse(text).unwrap()).unwrap()),
                _ => Doc::String(text.to_owned()),
            }
        }
        DataType::List(item) => {
            let elements = array.as_list::<i32>().value(row);
            Doc::Array((0..elements.len()).map(|at| read(item, &elements, at)).collect())
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let pairs = fields.iter().zip(columns);
            object(pairs.map(|(field, column)| (field.name().clone(), read(field, column, row))))
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let id = union.type_id(row);
            let (_, field) = fields.iter().find(|(of, _)| *of == id).unwrap();
            read(field, union.child(id), union.value_offset(row))
        }
        other => panic!("no type of documents: {other}"),
    }
}

/// JSON texts, of which None is NULL, as batches of so many rows.
fn columns(texts: &[Option<String>], nulls: Nulls, rows: usize) -> (Kind, Vec<ArrayRef>) {
    mixed_columns(texts, nulls, Mixed::Text, rows)
}

fn mixed_columns(texts: &[Option<String>], nulls: Nulls, mixed: Mixed, rows: usize) -> (Kind, Vec<ArrayRef>) {
    let documents: Vec<Option<Vec<u8>>> = texts
        .iter()
        .map(|text| text.as_deref().map(|text| json::parse(text).unwrap()))
        .collect();
    let mut inference = Inference::new(mixed);
    documents
        .iter()
        .flatten()
        .for_each(|document| inference.see(document, &mut || {}).unwrap());
    let kind = inference.kind(nulls);
    let mut nested = Nested::new(&kind);
    let batches = documents.chunks(rows).map(|batch| {
        for document in batch {
            nested.append(document.as_deref()).unwrap();
        }
        nested.finish().unwrap()
    });
    (kind.clone(), batches.collect())
}

fn kind(texts: &[&str]) -> Kind {
    let texts: Vec<Option<String>> = texts.iter().map(|text| Some((*text).to_owned())).collect();
    columns(&texts, Nulls::Null, 7).0
}

fn there_and_back(texts: &[Option<String>], nulls: Nulls, rows: usize) {
    for mixed in [Mixed::Text, Mixed::Union] {
        mixed_there_and_back(texts, nulls, mixed, rows);
    }
}

fn mixed_there_and_back(texts: &[Option<String>], nulls: Nulls, mixed: Mixed, rows: usize) {
    let (kind, batches) = mixed_columns(texts, nulls, mixed, rows);
    let field = kind.field("documents");
    for (texts, array) in texts.chunks(rows).zip(&batches) {
        assert_eq!(array.data_type(), field.data_type());
        assert_eq!(array.len(), texts.len());
        array.to_data().validate_full().unwrap();
        for (row, text) in texts.iter().enumerate() {
            let expected = text.as_ref().map_or(Doc::Null, |text| {
                doc(amax_jsonb::root(&json::parse(text).unwrap()).unwrap())
            });
            assert_eq!(read(&field, array, row), expected, "{text:?}");
        }
    }
}

fn numbers() -> BoxedStrategy<String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-100_i64..100).prop_map(|number| number.to_string()),
        "-?[1-9][0-9]{0,4}\\.[0-9]{1,4}",
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?",
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(|number| format!("{number}")),
    ]
    .boxed()
}

fn strings() -> BoxedStrategy<String> {
    // All that is escaped, and some that is not.
    "[a-c\"\\\\ü雪/]{0,6}"
        .prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        .boxed()
}

fn objects(key: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    vec((key, value), 0..6)
        .prop_map(|pairs| {
            let pairs: Vec<String> = pairs
                .into_iter()
                .map(|(key, value)| format!("\"{key}\": {value}"))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        })
        .boxed()
}

fn anything() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        numbers(),
        strings(),
    ];
    leaf.prop_recursive(5, 30, 5, |inner| {
        let array = vec(inner.clone(), 0..5).prop_map(|elements| format!("[{}]", elements.join(", ")));
        prop_oneof![array, objects("[a-dü]{0,2}", inner.boxed())]
    })
    .boxed()
}

/// Objects whose keys have values of a kind, mostly: what columns are made of.
fn records() -> BoxedStrategy<String> {
    let one = |value: BoxedStrategy<String>| option::weighted(0.8, value);
    let flag = prop_oneof![
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("null".to_owned())
    ]
    .boxed();
    let small = (-9_i32..9).prop_map(|number| number.to_string()).boxed();
    let list = vec(prop_oneof![3 => small.clone(), 1 => Just("null".to_owned())], 0..5)
        .prop_map(|elements| format!("[{}]", elements.join(",")));
    let inner = objects("[xy]", small.clone());
    let lists = vec(
        vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
        0..3,
    )
    .prop_map(|items| format!("[{}]", items.join(",")));
    (
        one(numbers()),
        one(strings()),
        one(flag),
        one(list.boxed()),
        one(inner),
        one(lists.boxed()),
        option::weighted(0.1, anything()),
    )
        .prop_map(|(number, string, flag, list, inner, lists, any)| {
            let values = [number, string, flag, list, inner, lists, any];
            let pairs = ["number", "s", "flag", "list", "inner", "lists", ""].iter().zip(values);
            let pairs: Vec<String> = pairs
                .filter_map(|(key, value)| Some(format!("\"{key}\": {}", value?)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn documents_of_any_kind(texts in vec(option::weighted(0.9, anything()), 1..30), rows in 1_usize..12) {
        there_and_back(&texts, Nulls::Null, rows);
    }

    #[test]
    fn documents_of_one_kind(texts in vec(option::weighted(0.9, records()), 1..60), rows in 1_usize..40) {
        there_and_back(&texts, Nulls::String, rows);
    }
}

#[test]
fn kinds() {
    let decimal = |precision, scale| Kind::Decimal { precision, scale };
    let list = |kind| Kind::List(Box::new(kind));
    let fields =
        |of: &[(&str, Kind)]| Kind::Struct(of.iter().map(|(key, kind)| ((*key).into(), kind.clone())).collect());
    assert_eq!(kind(&[]), Kind::Null);
    assert_eq!(kind(&["null"]), Kind::Null);
    assert_eq!(kind(&["true", "null"]), Kind::Bool);
    assert_eq!(kind(&["1", "2.0"]), Kind::Int);
    assert_eq!(kind(&["1", "0.1"]), Kind::Float);
    assert_eq!(kind(&["18446744073709551615", "0.5"]), decimal(21, 1));
    assert_eq!(kind(&["1", "\"a\""]), Kind::Json);
    assert_eq!(kind(&["[]"]), list(Kind::Null));
    assert_eq!(kind(&["[1]", "[[1]]"]), list(Kind::Json));
    assert_eq!(kind(&["{}", "{}"]), Kind::Json);
    // In the order that they appear in, whatever comes first in jsonb.
    assert_eq!(
        kind(&["{\"b\": 1}", "{\"a\": {}, \"b\": 2}", "{\"c\": [{\"x\": null}]}"]),
        fields(&[
            ("b", Kind::Int),
            ("a", Kind::Json),
            ("c", list(fields(&[("x", Kind::Null)])))
        ])
    );
    let (kind, arrays) = columns(&[Some("{\"a\": null}".into())], Nulls::String, 1);
    assert_eq!(kind, fields(&[("a", Kind::String)]));
    assert_eq!(arrays[0].null_count(), 0);
}

#[test]
fn unions() {
    let kind = |texts: &[&str]| {
        let texts: Vec<Option<String>> = texts.iter().map(|text| Some((*text).to_owned())).collect();
        mixed_there_and_back(&texts, Nulls::Null, Mixed::Union, 3);
        mixed_columns(&texts, Nulls::Null, Mixed::Union, 3).0
    };
    let list = |kind| Kind::List(Box::new(kind));
    let a = |kind| Kind::Struct(vec![("a".into(), kind)]);
    assert_eq!(kind(&["1", "null", "2"]), Kind::Int);
    assert_eq!(
        kind(&["null", "1", "\"x\"", "true", "0.5", "[1]", "{\"a\": 1}", "null"]),
        Kind::Union(vec![
            Kind::Float,
            Kind::String,
            Kind::Bool,
            list(Kind::Int),
            a(Kind::Int)
        ])
    );
    assert_eq!(
        kind(&["{\"a\": [1, \"x\", [2]]}", "{\"a\": [null]}"]),
        a(list(Kind::Union(vec![Kind::Int, Kind::String, list(Kind::Int)])))
    );
    // What is text has all that is of no other kind.
    assert_eq!(
        kind(&["{}", "1", "\"x\""]),
        Kind::Union(vec![Kind::Int, Kind::String, Kind::Json])
    );
    let long = "1".repeat(50);
    assert_eq!(
        kind(&[&long, "0.5", "[]"]),
        Kind::Union(vec![list(Kind::Null), Kind::Json])
    );
    assert_eq!(kind(&["{}", &long, "0.5"]), Kind::Json);
    assert_eq!(kind(&[&wide(0..2000), "1"]), Kind::Json);
    assert_eq!(
        kind(&["1", &wide(0..2000), "\"x\"", "[2]"]),
        Kind::Union(vec![Kind::Int, Kind::Json])
    );
}

#[test]
fn unions_of_too_many_places() {
    let part = |at: usize| format!("\"p{at}\": [1, {}]", wide(0..900));
    let parts: Vec<String> = (0..6).map(part).collect();
    mixed_there_and_back(
        &[Some(format!("{{{}}}", parts.join(",")))],
        Nulls::Null,
        Mixed::Union,
        1,
    );
}

/// An object of these keys, all of them 1.
fn wide(keys: std::ops::Range<usize>) -> String {
    let pairs: Vec<String> = keys.map(|key| format!("\"k{key}\": 1")).collect();
    format!("{{{}}}", pairs.join(","))
}

#[test]
fn objects_that_are_maps() {
    let is_struct = |texts: &[&str]| matches!(kind(texts), Kind::Struct(_));
    assert!(is_struct(&[&wide(0..600), &wide(400..1000)]));
    assert!(!is_struct(&[&wide(0..600), &wide(400..1001)]));
    assert_eq!(kind(&[&wide(0..2000)]), Kind::Json);
    // Only where they are.
    let text = format!("{{\"map\": {}, \"a\": 1}}", wide(0..1001));
    assert_eq!(
        kind(&[&text]),
        Kind::Struct(vec![("a".into(), Kind::Int), ("map".into(), Kind::Json)])
    );
    let texts = [Some(wide(0..600)), None, Some(wide(400..1001)), Some("null".to_owned())];
    there_and_back(&texts, Nulls::Null, 3);
}

#[test]
fn a_column_of_too_many_places() {
    let part = |at: usize| format!("\"p{at}\": {}", wide(0..900));
    let parts: Vec<String> = (0..6).map(part).collect();
    let text = format!("{{{}}}", parts.join(","));
    let Kind::Struct(fields) = kind(&[&text]) else {
        panic!("an object of few keys")
    };
    // The first of those that are the widest give way; what they are in does not, however wide it is.
    let kinds = fields.iter().map(|(_, kind)| *kind == Kind::Json);
    assert_eq!(kinds.collect::<Vec<_>>(), [true, true, false, false, false, false]);
    there_and_back(&[Some(text)], Nulls::Null, 1);
    // Very many small objects.
    let part = |at: usize| format!("\"p{at}\": {{\"q\": {}}}", wide(0..at % 30));
    let parts: Vec<String> = (0..990).map(part).collect();
    let text = format!("{{{}}}", parts.join(","));
    assert!(matches!(kind(&[&text]), Kind::Struct(fields) if fields.len() == 990));
    there_and_back(&[Some(text)], Nulls::Null, 1);
    // A key that is most of a schema.
    let key = "k".repeat(700_000);
    let text = format!("{{\"a\": {{\"{key}\": 1}}, \"b\": {{\"c\": 2}}}}");
    let Kind::Struct(fields) = kind(&[&text]) else {
        panic!("an object of two keys")
    };
    assert_eq!(fields[0], ("a".into(), Kind::Json));
    assert!(matches!(fields[1].1, Kind::Struct(_)));
    there_and_back(&[Some(text)], Nulls::Null, 1);
}

#[test]
fn documents_that_are_deep() {
    let deep = |levels: usize| "[".repeat(levels) + "7" + &"]".repeat(levels);
    let levels = |mut kind: Kind| {
        let mut levels = 1;
        while let Kind::List(item) = kind {
            (kind, levels) = (*item, levels + 1);
        }
        (levels, kind)
    };
    assert_eq!(levels(kind(&[&deep(31)])), (32, Kind::Int));
    assert_eq!(levels(kind(&[&deep(32)])), (32, Kind::Json));
    assert_eq!(levels(kind(&[&deep(10_000)])), (32, Kind::Json));
    there_and_back(&[Some(deep(31)), Some(deep(40))], Nulls::Null, 2);
}

#[test]
fn what_has_not_been_seen_is_an_error() {
    let mut inference = Inference::new(Mixed::Text);
    inference.see(&json::parse("{\"a\": 1}").unwrap(), &mut || {}).unwrap();
    let kind = inference.kind(Nulls::Null);
    for text in ["1", "[]", "{\"b\": 1}", "{\"a\": \"x\"}", "{\"a\": 0.5}"] {
        let document = json::parse(text).unwrap();
        assert!(Nested::new(&kind).append(Some(&document)).is_err(), "{text}");
    }
    assert!(inference.see(b"\xff\xff", &mut || {}).is_err());
    assert!(Nested::new(&kind).append(Some(b"\xff\xff")).is_err());
}

#[test]
fn bytes_count_what_documents_do_not_have() {
    let mut inference = Inference::new(Mixed::Text);
    inference.see(&json::parse(&wide(0..100)).unwrap(), &mut || {}).unwrap();
    inference
        .see(&json::parse("{\"l\": [1, 2, 3]}").unwrap(), &mut || {})
        .unwrap();
    let mut nested = Nested::new(&inference.kind(Nulls::Null));
    let empty = nested.append(None).unwrap();
    assert!(empty >= 800);
    let three = json::parse("{\"l\": [1, 2, 3]}").unwrap();
    assert_eq!(nested.append(Some(&three)).unwrap(), empty + 24);
}
