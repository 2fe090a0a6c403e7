//! Numbers by their decimal digits: which types of Arrow give all of them back.

use amax_jsonb::numeric::{self, Value};

use super::kind::Kind;

/// The digits that a decimal of 128 bits has at most.
const MOST_DIGITS: u32 = 38;

const POWERS: [u128; MOST_DIGITS as usize + 1] = {
    let mut powers = [1; MOST_DIGITS as usize + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// The powers of ten that are doubles.
const FLOATS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// So many digits a double always gives back, and so many at most.
const FLOAT_DIGITS: (u32, u32) = (15, 17);
/// Where a number lies so far from one, its double may have fewer digits.
const FLOAT_RANGE: i32 = 280;

/// `mantissa` * 10^`exponent`, the mantissa without zeros at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    negative: bool,
    mantissa: u128,
    exponent: i32,
}

impl Number {
    /// The number of a numeric's payload; None if it has more than 38 digits, or is none.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let Some(Value::Finite(digits)) = numeric::read(payload) else {
            return None;
        };
        let mut words = digits.iter();
        let Some(mut last) = words.next_back() else {
            return Some(Self {
                negative: false,
                mantissa: 0,
                exponent: 0,
            });
        };
        let mut exponent = 4 * (digits.weight - words.len() as i32);
        // The last of the digits, each of four decimal ones, is not zero.
        let mut power = 10_000;
        while last.is_multiple_of(10) {
            (last, power, exponent) = (last / 10, power / 10, exponent + 1);
        }
        let add = |sum: u128, (word, power): (u16, u128)| sum.checked_mul(power)?.checked_add(word.into());
        let mut words = words.map(|word| (word, 10_000)).chain([(last, power)]);
        let mantissa = words.try_fold(0, add)?;
        (mantissa < POWERS[MOST_DIGITS as usize]).then_some(Self {
            negative: digits.negative,
            mantissa,
            exponent,
        })
    }

    fn digits(self) -> u32 {
        self.mantissa.checked_ilog10().map_or(0, |log| log + 1)
    }

    /// Digits before the point, and behind it.
    fn around_point(self) -> (u32, u32) {
        let before = self.digits() as i32 + self.exponent;
        let before = if self.mantissa == 0 { 0 } else { before.max(0) };
        (before.unsigned_abs(), self.exponent.min(0).unsigned_abs())
    }

    /// Times 10^`by`, if that is whole and not too large.
    fn shifted(self, by: u32) -> Option<i128> {
        let power = usize::try_from(i64::from(self.exponent) + i64::from(by)).ok()?;
        let magnitude = self.mantissa.checked_mul(*POWERS.get(power)?)?;
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    pub(crate) fn to_i64(self) -> Option<i64> {
        self.shifted(0)?.try_into().ok()
    }

    /// Without its point, of `scale` digits behind it.
    pub(crate) fn to_decimal(self, scale: u32) -> Option<i128> {
        self.shifted(scale)
    }

    /// The double that is nearest.
    fn nearest(self) -> f64 {
        let power = FLOATS.get(self.exponent.unsigned_abs() as usize);
        let magnitude = match power {
            // Both are doubles, so that what is made of them is rounded once.
            Some(power) if self.mantissa < 1 << 53 && self.exponent >= 0 => self.mantissa as f64 * power,
            Some(power) if self.mantissa < 1 << 53 => self.mantissa as f64 / power,
            _ => format!("{}e{}", self.mantissa, self.exponent)
                .parse()
                .unwrap_or(f64::INFINITY),
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The double whose shortest text is this number: who prints it has the number back.
    pub(crate) fn to_f64(self) -> Option<f64> {
        let (always, most) = FLOAT_DIGITS;
        let digits = self.digits();
        if digits > most {
            return None;
        }
        let float = self.nearest();
        if digits <= always && self.exponent.abs() <= FLOAT_RANGE {
            return Some(float);
        }
        let text = format!("{:e}", float.abs());
        let (shown, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let shown = shown.replace('.', "");
        let same = shown.parse::<u128>() == Ok(self.mantissa) && exponent - (shown.len() as i32 - 1) == self.exponent;
        same.then_some(float)
    }
}

/// What all numbers at a place have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    integers: bool,
    floats: bool,
    /// Of decimals; digits before and behind the point, at most.
    decimals: bool,
    before: u32,
    behind: u32,
}

impl Numbers {
    pub(crate) fn new() -> Self {
        Self {
            integers: true,
            floats: true,
            decimals: true,
            before: 0,
            behind: 0,
        }
    }

    pub(crate) fn see(&mut self, payload: &[u8]) {
        if let Some(numeric::Number::Int(number)) = numeric::decode(payload)
            && let Some(log) = number.unsigned_abs().checked_ilog10()
            && log < FLOAT_DIGITS.0
        {
            // All of the types have it.
            self.before = self.before.max(log + 1);
            return;
        }
        let Some(number) = Number::of(payload) else {
            (self.integers, self.floats, self.decimals) = (false, false, false);
            return;
        };
        self.integers = self.integers && number.to_i64().is_some();
        self.floats = self.floats && number.to_f64().is_some();
        let (before, behind) = number.around_point();
        (self.before, self.behind) = (self.before.max(before), self.behind.max(behind));
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self { integers: true, .. } => Kind::Int,
            Self { floats: true, .. } => Kind::Float,
            Self { decimals: true, .. } if self.before + self.behind <= MOST_DIGITS => Kind::Decimal {
                precision: (self.before + self.behind) as u8,
                scale: self.behind as i8,
            },
            _ => Kind::Json,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Option<Number> {
        Number::of(&numeric::from_text(text).unwrap())
    }

    fn kind(texts: &[&str]) -> Kind {
        let mut numbers = Numbers::new();
        texts
            .iter()
            .for_each(|text| numbers.see(&numeric::from_text(text).unwrap()));
        numbers.kind()
    }

    #[test]
    fn doubles_that_print_as_the_number() {
        for text in [
            "0",
            "0.1",
            "-2.5",
            "1e22",
            "1e300",
            "123456789012345",
            "0.30000000000000004",
            "1.7976931348623157e308",
            "5e-324",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(number(text).unwrap().to_f64(), Some(expected), "{text}");
        }
        for text in [
            "9007199254740993",
            "0.1000000000000000001",
            "1e309",
            "1e-400",
            "0.300000000000000041",
        ] {
            assert_eq!(number(text).unwrap().to_f64(), None, "{text}");
        }
        assert_eq!(number("1234567890123456789012345678901234567890.1"), None);
    }

    #[test]
    fn the_narrowest_type_that_gives_all_back() {
        let decimal = |precision, scale| Kind::Decimal { precision, scale };
        assert_eq!(kind(&["1", "-9223372036854775808", "9223372036854775807"]), Kind::Int);
        assert_eq!(kind(&["0", "1.00"]), Kind::Int);
        assert_eq!(kind(&["1", "0.1"]), Kind::Float);
        assert_eq!(kind(&["1e20"]), Kind::Float);
        assert_eq!(kind(&["18446744073709551615"]), decimal(20, 0));
        assert_eq!(kind(&["9007199254740993", "0.25"]), decimal(18, 2));
        assert_eq!(kind(&["0.00000000000000000001234567890123456789"]), decimal(38, 38));
        assert_eq!(kind(&["18446744073709551615", "0.00000000000000000001"]), Kind::Json);
        assert_eq!(kind(&["18446744073709551615", "1e20"]), decimal(21, 0));
        assert_eq!(kind(&["NaN"]), Kind::Json);
    }

    #[test]
    fn values_of_a_type() {
        assert_eq!(number("-9223372036854775808").unwrap().to_i64(), Some(i64::MIN));
        assert_eq!(number("9223372036854775808").unwrap().to_i64(), None);
        assert_eq!(number("12000").unwrap().to_i64(), Some(12000));
        assert_eq!(number("-1.50").unwrap().to_decimal(3), Some(-1500));
        assert_eq!(number("1.55").unwrap().to_decimal(1), None);
    }
}
