//! Random values through the builder, the reader and the builder again.

use std::collections::BTreeMap;

use amax_jsonb::{Builder, Error, Event, Value, is_canonical, json, numeric, root, walk};
use proptest::prelude::*;

/// A value independent of the crate's own types.
#[derive(Clone, Debug, PartialEq)]
enum Model {
    Null,
    Bool(bool),
    Int(i64),
    Decimal(i64, u16),
    /// A number in text.
    Number(String),
    String(Vec<u8>),
    Array(Vec<Model>),
    /// Pairs as given: in any order, with duplicates.
    Object(Vec<(Vec<u8>, Model)>),
}

fn model() -> impl Strategy<Value = Model> {
    let scalar = prop_oneof![
        Just(Model::Null),
        any::<bool>().prop_map(Model::Bool),
        prop_oneof![any::<i64>(), -20_000_i64..20_000].prop_map(Model::Int),
        (any::<i64>(), 1_u16..90).prop_map(|(mantissa, scale)| Model::Decimal(mantissa, scale)),
        "-?[0-9]{1,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,2})?".prop_map(Model::Number),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Model::String),
    ];
    let key = prop_oneof![
        3 => "[a-c]{0,3}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    scalar.prop_recursive(5, 200, 70, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..70).prop_map(Model::Array),
            prop::collection::vec((key.clone(), inner), 0..40).prop_map(Model::Object),
        ]
    })
}

fn build(model: &Model, builder: &mut Builder) {
    match model {
        Model::Null => builder.null(),
        Model::Bool(value) => builder.bool(*value),
        Model::Int(value) => builder.int(*value),
        Model::Decimal(mantissa, scale) => builder.decimal(*mantissa, *scale),
        Model::Number(text) => builder.number(text.as_bytes()).expect("number"),
        Model::String(bytes) => builder.string(bytes),
        Model::Array(elements) => {
            builder.begin_array();
            elements.iter().for_each(|element| build(element, builder));
            builder.end_array();
        }
        Model::Object(pairs) => {
            builder.begin_object();
            for (key, value) in pairs {
                builder.key(key);
                build(value, builder);
            }
            builder.end_object();
        }
    }
}

