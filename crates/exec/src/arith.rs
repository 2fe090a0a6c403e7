//! Numbers: reading them from columns, casting and computing, as PostgreSQL's int8.c, float.c, numeric.c and
//! timestamp.c do. What would be an error there, or does not fit a word, is unsure.

use amax_format::{Dense, Strings, Tag};

use crate::decimal::power;
use crate::evaluated::{Evaluated, both_valid, gather, union};
use crate::operators::{Arithmetic, To};
use crate::scaled;
use crate::vector::{LARGE, Type, Vector};

/// Powers of ten that an `f64` holds exactly.
const EXACT_POWERS: i32 = 22;
/// Integers below are exact in an `f64`.
const EXACT_INTEGERS: u64 = 1 << 53;

/// `mantissa` / 10^`scale`, rounded half away from zero to `to` decimals.
fn rescale(mantissa: i128, scale: u32, to: u32) -> Option<i128> {
    if to >= scale {
        return mantissa.checked_mul(power(to - scale)?);
    }
    Some(round_div(mantissa, power(scale - to)?))
}

/// Quotient rounded half away from zero.
pub(crate) fn round_div(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a / b, a % b);
    if rest.unsigned_abs() >= b.unsigned_abs().div_ceil(2) {
        quotient + a.signum() * b.signum()
    } else {
        quotient
    }
}

/// The nearest float, as its text would be read; none where that is 0 but the number is not, which is an error.
pub fn decimal_to_float(mut mantissa: i64, mut scale: u16) -> Option<f64> {
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    if mantissa.unsigned_abs() < EXACT_INTEGERS && i32::from(scale) <= EXACT_POWERS {
        // One correctly rounded division of two exact numbers.
        return Some(mantissa as f64 / 10f64.powi(i32::from(scale)));
    }
    let value: f64 = format!("{mantissa}e-{scale}").parse().ok()?;
    (value != 0.0).then_some(value)
}

/// A string of digits as PostgreSQL's integer types read it; other spellings of numbers are left to them.
fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -value } else { value })
}

/// Digits, perhaps with a decimal point between them.
fn parse_decimal(text: &[u8]) -> Option<(i64, u16)> {
    let Some(point) = text.iter().position(|&b| b == b'.') else {
        return Some((parse_int(text)?, 0));
    };
    let (whole, decimals) = (&text[..point], &text[point + 1..]);
    if decimals.is_empty() || whole.is_empty() || whole == b"-" || text.len() > 19 {
        return None;
    }
    let mut digits = whole.to_vec();
    digits.extend_from_slice(decimals);
    Some((parse_int(&digits)?, decimals.len() as u16))
}

/// Digits with a decimal point or an exponent, read as strtod() does where that raises nothing.
fn parse_float(text: &[u8]) -> Option<f64> {
    let plain = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'e' | b'E' | b'+');
    if !text.iter().all(plain) || !text.first()?.is_ascii_digit() && text[0] != b'-' {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_normal().then_some(value)
}

/// Integers of `min..=max`, cast from what the rows hold; strings are given if they can be cast.
pub(crate) fn ints<'a>(
    dense: &'a Dense,
    rows: &[u32],
    is_null: impl Fn(Tag) -> bool,
    min: i64,
    max: i64,
    strings: Option<Strings<'a>>,
) -> Evaluated<'a> {
    let mut found = gather(dense, rows, Type::Int, |tag| match tag {
        Tag::Int => Some(true),
        tag if is_null(tag) => Some(false),
        _ => None,
    });
    let from_json = strings.is_none();
    if !found.unsure.is_empty() {
        let words = found.vector.words.to_mut();
        let valid = found.vector.valid.as_mut().expect("unsure rows are not valid").to_mut();
        found.unsure.retain(|&i| {
            let row = rows[i as usize] as usize;
            let word = dense.word(row);
            let value = match dense.tag(row) {
                Tag::String => strings.and_then(|s| parse_int(s.get(word as usize)?)),
                // jsonb numbers round; text with a decimal point is no integer.
                Tag::Decimal if from_json => {
                    rescale(i128::from(word), u32::from(dense.scales()[row]), 0).and_then(|v| i64::try_from(v).ok())
                }
                _ => None,
            };
            if let Some(value) = value {
                words[i as usize] = value;
                valid[i as usize] = true;
            }
            value.is_none()
        });
    }
    if min > i64::MIN || max < i64::MAX {
        out_of_range(&mut found, min, max);
    }
    found
}

