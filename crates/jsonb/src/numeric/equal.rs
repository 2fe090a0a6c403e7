//! Equal numbers, whatever decimals they display: 1 and 1.00; and the order of numbers.

use std::cmp::Ordering;

use super::{Digits, Value, read};

/// A number without zeros at the end of its decimals; equal numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Its mantissa, with so many decimals; `None` if that is too large, or if it has more of them.
    #[must_use]
    pub fn scaled(&self, scale: u16) -> Option<i128> {
        let power = 10i128.checked_pow(scale.checked_sub(self.scale)?.into())?;
        i128::from(self.mantissa).checked_mul(power)
    }

    /// Decimals.
    #[must_use]
    pub fn scale(&self) -> u16 {
        self.scale
    }

    /// How `mantissa` / 10^`scale` compares to it.
    #[must_use]
    pub fn compared(&self, mantissa: i64, scale: u16) -> Ordering {
        // With more digits than an i64 has, anything but zero lies beyond the other number.
        let widened = |n: i64, by: u16| match 10i128.checked_pow(by.into()).filter(|_| by < 20) {
            Some(power) => i128::from(n) * power,
            None => i128::from(n.signum()) * i128::MAX,
        };
        let (more, less) = (self.scale.saturating_sub(scale), scale.saturating_sub(self.scale));
        widened(mantissa, more).cmp(&widened(self.mantissa, less))
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

/// The order of the numbers of two payloads (`numeric_cmp`); `None` if one is not a numeric.
pub fn order(a: &[u8], b: &[u8]) -> Option<Ordering> {
    let rank = |value: &Value<'_>| match value {
        Value::Infinity { negative: true } => 0,
        Value::Finite(_) => 1,
        Value::Infinity { negative: false } => 2,
        Value::NaN => 3,
    };
    Some(match (read(a)?, read(b)?) {
        (Value::Finite(a), Value::Finite(b)) => order_of(&a, &b),
        (a, b) => rank(&a).cmp(&rank(&b)),
    })
}

fn order_of(a: &Digits<'_>, b: &Digits<'_>) -> Ordering {
    let sign = |n: &Digits<'_>| match (n.iter().len(), n.negative) {
        (0, _) => 0,
        (_, negative) => 1 - 2 * i32::from(negative),
    };
    // There are no zeros at the ends.
    let magnitude = || a.weight.cmp(&b.weight).then_with(|| a.iter().cmp(b.iter()));
    sign(a).cmp(&sign(b)).then_with(|| match sign(a) {
        0 => Ordering::Equal,
        1 => magnitude(),
        _ => magnitude().reverse(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Number, decode, from_text};
    use super::*;

    #[test]
    fn with_more_decimals() {
        let number = Reduced::new(-150, 2);
        assert_eq!(number.scale(), 1);
        assert_eq!(number.scaled(1), Some(-15));
        assert_eq!(number.scaled(20), Some(-150_000_000_000_000_000_000));
        assert_eq!(number.scaled(0), None);
        assert_eq!(number.scaled(40), None);
    }

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
    #[test]
    fn the_order_of_numbers() {
        let ascending = [
            "-1e300",
            "-9223372036854775809",
            "-9223372036854775808",
            "-100000.5",
            "-10000",
            "-1.5",
            "-1.0001",
            "-1",
            "-1e-300",
            "0",
            "1e-300",
            "0.000000000000000000000000000001",
            "0.09",
            "0.1",
            "0.9999",
            "1",
            "1.00001",
            "9999.9999",
            "10000",
            "10000.0001",
            "20000",
            "123456789012.345678",
            "9223372036854775807",
            "9223372036854775808",
            "1e300",
        ];
        let mut payloads: Vec<Vec<u8>> = ascending.map(|text| from_text(text).expect("a number")).to_vec();
        payloads.insert(0, super::super::infinity(true).to_vec());
        payloads.push(super::super::infinity(false).to_vec());
        payloads.push(super::super::nan().to_vec());
        for (i, a) in payloads.iter().enumerate() {
            for (j, b) in payloads.iter().enumerate() {
                assert_eq!(order(a, b), Some(i.cmp(&j)), "{i} {j}");
                let Some(b) = reduced(b) else { continue };
                let found = match decode(a) {
                    Some(Number::Int(v)) => b.compared(v, 0),
                    Some(Number::Decimal { mantissa, scale }) => b.compared(mantissa, scale),
                    None => continue,
                };
                assert_eq!(found, i.cmp(&j), "{i} {j}");
            }
        }
        let one = reduced(&from_text("1").expect("a number")).expect("small");
        assert_eq!(one.compared(1000, 3), Ordering::Equal);
        assert_eq!(one.compared(1, 40), Ordering::Less);
        assert_eq!(one.compared(-1, 40), Ordering::Less);
        assert_eq!(order(b"", b""), None);
    }
}
