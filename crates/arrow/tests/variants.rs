//! Documents as variants, and variants as JSON: nothing is lost, and nothing that is damaged does harm.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use amax_arrow::{Rows, Target, Unvaried, VARIANT, Variants};
use amax_jsonb::json;
use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Schema};
use parquet_variant::{Variant, VariantBuilder};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

mod support;

fn variants(documents: &[Option<&str>]) -> StructArray {
    let mut variants = Variants::default();
    for document in documents {
        match document {
            Some(text) => {
                variants.append(&json::parse(text).unwrap()).unwrap();
            }
            None => variants.append_null(),
        }
    }
    variants.finish()
}

fn unvaried(text: &str) -> Unvaried {
    let mut variants = Variants::default();
    let why = variants.append(&json::parse(text).unwrap()).unwrap_err();
    assert_eq!(variants.finish().len(), 0, "nothing is appended");
    why
}

/// The rows of a struct as text of COPY, or that one is refused.
fn lines(array: StructArray) -> Result<Vec<String>, ()> {
    let field = Field::new("doc", array.data_type().clone(), true);
    let field = field.with_metadata(HashMap::from([("ARROW:extension:name".to_owned(), VARIANT.to_owned())]));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(array)]).unwrap();
    let mut rows = Rows::new(&batch, &[Target::Json]).map_err(|_| ())?;
    (0..rows.len())
        .map(|row| {
            let mut text = Vec::new();
            rows.write(row, &mut text).map_err(|_| ())?;
            let text = String::from_utf8(text).unwrap();
            Ok(text.trim_end_matches('\n').replace("\\\\", "\\"))
        })
        .collect()
}

fn back(text: &str) -> String {
    lines(variants(&[Some(text)])).unwrap().swap_remove(0)
}

#[test]
fn numbers_keep_their_digits() {
    for text in [
        "0",
        "-1",
        "127",
        "128",
        "-129",
        "32768",
        "2147483648",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "1.0",
        "1.00",
        "-0.5",
        "0.001",
        "123456789.123456789",
        "99999999999999999999999999999999999999",
        "-0.00000000000000000000000000000000000001",
        "1234567890123456789.0123456789012345678",
    ] {
        assert_eq!(back(text), text);
    }
    for text in [
        "100000000000000000000000000000000000000",
        "0.000000000000000000000000000000000000001",
        "1e300",
        &format!("0.{}1", "0".repeat(300)),
    ] {
        assert!(matches!(unvaried(text), Unvaried::Number), "{text}");
    }
    let types = [
        "1",
        "200",
        "70000",
        "5000000000",
        "1.5",
        "12345678901.5",
        "1234567890123456789.5",
    ]
    .map(|text| {
        let array = variants(&[Some(text)]);
        let (metadata, value) = (
            array.column(0).as_binary::<i32>().value(0),
            array.column(1).as_binary::<i32>().value(0),
        );
        match Variant::try_new(metadata, value).unwrap() {
            Variant::Int8(_) => "int8",
            Variant::Int16(_) => "int16",
            Variant::Int32(_) => "int32",
            Variant::Int64(_) => "int64",
            Variant::Decimal4(_) => "decimal4",
            Variant::Decimal8(_) => "decimal8",
            Variant::Decimal16(_) => "decimal16",
            _ => "other",
        }
    });
    assert_eq!(
        types,
        ["int8", "int16", "int32", "int64", "decimal4", "decimal8", "decimal16"]
    );
}

#[test]
fn documents_of_each_kind() {
    for text in [
        "null",
        "true",
        "false",
        "\"\"",
        "\"é\\n\\\"\\\\\"",
        "[]",
        "{}",
        "[null,[],{}]",
        "{\"\":0,\"a\":{\"b\":[1,\"x\",null]}}",
    ] {
        assert_eq!(back(text), text);
    }
    let long = format!("[\"{}\"]", "x".repeat(100_000));
    assert_eq!(back(&long), long);
    let nulls = lines(variants(&[None, Some("null"), None])).unwrap();
    assert_eq!(nulls, ["\\N", "null", "\\N"]);
}

#[test]
fn levels_have_an_end() {
    let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(back(&nested(128)), nested(128));
    assert!(matches!(unvaried(&nested(129)), Unvaried::Deep));
    let empty = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(back(&empty(128)), empty(128));
    assert!(matches!(unvaried(&empty(129)), Unvaried::Deep));
}

#[test]
fn other_values_of_variants_are_texts() {
    let binary: &[u8] = &[1, 255];
    let values = [
        (Variant::from(binary), "\"\\\\x01ff\""),
        (Variant::from(0.25_f32), "0.25"),
        (Variant::from(1e300), "1e300"),
        (Variant::from(f64::NAN), "\"NaN\""),
        (Variant::from(3.0), "3"),
    ];
    for (value, expected) in values {
        let mut builder = VariantBuilder::new();
        builder.append_value(value);
        let (metadata, value) = builder.finish();
        let parts: Vec<ArrayRef> = [metadata, value].iter().map(|bytes| binaries(&[bytes])).collect();
        let line = lines(StructArray::new(Variants::fields(), parts, None))
            .unwrap()
            .swap_remove(0);
        assert_eq!(line, expected);
    }
}