/// Makes rows unsure whose value is not in `min..=max`.
fn out_of_range(found: &mut Evaluated<'_>, min: i64, max: i64) {
    let outside: Vec<u32> = found
        .vector
        .words
        .iter()
        .enumerate()
        .filter(|(i, word)| !(min..=max).contains(*word) && found.vector.is_valid(*i))
        .map(|(i, _)| i as u32)
        .collect();
    found.unsure = union(std::mem::take(&mut found.unsure), outside);
}

/// Numerics of what the rows hold.
pub(crate) fn numbers<'a>(dense: &'a Dense, rows: &[u32], is_null: impl Fn(Tag) -> bool) -> Evaluated<'a> {
    let mut found = gather(dense, rows, Type::Numeric, |tag| match tag {
        Tag::Int | Tag::Decimal => Some(true),
        tag if is_null(tag) => Some(false),
        _ => None,
    });
    let mut scales: Vec<u16> = match dense.scales() {
        [] => vec![0; rows.len()],
        scales => rows.iter().map(|&row| scales[row as usize]).collect(),
    };
    if !found.unsure.is_empty() {
        let strings = dense.strings();
        let words = found.vector.words.to_mut();
        let valid = found.vector.valid.as_mut().expect("unsure rows are not valid").to_mut();
        found.unsure.retain(|&i| {
            let row = rows[i as usize] as usize;
            // Only text has strings that are numbers: `is_null` tells it from jsonb.
            let parsed = (dense.tag(row) == Tag::String && is_null(Tag::Null))
                .then(|| parse_decimal(strings.get(dense.word(row) as usize)?))
                .flatten();
            if let Some((mantissa, scale)) = parsed {
                words[i as usize] = mantissa;
                scales[i as usize] = scale;
                valid[i as usize] = true;
            }
            parsed.is_none()
        });
    }
    found.vector.scales = Some(scales.into());
    found
}

/// Floats of what the rows hold.
pub(crate) fn floats<'a>(dense: &'a Dense, rows: &[u32], is_null: impl Fn(Tag) -> bool) -> Evaluated<'a> {
    let mut words = Vec::with_capacity(rows.len());
    let mut valid = Vec::with_capacity(rows.len());
    let mut unsure = Vec::new();
    let strings = dense.strings();
    for (i, (&row, word)) in rows.iter().zip(dense.words().gather(rows)).enumerate() {
        let row = row as usize;
        let tag = dense.tag(row);
        let value = match tag {
            Tag::Int => Some(word as f64),
            Tag::Decimal => decimal_to_float(word, dense.scales()[row]),
            Tag::String if is_null(Tag::Null) => strings.get(word as usize).and_then(parse_float),
            _ => None,
        };
        if value.is_none() && !is_null(tag) {
            unsure.push(i as u32);
        }
        valid.push(!is_null(tag));
        words.push(value.unwrap_or(0.0).to_bits() as i64);
    }
    let mut vector = Vector::of_words(Type::Float, words);
    vector.valid = valid.contains(&false).then(|| valid.into());
    Evaluated { vector, unsure }
}