/// Asserts that what is read is the model, keys in order and the last of duplicates kept; and that
/// every container's bytes are a payload of their own.
fn compare(value: Value<'_>, model: &Model) {
    match (value, model) {
        (Value::Null, Model::Null) => {}
        (Value::Bool(found), Model::Bool(given)) => assert_eq!(found, *given),
        (Value::String(found), Model::String(given)) => assert_eq!(found, given),
        (Value::Numeric(found), Model::Int(given)) => {
            assert_eq!(numeric::decode(found), Some(numeric::Number::Int(*given)));
        }
        (Value::Numeric(found), &Model::Decimal(mantissa, scale)) => {
            assert_eq!(
                numeric::decode(found),
                Some(numeric::Number::Decimal { mantissa, scale })
            );
        }
        (Value::Numeric(found), Model::Number(given)) => {
            assert_eq!(found, numeric::from_text(given).expect("number"));
        }
        (Value::Array(found), Model::Array(given)) => {
            assert_eq!(found.len(), given.len());
            let mut read = 0;
            for (i, (element, given)) in found.elements().zip(given).enumerate() {
                compare(element.expect("element"), given);
                compare(found.get_index(i).expect("element").expect("in range"), given);
                read += 1;
            }
            assert_eq!(read, given.len());
            assert!(is_canonical(found.bytes()));
        }
        (Value::Object(found), Model::Object(given)) => {
            let given: BTreeMap<_, _> = given.iter().map(|(key, value)| ((key.len(), key), value)).collect();
            let pairs: Result<Vec<_>, _> = found.pairs().collect();
            let pairs = pairs.expect("pairs");
            assert_eq!((pairs.len(), found.len()), (given.len(), given.len()));
            for ((key, value), ((_, given_key), given)) in pairs.into_iter().zip(&given) {
                assert_eq!(key, *given_key);
                compare(value, given);
                compare(found.get(key).expect("value").expect("present"), given);
            }
            for absent in [b"ab".as_slice(), b"d", b"", b"zzzzzzzzzzzzzz"] {
                let known = given.contains_key(&(absent.len(), &absent.to_vec()));
                assert_eq!(found.get(absent).expect("value").is_some(), known);
            }
            assert!(is_canonical(found.bytes()));
        }
        (value, model) => panic!("{value:?} is not {model:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn built_values_read_back_and_rebuild_to_the_same_bytes(model in model()) {
        let mut builder = Builder::new();
        build(&model, &mut builder);
        let payload = builder.finish().expect("one value");
        prop_assert!(is_canonical(&payload));
        let value = root(&payload).expect("payload");
        compare(value, &model);

        for event in walk(value) {
            builder.event(event.expect("event"));
        }
        prop_assert_eq!(&builder.finish().expect("one value"), &payload);
        builder.value(value);
        prop_assert_eq!(&builder.finish().expect("one value"), &payload);

        // Below something else, at any alignment.
        builder.begin_object();
        builder.key(b"abc");
        builder.string(b"xy");
        builder.key(b"v");
        builder.value(value);
        builder.end_object();
        let outer = builder.finish().expect("one value");
        prop_assert!(is_canonical(&outer));
        let Value::Object(object) = root(&outer).expect("payload") else { panic!("not an object") };
        compare(object.get(b"v").expect("value").expect("present"), &model);
    }

    #[test]
    fn finish_into_appends_at_any_alignment(model in model(), before in 0_usize..9) {
        let mut builder = Builder::new();
        build(&model, &mut builder);
        let payload = builder.finish().expect("one value");
        build(&model, &mut builder);
        let mut out = vec![7; before];
        builder.finish_into(&mut out).expect("one value");
        prop_assert_eq!(&out[before..], payload);
    }

    #[test]
    fn text_reads_back_to_the_same_bytes(model in model()) {
        let mut builder = Builder::new();
        build(&model, &mut builder);
        let payload = builder.finish().expect("one value");
        match json::to_text(&payload) {
            Ok(text) if !text.contains("\\u0000") => prop_assert_eq!(json::parse(&text).expect("JSON"), payload),
            Ok(_) => {}
            Err(error) => prop_assert_eq!(error, Error::Corrupt("string is not UTF-8")),
        }
    }
}

#[test]
fn values_not_laid_out_by_postgresql_are_rebuilt_by_value() {
    // [true, false] with plain lengths instead of an offset in the first entry.
    let mut payload = Vec::new();
    for word in [0x4000_0002_u32, 0x3000_0000, 0x2000_0000] {
        payload.extend_from_slice(&word.to_le_bytes());
    }
    assert!(!is_canonical(&payload));
    let mut builder = Builder::new();
    builder.value(root(&payload).expect("sound"));
    let rebuilt = builder.finish().expect("one value");
    assert!(is_canonical(&rebuilt));
    assert_eq!(rebuilt, json::parse("[true,false]").expect("JSON"));
}

#[test]
fn nesting_is_bounded_by_memory_only() {
    const DEPTH: usize = 100_000;
    for (open, inner, close) in [("[", "1.5", "]"), ("{\"a\": ", "null", "}")] {
        let text = [open.repeat(DEPTH).as_str(), inner, close.repeat(DEPTH).as_str()].concat();
        let payload = json::parse(&text).expect("JSON");
        assert!(is_canonical(&payload));
        assert_eq!(json::to_text(&payload).expect("payload"), text);
        let mut builder = Builder::new();
        builder.value(root(&payload).expect("payload"));
        assert_eq!(builder.finish().expect("one value"), payload);
        let events = walk(root(&payload).expect("payload"));
        let begun = events.filter(|event| matches!(event, Ok(Event::BeginArray(1) | Event::BeginObject(1))));
        assert_eq!(begun.count(), DEPTH);
    }
}

#[test]
fn misuse_is_reported_once_and_leaves_the_builder_usable() {
    let misuses: [fn(&mut Builder); 9] = [
        |_| {},
        |b| b.key(b"a"),
        |b| b.begin_array(),
        |b| b.end_array(),
        |b| (b.null(), b.null()).1,
        |b| (b.begin_object(), b.null(), b.end_object()).2,
        |b| (b.begin_object(), b.key(b"a"), b.end_object()).2,
        |b| (b.begin_object(), b.key(b"a"), b.key(b"b"), b.end_object()).3,
        |b| (b.begin_object(), b.end_array(), b.end_object()).2,
    ];
    let mut builder = Builder::new();
    for (i, misuse) in misuses.into_iter().enumerate() {
        misuse(&mut builder);
        let mut out = vec![1, 2, 3];
        assert!(matches!(builder.finish_into(&mut out), Err(Error::Misuse(_))), "{i}");
        assert_eq!(out, [1, 2, 3]);
        builder.int(1);
        assert_eq!(builder.finish().expect("one value"), json::parse("1").expect("JSON"));
    }
    builder.begin_array();
    builder.numeric(&[1]);
    builder.end_array();
    assert_eq!(builder.finish(), Err(Error::Truncated));
    builder.decimal(1, numeric::MAX_SCALE + 1);
    assert_eq!(builder.finish(), Err(Error::NumericOverflow));
}

#[test]
fn containers_beyond_the_limit_are_refused() {
    const MIB: usize = 1 << 20;
    let part = vec![b'x'; 64 * MIB];
    let mut builder = Builder::new();
    for (parts, more, fits) in [
        (3, 64 * MIB - 21, true),
        (3, 64 * MIB - 20, false),
        (3, 64 * MIB - 1, false),
        (4, 0, false),
    ] {
        builder.begin_array();
        for _ in 0..parts {
            builder.string(&part);
        }
        builder.string(&part[..more]);
        builder.end_array();
        let result = builder.finish();
        assert_eq!(result.is_ok(), fits);
        assert!(fits || result == Err(Error::TooLarge));
    }
    // A root scalar's header and entry count too.
    for (len, fits) in [(256 * MIB - 9, true), (256 * MIB - 8, false), (256 * MIB, false)] {
        builder.string(&vec![b'x'; len]);
        assert_eq!(builder.finish().is_ok(), fits);
    }
}