#[test]
fn parts_of_two_are_refused() {
    // An object of fields a and b, whose values are one and the same, again and again: sixty levels would be 2^60 values.
    let metadata: &[u8] = &[0x01, 2, 0, 1, 2, b'a', b'b'];
    let mut value = vec![0x00];
    for level in 0..60 {
        // With two bytes for offsets.
        let mut object = vec![0x02 | 1 << 2, 2, 0, 1, 0, 0, 0, 0];
        object.extend((value.len() as u16).to_le_bytes());
        object.extend(&value);
        value = object;
        let array = StructArray::new(
            Variants::fields(),
            vec![binaries(&[metadata]), binaries(&[&value])],
            None,
        );
        assert!(lines(array).is_err(), "{level}");
    }
    // Elements that are one long string.
    let mut value = vec![0x03 | 1 << 2, 200];
    (0..200).for_each(|_| value.extend([0, 0]));
    value.extend(10_005_u16.to_le_bytes());
    value.extend([16 << 2, 0x10, 0x27, 0, 0]);
    value.extend([b'x'; 10_000]);
    let array = StructArray::new(
        Variants::fields(),
        vec![binaries(&[&[0x01, 0, 0]]), binaries(&[&value])],
        None,
    );
    assert!(lines(array).is_err());
}

fn binaries(values: &[&[u8]]) -> ArrayRef {
    let mut builder = BinaryBuilder::new();
    values.iter().for_each(|value| builder.append_value(value));
    Arc::new(builder.finish())
}

#[test]
fn what_is_shredded_is_refused() {
    let array = variants(&[Some("1")]);
    let mut fields = Variants::fields().to_vec();
    fields.push(Arc::new(Field::new("typed_value", DataType::Binary, true)));
    let mut parts = array.columns().to_vec();
    parts.push(binaries(&[b"x"]));
    assert!(lines(StructArray::new(fields.into(), parts, None)).is_err());
}

#[derive(Clone, Debug)]
enum Doc {
    Word(&'static str),
    Number(String),
    String(String),
    Array(Vec<Doc>),
    Object(BTreeMap<String, Doc>),
}

impl Doc {
    fn text(&self, to: &mut String) {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        match self {
            Doc::Word(word) => to.push_str(word),
            Doc::Number(number) => to.push_str(number),
            Doc::String(text) => *to += &format!("\"{}\"", quoted(text)),
            Doc::Array(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    to.push(if at == 0 { '[' } else { ',' });
                    element.text(to);
                }
                to.push_str(if elements.is_empty() { "[]" } else { "]" });
            }
            Doc::Object(pairs) => {
                for (at, (key, value)) in pairs.iter().enumerate() {
                    *to += &format!("{}\"{}\":", if at == 0 { '{' } else { ',' }, quoted(key));
                    value.text(to);
                }
                to.push_str(if pairs.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn documents() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"]).prop_map(Doc::Word),
        any::<i64>().prop_map(|number| Doc::Number(number.to_string())),
        "-?(0|[1-9][0-9]{0,17})\\.[0-9]{1,20}".prop_map(Doc::Number),
        "[ -~é☃]{0,20}".prop_map(Doc::String),
    ];
    let document = leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Doc::Array),
            btree_map("[a-zé\"]{0,4}", inner, 0..8).prop_map(Doc::Object),
        ]
    });
    document.prop_map(|document| {
        let mut text = String::new();
        document.text(&mut text);
        text
    })
}

proptest! {
    #[test]
    fn documents_come_back(texts in vec(documents(), 1..6)) {
        let array = variants(&texts.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>());
        for (text, line) in texts.iter().zip(lines(array).unwrap()) {
            prop_assert_eq!(json::parse(text).unwrap(), json::parse(&line).unwrap());
        }
    }
}

/// So many, or AMAX_DAMAGED_STREAMS.
const DAMAGED: u64 = 20_000;

#[test]
fn damage_is_an_error_or_other_documents() {
    let count = std::env::var("AMAX_DAMAGED_STREAMS").map_or(DAMAGED, |text| text.parse().unwrap());
    let texts = [
        "{\"a\":{\"b\":[1,\"x\",null,2.50,12345678901234567890]},\"long name of a field\":[true,{}],\"c\":-70000}",
        "[[[[\"deep\"]]],[],\"a string that is no short one, as it has more than sixty-three bytes in all of it\"]",
    ];
    let array = variants(&texts.map(Some));
    let part = |column: usize, row| array.column(column).as_binary::<i32>().value(row).to_vec();
    let mut random = fastrand::Rng::with_seed(7);
    let mut refused = 0;
    support::quietly(|| {
        for nth in 0..count {
            let row = usize::from(random.bool());
            let mut parts = [part(0, row), part(1, row)];
            support::damage(&mut random, &mut parts[usize::from(nth % 3 > 0)], &[]);
            let read = || {
                let arrays = parts.iter().map(|part| binaries(&[part])).collect();
                lines(StructArray::new(Variants::fields(), arrays, None))
            };
            refused += u64::from(support::is_refused(read, &format!("variant {nth}")));
        }
    });
    assert!(refused > count / 4, "{refused} of {count}");
}