/// Computes each word anew; `None` is unsure. NULLs stay.
pub(crate) fn map<'a>(arg: Evaluated<'a>, ty: Type, f: impl Fn(usize, i64) -> Option<i64>) -> Evaluated<'a> {
    let mut unsure = Vec::new();
    let words = arg
        .vector
        .words
        .iter()
        .enumerate()
        .map(|(i, &word)| match f(i, word) {
            Some(word) => word,
            None => {
                if arg.vector.is_valid(i) {
                    unsure.push(i as u32);
                }
                0
            }
        })
        .collect::<Vec<i64>>();
    let mut vector = Vector::of_words(ty, words);
    vector.valid = arg.vector.valid;
    Evaluated {
        vector,
        unsure: union(arg.unsure, unsure),
    }
}

/// Computes each numeric anew, from its mantissa and scale; `None` is unsure, and so are numerics that have none.
pub(crate) fn map_numeric<'a>(arg: Evaluated<'a>, f: impl Fn(i64, u16) -> Option<(i64, u16)>) -> Evaluated<'a> {
    let mut unsure = Vec::new();
    let mut words = Vec::with_capacity(arg.vector.len());
    let mut scales = Vec::with_capacity(arg.vector.len());
    for (i, &word) in arg.vector.words.iter().enumerate() {
        let scale = arg.vector.scale(i);
        let value = if scale == LARGE { None } else { f(word, scale) };
        if value.is_none() && arg.vector.is_valid(i) {
            unsure.push(i as u32);
        }
        let (word, scale) = value.unwrap_or((0, 0));
        words.push(word);
        scales.push(scale);
    }
    let mut vector = Vector::of_words(Type::Numeric, words);
    vector.scales = Some(scales.into());
    vector.valid = arg.vector.valid;
    Evaluated {
        vector,
        unsure: union(arg.unsure, unsure),
    }
}

