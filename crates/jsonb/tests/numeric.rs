//! Numerics: text, words and bytes agree.

use amax_jsonb::Error;
use amax_jsonb::numeric::{self, MAX_SCALE, Number, decode, encode_decimal, encode_int, from_text, to_text};
use proptest::prelude::*;

/// `mantissa` / 10^`scale` in plain text, without the crate's help.
fn plain(mantissa: i128, scale: usize) -> String {
    let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if mantissa < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

fn mantissa() -> impl Strategy<Value = i64> {
    // Round numbers too: they have zero digits to strip.
    (any::<i64>(), 0_u32..63, 0_u32..19)
        .prop_map(|(value, shift, zeros)| (value >> shift).checked_mul(10_i64.pow(zeros)).unwrap_or(value))
}

fn encoded(number: Number) -> Vec<u8> {
    let mut payload = vec![0xAA];
    match number {
        Number::Int(value) => encode_int(value, &mut payload),
        Number::Decimal { mantissa, scale } => encode_decimal(mantissa, scale, &mut payload).expect("scale"),
    }
    assert_eq!(payload.remove(0), 0xAA);
    payload
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn integers(value in mantissa()) {
        let payload = encoded(Number::Int(value));
        prop_assert_eq!(&payload, &from_text(&value.to_string()).expect("number"));
        prop_assert_eq!(to_text(&payload).expect("payload"), value.to_string());
        prop_assert_eq!(decode(&payload), Some(Number::Int(value)));
    }

    #[test]
    fn decimals(mantissa in mantissa(), scale in prop_oneof![1..=24_u16, 1..=300_u16, 1..=MAX_SCALE]) {
        let number = Number::Decimal { mantissa, scale };
        let payload = encoded(number);
        let text = plain(mantissa.into(), scale.into());
        prop_assert_eq!(&payload, &from_text(&text).expect("number"));
        prop_assert_eq!(to_text(&payload).expect("payload"), text);
        prop_assert_eq!(decode(&payload), Some(number));
    }

    #[test]
    fn text_of_any_length(whole in "(0|[1-9][0-9]{0,60})", fraction in "[0-9]{0,300}", negative: bool) {
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{whole}{point}{fraction}");
        let zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let signed = format!("{}{text}", if negative { "-" } else { "" });
        let payload = from_text(&signed).expect("number");
        prop_assert_eq!(to_text(&payload).expect("payload"), if zero { &text } else { &signed }.clone());
        prop_assert_eq!(&from_text(&format!("000{text}")).expect("number"), &from_text(&text).expect("number"));
        match decode(&payload) {
            Some(number) => prop_assert_eq!(encoded(number), payload),
            None => prop_assert!(signed.replace('.', "").parse::<i64>().is_err()),
        }
    }

    #[test]
    fn digits_of_any_number(whole in "(0|[1-9][0-9]{0,60})", fraction in "[0-9]{0,300}", negative: bool) {
        let point = if fraction.is_empty() { "" } else { "." };
        let text = format!("{}{whole}{point}{fraction}", if negative { "-" } else { "" });
        let payload = numeric::from_text(&text).expect("numeric");
        let Some(numeric::Value::Finite(number)) = numeric::read(&payload) else {
            panic!("not finite");
        };
        // Zeros around the digits are left out again.
        let digits: Vec<u16> = [0].into_iter().chain(number.iter()).chain([0, 0]).collect();
        let mut written = Vec::new();
        numeric::write(number.negative, number.weight + 1, number.dscale, &digits, &mut written).expect("fits");
        prop_assert_eq!(written, payload);
    }

    #[test]
    fn exponents(mantissa in -1_000_000_000_i64..1_000_000_000, scale in 0_usize..12, exponent in -40_i32..40) {
        let text = format!("{}e{exponent}", plain(mantissa.into(), scale));
        let shift = scale as i32 - exponent;
        let shifted = if shift >= 0 {
            plain(mantissa.into(), shift as usize)
        } else if mantissa == 0 {
            "0".to_owned()
        } else {
            format!("{mantissa}{}", "0".repeat(-shift as usize))
        };
        prop_assert_eq!(from_text(&text).expect("number"), from_text(&shifted).expect("number"));
        prop_assert_eq!(from_text(&text.replace('e', "E")).expect("number"), from_text(&shifted).expect("number"));
    }

    #[test]
    fn any_bytes_that_decode_are_canonical(payload in prop::collection::vec(any::<u8>(), 0..14)) {
        if let Some(number) = decode(&payload) {
            prop_assert_eq!(encoded(number), payload.clone());
        }
        // A header of one digit at the first place makes decoding likely.
        let near = [&[0x00, 0x80], payload.as_slice()].concat();
        if let Some(number) = decode(&near) {
            prop_assert_eq!(encoded(number), near.clone());
        }
        for payload in [payload, near] {
            if let Ok(text) = to_text(&payload) {
                let canonical = from_text(&text).expect("number");
                prop_assert_eq!(to_text(&canonical).expect("payload").len() <= text.len(), true);
            }
        }
    }
}

#[test]
fn forms_postgresql_does_not_write_do_not_decode() {
    let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(decode(&words(&[0x8000, 5])), Some(Number::Int(5)));
    assert_eq!(decode(&words(&[0x8000])), Some(Number::Int(0)));
    for (form, payload) in [
        ("negative zero", words(&[0xA000])),
        ("zero with a weight", words(&[0x8001])),
        ("leading zero digit", words(&[0x8001, 0, 5])),
        ("trailing zero digit", words(&[0x8001, 5, 0])),
        ("long form that fits the short", words(&[0x0000, 0, 5])),
        ("digit out of range", words(&[0x8000, 10_000])),
        ("digits beyond the display scale", words(&[0x8080, 1, 1])),
        ("NaN", words(&[0xC000])),
        ("infinity", words(&[0xD000])),
        ("odd length", vec![0, 0x80, 5]),
        ("nothing", vec![]),
        ("half a long header", words(&[0x0000])),
    ] {
        assert_eq!(decode(&payload), None, "{form}");
    }
}

#[test]
fn limits_of_the_format() {
    for fits in [
        "1e131071",
        "-9e131071",
        "1e-16383",
        "0e200000",
        "0e-16383",
        "1.5e-16382",
    ] {
        assert!(from_text(fits).is_ok(), "{fits}");
    }
    for overflows in [
        "1e131072",
        "1e-16384",
        "0e-16384",
        "1e1073741823",
        "0e1073741823",
        "1e99999999999999999999",
    ] {
        assert_eq!(from_text(overflows), Err(Error::NumericOverflow), "{overflows}");
    }
    for broken in [
        "", "-", ".", "1.2.3", "1e", "1e+", "e5", "x", "1 ", "--1", "+-1", "1e5.0", "nan", "0x1",
    ] {
        assert_eq!(from_text(broken), Err(Error::NumericSyntax), "{broken}");
    }
    for (text, printed) in [
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("-Infinity", "-Infinity"),
    ] {
        assert_eq!(to_text(&from_text(text).expect(text)).expect(text), printed);
    }
    let mut out = vec![1];
    assert_eq!(encode_decimal(1, MAX_SCALE + 1, &mut out), Err(Error::NumericOverflow));
    assert_eq!(out, [1]);
}
