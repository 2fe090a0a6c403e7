//! Equal numbers, whatever decimals they display: 1 and 1.00.

use super::{Value, read};

/// A number without zeros at the end of its decimals; equal numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    mantissa: i64,
    scale: u16,
}

impl Reduced {
    /// `mantissa` / 10^`scale`.
    pub fn new(mut mantissa: i64, mut scale: u16) -> Self {
        while scale > 0 && mantissa % 10 == 0 {
            (mantissa, scale) = (mantissa / 10, scale - 1);
        }
        Self { mantissa, scale }
    }
}

/// The number a payload holds; `None` if it is none of so few digits.
pub fn reduced(payload: &[u8]) -> Option<Reduced> {
    let Some(Value::Finite(number)) = read(payload) else {
        return None;
    };
    let digits = number.iter();
    let Some(last) = digits.len().checked_sub(1) else {
        return Some(Reduced::new(0, 0));
    };
    // Power of ten of the last digit.
    let power = 4 * (number.weight - last as i32);
    let mut mantissa = 0i128;
    for digit in digits {
        mantissa = mantissa.checked_mul(10_000)? + i128::from(digit);
    }
    let mut scale = power.min(0).unsigned_abs();
    if power > 0 {
        mantissa = mantissa.checked_mul(10i128.checked_pow(power.unsigned_abs())?)?;
    }
    while scale > 0 && mantissa % 10 == 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    let mantissa = if number.negative { -mantissa } else { mantissa };
    Some(Reduced {
        mantissa: i64::try_from(mantissa).ok()?,
        scale: u16::try_from(scale).ok()?,
    })
}

/// Whether two payloads hold the same number (`numeric_eq`).
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    match (read(a), read(b)) {
        (Some(Value::Finite(a)), Some(Value::Finite(b))) => {
            (a.negative, a.weight) == (b.negative, b.weight) && a.iter().eq(b.iter())
        }
        (Some(Value::Infinity { negative: a }), Some(Value::Infinity { negative: b })) => a == b,
        (Some(Value::NaN), Some(Value::NaN)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Number, decode, from_text};
    use super::*;

    #[test]
    fn the_same_number_in_many_forms() {
        let same: [&[&str]; 8] = [
            &["0", "0.00", "-0", "0e5"],
            &["1", "1.0", "1.000000000000000000000000000", "10e-1"],
            &["-1.5", "-1.50", "-15e-1"],
            &["10000", "1e4", "10000.0"],
            &["9223372036854775807", "9223372036854775807.0"],
            &["9223372036854775808", "9223372036854775808.00"],
            &["1e300", "1000e297"],
            &["1e-300", "10e-301"],
        ];
        for (i, a) in same.iter().enumerate() {
            for (j, b) in same.iter().enumerate() {
                for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b))) {
                    let payload = |text: &str| from_text(text).expect("a number");
                    let (x, y) = (payload(a), payload(b));
                    assert_eq!(equal(&x, &y), i == j, "{a} = {b}");
                    let small = match decode(&x) {
                        Some(Number::Int(v)) => Reduced::new(v, 0),
                        Some(Number::Decimal { mantissa, scale }) => Reduced::new(mantissa, scale),
                        None => continue,
                    };
                    assert_eq!(reduced(&y) == Some(small), i == j, "{a} = {b}");
                }
            }
        }
    }
}