/// A number as another type of number.
pub(crate) fn convert(mut arg: Evaluated<'_>, to: To) -> Evaluated<'_> {
    match (arg.vector.ty, to) {
        (Type::Int, To::Int { min, max }) => {
            out_of_range(&mut arg, min, max);
            arg
        }
        (Type::Int, To::Float) => map(arg, Type::Float, |_, w| Some((w as f64).to_bits() as i64)),
        (Type::Int, To::Numeric) => {
            arg.vector.scales = None;
            arg.vector.ty = Type::Numeric;
            arg
        }
        (Type::Numeric, To::Float) => {
            let scales = arg.vector.scales.clone();
            map(arg, Type::Float, |i, w| {
                let scale = scales.as_ref().map_or(0, |s| s[i]);
                let value = (scale != LARGE).then(|| decimal_to_float(w, scale));
                value.flatten().map(|value| value.to_bits() as i64)
            })
        }
        (Type::Numeric, To::Int { min, max }) => {
            let scales = arg.vector.scales.clone();
            map(arg, Type::Int, |i, w| {
                let scale = scales.as_ref().map_or(0, |s| s[i]);
                let rounded = (scale != LARGE)
                    .then(|| rescale(i128::from(w), u32::from(scale), 0))
                    .flatten()?;
                i64::try_from(rounded).ok().filter(|v| (min..=max).contains(v))
            })
        }
        // dtoi8() and dtoi4(): rint(), and a range check on the float.
        (Type::Float, To::Int { min, max }) => map(arg, Type::Int, |_, w| {
            let rounded = f64::from_bits(w as u64).round_ties_even();
            (rounded >= min as f64 && rounded < max as f64).then_some(rounded as i64)
        }),
        _ => {
            let all = (0..arg.vector.words.len() as u32).collect();
            arg.vector.ty = to.holder();
            Evaluated {
                vector: arg.vector,
                unsure: all,
            }
        }
    }
}

/// `left / right` of numerics as a float, where the divisor is always the same power of ten and the dividends are
/// integers that a float holds: PostgreSQL's quotient has all decimals then (at least 16 significant digits, and a
/// float's integers have no more), so it is the float nearest to the exact one. None otherwise.
pub(crate) fn quotient_as_float<'a>(left: &Evaluated<'a>, right: &Vector<'_>) -> Option<Evaluated<'a>> {
    let scale = right.scale(0);
    if scale == LARGE || !right.is_valid(0) || left.vector.scales.is_some() {
        return None;
    }
    let mut divisor = right.words[0];
    let mut exponent = -i32::from(scale);
    while divisor > 1 && divisor % 10 == 0 {
        divisor /= 10;
        exponent += 1;
    }
    let fits = |w: &i64| w.unsigned_abs() < EXACT_INTEGERS;
    if divisor != 1 || !(1..=15).contains(&exponent) || !left.vector.words.iter().all(fits) {
        return None;
    }
    let power = 10f64.powi(exponent);
    let words: Vec<i64> = left
        .vector
        .words
        .iter()
        .map(|&w| (w as f64 / power).to_bits() as i64)
        .collect();
    let mut vector = Vector::of_words(Type::Float, words);
    vector.valid = left.vector.valid.clone();
    Some(Evaluated {
        vector,
        unsure: left.unsure.clone(),
    })
}

/// `left operator right`, both of type `to`.
pub(crate) fn arithmetic<'a>(operator: Arithmetic, to: To, left: Evaluated<'a>, right: Evaluated<'a>) -> Evaluated<'a> {
    let (a, b) = (&left.vector, &right.vector);
    let rows = a.words.len();
    let valid = both_valid(a, b);
    let is_valid = |i: usize| valid.as_ref().is_none_or(|v| v[i]);
    let mut unsure = union(left.unsure, right.unsure);
    let mut failed = Vec::new();
    let mut words = Vec::with_capacity(rows);
    let mut scales = Vec::new();
    match to {
        To::Int { min, max } => {
            for i in 0..rows {
                let value = int(operator, a.words[i], b.words[i]).filter(|v| (min..=max).contains(v));
                if value.is_none() && is_valid(i) {
                    failed.push(i as u32);
                }
                words.push(value.unwrap_or(0));
            }
        }
        To::Float => {
            for i in 0..rows {
                let value = float(
                    operator,
                    f64::from_bits(a.words[i] as u64),
                    f64::from_bits(b.words[i] as u64),
                );
                if value.is_none() && is_valid(i) {
                    failed.push(i as u32);
                }
                words.push(value.unwrap_or(0.0).to_bits() as i64);
            }
        }
        _ => {
            if let Some((words, scale)) = scaled::arithmetic(operator, a, b) {
                let mut vector = Vector::of_words(Type::Numeric, words);
                vector.scales = Some(vec![scale; rows].into());
                vector.valid = valid;
                return Evaluated { vector, unsure };
            }
            scales.reserve(rows);
            for i in 0..rows {
                let value = numeric(operator, (a.words[i], a.scale(i)), (b.words[i], b.scale(i)));
                if value.is_none() && is_valid(i) {
                    failed.push(i as u32);
                }
                let (word, scale) = value.unwrap_or((0, 0));
                words.push(word);
                scales.push(scale);
            }
        }
    }
    unsure = union(unsure, failed);
    let mut vector = Vector::of_words(to.holder(), words);
    vector.valid = valid;
    vector.scales = (to == To::Numeric).then(|| scales.into());
    Evaluated { vector, unsure }
}

fn int(operator: Arithmetic, a: i64, b: i64) -> Option<i64> {
    match operator {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => a.checked_div(b),
        // -1 divides everything; the machine's instruction may overflow.
        Arithmetic::Modulo => (b != 0).then(|| a.wrapping_rem(b)),
    }
}

/// Finite results of finite numbers; the rest has rules of its own (float.h).
fn float(operator: Arithmetic, a: f64, b: f64) -> Option<f64> {
    let value = match operator {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => return None,
    };
    let multiplies = matches!(operator, Arithmetic::Multiply | Arithmetic::Divide);
    (value.is_finite() && !(multiplies && value == 0.0)).then_some(value)
}

/// numeric.c's operators where mantissas of 64 bits are enough.
fn numeric(operator: Arithmetic, (a, s): (i64, u16), (b, t): (i64, u16)) -> Option<(i64, u16)> {
    if s == LARGE || t == LARGE {
        return None;
    }
    let (scale, value) = match operator {
        Arithmetic::Add | Arithmetic::Subtract => {
            let scale = s.max(t);
            let a = rescale(i128::from(a), u32::from(s), u32::from(scale))?;
            let b = rescale(i128::from(b), u32::from(t), u32::from(scale))?;
            (
                scale,
                if operator == Arithmetic::Add {
                    a.checked_add(b)?
                } else {
                    a.checked_sub(b)?
                },
            )
        }
        Arithmetic::Multiply => (s.checked_add(t)?, i128::from(a) * i128::from(b)),
        Arithmetic::Divide => {
            let scale = quotient_scale((a, s), (b, t))?;
            // a/10^s / (b/10^t), with `scale` decimals.
            let shift = i32::from(scale) + i32::from(t) - i32::from(s);
            let dividend = i128::from(a).checked_mul(power(u32::try_from(shift).ok()?)?)?;
            (scale, round_div(dividend, i128::from(b)))
        }
        Arithmetic::Modulo => {
            let scale = s.max(t);
            let a = rescale(i128::from(a), u32::from(s), u32::from(scale))?;
            let b = rescale(i128::from(b), u32::from(t), u32::from(scale))?;
            (scale, a.checked_rem(b)?)
        }
    };
    // Wider scales and LARGE are numeric's own business.
    Some((i64::try_from(value).ok()?, scale)).filter(|v| v.1 <= 1000)
}

/// select_div_scale() of numeric.c.
fn quotient_scale(a: (i64, u16), b: (i64, u16)) -> Option<u16> {
    if b.0 == 0 {
        return None;
    }
    let ((weight1, first1), (weight2, first2)) = (leading(a), leading(b));
    let mut weight = weight1 - weight2;
    if first1 <= first2 {
        weight -= 1;
    }
    let scale = (16 - weight * 4).max(i32::from(a.1)).max(i32::from(b.1)).clamp(0, 1000);
    u16::try_from(scale).ok()
}

/// Weight and value of the first digit that is not zero, in base 10,000.
fn leading((mantissa, scale): (i64, u16)) -> (i32, i128) {
    let magnitude = i128::from(mantissa.unsigned_abs());
    if magnitude == 0 {
        return (0, 0);
    }
    let exponent = magnitude.ilog10() as i32 - i32::from(scale);
    let weight = exponent.div_euclid(4);
    let shift = i32::from(scale) + weight * 4;
    let first = if shift >= 0 {
        magnitude / power(shift.unsigned_abs()).unwrap_or(i128::MAX)
    } else {
        magnitude * power(shift.unsigned_abs()).unwrap_or(1)
    };
    (weight, first)
}

/// Seconds between the Unix epoch and PostgreSQL's.
const EPOCHS: f64 = 946_684_800.0;
/// Timestamps within are far from every limit.
const FAR: f64 = 1e11;

/// float8_timestamptz() of timestamp.c.
pub(crate) fn to_timestamp(arg: Evaluated<'_>) -> Evaluated<'_> {
    map(arg, Type::Int, |_, word| {
        let seconds = f64::from_bits(word as u64);
        (seconds.abs() < FAR).then(|| ((seconds - EPOCHS) * 1e6).round_ties_even() as i64)
    })
}

/// timestamptz_pl_interval() after interval_mul(), for an interval of nothing but microseconds.
pub(crate) fn add_interval(base: i64, unit: i64, factor: Evaluated<'_>) -> Evaluated<'_> {
    map(factor, Type::Int, |_, word| {
        let span = (unit as f64 * f64::from_bits(word as u64)).round_ties_even();
        let value = (span.abs() < FAR * 1e6)
            .then(|| base.checked_add(span as i64))
            .flatten()?;
        (value.unsigned_abs() < FAR as u64 * 1_000_000).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_have_the_scale_that_postgresql_gives_them() {
        // SELECT 1732206600123456 / 1000000.0, 10 / 4.00, 0.001 / 7
        let divide = |a, b| numeric(Arithmetic::Divide, a, b);
        assert_eq!(
            divide((1_732_206_600_123_456, 0), (10_000_000, 1)),
            Some((173_220_660_012_345_600, 8))
        );
        assert_eq!(divide((10, 0), (400, 2)), Some((25_000_000_000_000_000, 16)));
        assert_eq!(divide((1, 3), (7, 0)), Some((14_285_714_285_714_286, 20)));
        assert_eq!(divide((1, 0), (0, 0)), None);
    }

    #[test]
    fn a_quotient_by_a_power_of_ten_is_the_same_float_by_both_ways() {
        let number = |word: i64, scale: Option<u16>| {
            let mut vector = Vector::of_words(Type::Numeric, vec![word]);
            vector.scales = scale.map(|s| vec![s].into());
            crate::evaluated::sure(vector)
        };
        let mut word = 1i64;
        for _ in 0..2000 {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let dividend = (word >> (word & 63)) % (1 << 53);
            for exponent in 1..=15u32 {
                for scale in [0u16, 1, 3] {
                    let divisor = 10i64.pow(exponent + u32::from(scale));
                    let right = number(divisor, Some(scale));
                    let fast = quotient_as_float(&number(dividend, None), &right.vector).expect("a power of ten");
                    let slow = convert(
                        arithmetic(Arithmetic::Divide, To::Numeric, number(dividend, None), right),
                        To::Float,
                    );
                    // A quotient of more digits than a word has is unsure.
                    if slow.unsure.is_empty() {
                        let both = [&fast, &slow].map(|e| f64::from_bits(e.vector.words[0] as u64));
                        assert_eq!(both[0], both[1], "{dividend} / 10^{exponent}");
                    }
                }
            }
        }
        for (divisor, scale) in [(20, 0), (1, 0), (10, 1), (-10, 0), (0, 0)] {
            let right = number(divisor, Some(scale));
            assert!(quotient_as_float(&number(7, None), &right.vector).is_none());
        }
    }

    #[test]
    fn floats_are_read_as_their_text_would_be() {
        assert_eq!(decimal_to_float(173_220_660_012_345_600, 8), Some(1_732_206_600.123456));
        assert_eq!(decimal_to_float(1, 1), Some(0.1));
        assert_eq!(decimal_to_float(i64::MAX, 3), Some(9_223_372_036_854_775.807));
        assert_eq!(decimal_to_float(0, 400), Some(0.0));
        assert_eq!(decimal_to_float(1, 400), None);
        assert_eq!(parse_float(b"1e5"), Some(1e5));
        assert_eq!(parse_float(b"1e999"), None);
        assert_eq!(parse_float(b"infinity"), None);
        assert_eq!(parse_float(b"0"), None);
    }

    #[test]
    fn strings_that_are_not_plainly_numbers_are_left_alone() {
        assert_eq!(parse_int(b"-12"), Some(-12));
        for text in [
            &b""[..],
            b"-",
            b" 1",
            b"1 ",
            b"+1",
            b"0x10",
            b"1_0",
            b"1.5",
            b"9999999999999999999",
        ] {
            assert_eq!(parse_int(text), None);
        }
        assert_eq!(parse_decimal(b"12.50"), Some((1250, 2)));
        assert_eq!(parse_decimal(b"-0.5"), Some((-5, 1)));
        for text in [&b"."[..], b"1.", b".5", b"-.5", b"1.2.3", b"1.-2"] {
            assert_eq!(parse_decimal(text), None);
        }
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        assert_eq!(rescale(25, 1, 0), Some(3));
        assert_eq!(rescale(-25, 1, 0), Some(-3));
        assert_eq!(rescale(24, 1, 0), Some(2));
        assert_eq!(rescale(7, 0, 2), Some(700));
        assert_eq!(round_div(5, 3), 2);
        assert_eq!(round_div(-4, 3), -1);
    }
}
