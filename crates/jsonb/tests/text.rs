//! Text, value by value, against writers of the simplest kind.

use amax_jsonb::{Error, Key, TextWriter, json, numeric};
use proptest::prelude::*;

fn written(write: impl FnOnce(&mut TextWriter<'_>) -> Result<(), Error>) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut TextWriter::new(&mut out, usize::MAX)).expect("room");
    out
}

/// `escape_json`, byte by byte.
fn escaped(string: &[u8]) -> Vec<u8> {
    let mut out = vec![b'"'];
    for &byte in string {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            8 => out.extend(b"\\b"),
            9 => out.extend(b"\\t"),
            10 => out.extend(b"\\n"),
            12 => out.extend(b"\\f"),
            13 => out.extend(b"\\r"),
            ..32 => out.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
    out
}

proptest! {
    #[test]
    fn strings(string in prop::collection::vec(prop_oneof![any::<u8>(), 32_u8..127, Just(b'"'), Just(b'\\'), 0_u8..32], 0..80)) {
        prop_assert_eq!(written(|text| text.string(&string)), escaped(&string));
        let mut key = escaped(&string);
        key.extend(b": ");
        prop_assert_eq!(written(|text| text.key(&string)), &key[..]);
        prop_assert_eq!(written(|text| text.known_key(&Key::new(&string)?)), key);
    }

    #[test]
    fn integers(value in prop_oneof![any::<i64>(), -2000_i64..2000, (0_u32..63).prop_map(|power| 1 << power)]) {
        let mut payload = Vec::new();
        numeric::encode_int(value, &mut payload);
        prop_assert_eq!(written(|text| text.int(value)), value.to_string().into_bytes());
        prop_assert_eq!(written(|text| text.numeric(&payload)), value.to_string().into_bytes());
    }

    #[test]
    fn decimals(mantissa in prop_oneof![any::<i64>(), -2000_i64..2000, Just(0)], scale in prop_oneof![0_u16..25, 0..=numeric::MAX_SCALE]) {
        let mut payload = Vec::new();
        numeric::encode_decimal(mantissa, scale, &mut payload).expect("scale");
        prop_assert_eq!(
            written(|text| text.decimal(mantissa, scale)),
            numeric::to_text(&payload).expect("number").into_bytes()
        );
    }

    #[test]
    fn no_longer_than_it_may_be(text in prop::sample::select(vec![
        r#"{"a": [1, -2.50, "x\n\"y", null, true], "bc": {}, "long": [[[]], 123456789012345678901234567890]}"#,
        r#""\u0001\u0001\u0001""#,
        "[false]",
    ]), most in 0_usize..120) {
        let payload = json::parse(text).expect("JSON");
        let mut out = Vec::new();
        let result = TextWriter::new(&mut out, most).value(amax_jsonb::root(&payload).expect("sound"));
        prop_assert!(out.len() <= most);
        if text.len() > most {
            prop_assert_eq!(result, Err(Error::TextTooLong));
        } else if text.len() + TextWriter::SPARE <= most {
            prop_assert_eq!(result, Ok(()));
        }
    }
}

#[test]
fn the_ends_of_the_range() {
    for value in [i64::MIN, i64::MAX, 0, -1, 9, 10, 99, 100] {
        assert_eq!(written(|text| text.int(value)), value.to_string().into_bytes());
    }
    assert_eq!(written(|text| text.decimal(i64::MIN, 19)), b"-0.9223372036854775808");
    assert_eq!(written(|text| text.decimal(0, 2)), b"0.00");
    assert_eq!(written(|text| text.numeric(&numeric::nan())), b"NaN");
}
