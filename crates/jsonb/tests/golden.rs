//! The bytes and texts a PostgreSQL 15 server makes of tricky and real documents; `golden/make.py`
//! made the file.

use amax_jsonb::{Builder, Value, is_canonical, json, numeric, root, walk};

/// JSON text, stored bytes, printed text.
fn documents() -> impl Iterator<Item = (&'static str, Vec<u8>, &'static str)> {
    include_str!("golden/documents.tsv").lines().map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().expect("three columns");
        (next(), hex::decode(next()).expect("hex"), next())
    })
}

#[test]
fn parse_makes_the_bytes_of_postgresql() {
    assert!(documents().count() > 400);
    for (text, stored, _) in documents() {
        assert_eq!(
            hex::encode(json::parse(text).expect(text)),
            hex::encode(stored),
            "{text}"
        );
    }
}

#[test]
fn text_is_that_of_postgresql() {
    for (text, stored, printed) in documents() {
        assert_eq!(json::to_text(&stored).expect(text), printed);
        assert_eq!(json::parse(printed).expect(printed), stored);
    }
}

#[test]
fn stored_bytes_are_canonical_and_rebuild_to_themselves() {
    let (mut events, mut values) = (Builder::new(), Builder::new());
    for (text, stored, _) in documents() {
        assert!(is_canonical(&stored), "{text}");
        let value = root(&stored).expect(text);
        for event in walk(value) {
            events.event(event.expect(text));
        }
        assert_eq!(events.finish().expect(text), stored);
        values.value(value);
        assert_eq!(values.finish().expect(text), stored);
    }
}

#[test]
fn numbers_of_postgresql_decode_and_encode() {
    let (mut decoded, mut other) = (0, 0);
    for (text, stored, printed) in documents() {
        let Value::Numeric(payload) = root(&stored).expect(text) else {
            continue;
        };
        assert_eq!(numeric::from_text(text).expect(text), payload);
        assert_eq!(numeric::to_text(payload).expect(text), printed);
        let mut again = Vec::new();
        match numeric::decode(payload) {
            Some(numeric::Number::Int(value)) => {
                numeric::encode_int(value, &mut again);
                assert_eq!(value.to_string(), printed);
            }
            Some(numeric::Number::Decimal { mantissa, scale }) => {
                numeric::encode_decimal(mantissa, scale, &mut again).expect(text);
                let digits: String = printed.chars().filter(|&c| c != '.').collect();
                assert_eq!(digits.parse(), Ok(mantissa));
            }
            None => {
                // Only what an i64 mantissa cannot hold is left to the payload.
                let digits: String = printed.chars().filter(|&c| c != '.').collect();
                assert!(digits.parse::<i64>().is_err(), "{printed}");
                other += 1;
                continue;
            }
        }
        assert_eq!(again, payload, "{text}");
        decoded += 1;
    }
    assert!(decoded > 100 && other > 50, "{decoded} {other}");
}

#[test]
fn lookups_find_every_child() {
    for (text, stored, _) in documents() {
        match root(&stored).expect(text) {
            Value::Object(object) => {
                for pair in object.pairs() {
                    let (key, value) = pair.expect(text);
                    let found = object.get(key).expect(text).expect("key is there");
                    assert_eq!(bytes(found), bytes(value), "{text}");
                    assert!(
                        object
                            .get(&[key, b"~".as_slice()].concat())
                            .expect(text)
                            .is_none_or(|_| text.contains('~'))
                    );
                }
            }
            Value::Array(array) => {
                let mut count = 0;
                for (i, value) in array.elements().enumerate() {
                    let found = array.get_index(i).expect(text).expect("element is there");
                    assert_eq!(bytes(found), bytes(value.expect(text)), "{text}");
                    count += 1;
                }
                assert_eq!(count, array.len());
                assert!(array.get_index(count).expect(text).is_none());
            }
            _ => {}
        }
    }
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.value(value);
    builder.finish().expect("one value")
}
