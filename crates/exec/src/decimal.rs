//! Numerics as values: equal and ordered as PostgreSQL has them, whatever their display scale.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use amax_jsonb::numeric::{self, Digits};

use crate::error::Error;
use crate::vector::LARGE;

/// For payloads of numerics that are none.
pub(crate) const NOT_A_NUMERIC: Error = Error::Corrupt("numeric value is damaged");

/// Decimal digits of one of numeric's.
const DEC_DIGITS: u32 = 4;
const NBASE: i128 = 10_000;

/// A numeric without its display scale; each value has one form, so that equal means equal fields.
#[derive(Clone, Copy, Debug)]
pub enum Decimal<'a> {
    /// -Infinity.
    NegativeInfinity,
    /// `mantissa` / 10^`scale`, with the least scale.
    Small {
        /// Without the decimal point.
        mantissa: i64,
        /// Decimals.
        scale: u16,
    },
    /// A number that is not small.
    Large(Digits<'a>),
    /// Infinity.
    Infinity,
    /// NaN, equal to itself and above all others.
    NaN,
}

/// 10^`exponent`, up to 10^38.
#[inline]
pub(crate) fn power(exponent: u32) -> Option<i128> {
    const POWERS: [i128; 39] = {
        let mut powers = [1; 39];
        let mut i = 1;
        while i < 39 {
            powers[i] = powers[i - 1] * 10;
            i += 1;
        }
        powers
    };
    POWERS.get(exponent as usize).copied()
}

impl<'a> Decimal<'a> {
    /// Of `mantissa` / 10^`scale`.
    #[inline]
    pub fn small(mut mantissa: i64, mut scale: u16) -> Self {
        if mantissa == 0 {
            scale = 0;
        }
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        Self::Small { mantissa, scale }
    }

    /// Of a payload; `None` if it is not a numeric.
    pub fn of_payload(payload: &'a [u8]) -> Option<Self> {
        Some(match numeric::read(payload)? {
            numeric::Value::NaN => Self::NaN,
            numeric::Value::Infinity { negative: true } => Self::NegativeInfinity,
            numeric::Value::Infinity { negative: false } => Self::Infinity,
            numeric::Value::Finite(digits) => narrow(&digits).unwrap_or(Self::Large(digits)),
        })
    }

    /// Its place among -Infinity, the finite numbers, Infinity and NaN.
    fn rank(&self) -> u8 {
        match self {
            Self::NegativeInfinity => 0,
            Self::Small { .. } | Self::Large(_) => 1,
            Self::Infinity => 2,
            Self::NaN => 3,
        }
    }
}

/// The number as a mantissa and a scale, if it fits.
fn narrow(digits: &Digits<'_>) -> Option<Decimal<'static>> {
    // An i64 has 19 decimal digits, which touch at most six digits; the outermost are not zero.
    if digits.iter().len() > 6 {
        return None;
    }
    let magnitude = digits.iter().fold(0, |value, digit| value * NBASE + i128::from(digit));
    let mut value = if digits.negative { -magnitude } else { magnitude };
    let last = digits.weight - (digits.iter().len() as i32 - 1);
    if digits.iter().len() == 0 {
        return Some(Decimal::small(0, 0));
    }
    if last >= 0 {
        value = value.checked_mul(power(DEC_DIGITS * last as u32)?)?;
        return Some(Decimal::small(i64::try_from(value).ok()?, 0));
    }
    let mut scale = DEC_DIGITS * last.unsigned_abs();
    while value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    let mantissa = i64::try_from(value).ok()?;
    let scale = u16::try_from(scale).ok().filter(|&scale| scale != LARGE)?;
    Some(Decimal::Small { mantissa, scale })
}

/// Two numbers, each a mantissa and a scale; None if 128 bits are not enough to tell.
pub fn compare_scaled((a, s): (i128, u16), (b, t): (i128, u16)) -> Option<Ordering> {
    let scale = s.max(t);
    let rescale = |value: i128, from: u16| value.checked_mul(power(u32::from(scale - from))?);
    Some(rescale(a, s)?.cmp(&rescale(b, t)?))
}

/// `left` / 10^`left_scale` against `right` / 10^`right_scale`.
#[inline]
pub(crate) fn compare_small(left: i64, left_scale: u16, right: i64, right_scale: u16) -> Ordering {
    match left_scale.cmp(&right_scale) {
        Ordering::Equal => left.cmp(&right),
        Ordering::Greater => compare_small(right, right_scale, left, left_scale).reverse(),
        Ordering::Less => match power(u32::from(right_scale - left_scale)) {
            // 2^63 * 10^19 fits.
            Some(power) if power <= 10_000_000_000_000_000_000 => (i128::from(left) * power).cmp(&i128::from(right)),
            // `right` is nearer to zero than any other left.
            _ if left == 0 => 0.cmp(&right),
            _ => left.cmp(&0),
        },
    }
}

fn compare_digits(left: &Digits<'_>, right: &Digits<'_>) -> Ordering {
    let sign = |digits: &Digits<'_>| match digits.iter().len() {
        0 => 0,
        _ if digits.negative => -1,
        _ => 1,
    };
    let by_sign = sign(left).cmp(&sign(right));
    let magnitude = || {
        let by_weight = left.weight.cmp(&right.weight);
        by_weight.then_with(|| left.iter().cmp(right.iter()))
    };
    by_sign.then_with(|| match sign(left) {
        0 => Ordering::Equal,
        1 => magnitude(),
        _ => magnitude().reverse(),
    })
}

impl Ord for Decimal<'_> {
    /// `cmp_numerics`.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (
                &Self::Small { mantissa, scale },
                &Self::Small {
                    mantissa: other,
                    scale: other_scale,
                },
            ) => compare_small(mantissa, scale, other, other_scale),
            (Self::Large(left), Self::Large(right)) => compare_digits(left, right),
            (Self::Large(left), &Self::Small { mantissa, scale }) => {
                with_digits(mantissa, scale, |right| compare_digits(left, right))
            }
            (Self::Small { .. }, Self::Large(_)) => other.cmp(self).reverse(),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Calls `f` with the digits of `mantissa` / 10^`scale`.
pub(crate) fn with_digits<R>(mantissa: i64, scale: u16, f: impl FnOnce(&Digits<'_>) -> R) -> R {
    let mut payload = Vec::with_capacity(18);
    // A small decimal's scale never exceeds its display scale.
    let written = numeric::encode_decimal(mantissa, scale.min(numeric::MAX_SCALE), &mut payload);
    debug_assert!(written.is_ok() && scale <= numeric::MAX_SCALE);
    match numeric::read(&payload) {
        Some(numeric::Value::Finite(digits)) => f(&digits),
        _ => unreachable!("a finite numeric was written"),
    }
}

impl PartialOrd for Decimal<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Small { mantissa, scale },
                Self::Small {
                    mantissa: other,
                    scale: other_scale,
                },
            ) => (mantissa, scale) == (other, other_scale),
            (Self::Large(left), Self::Large(right)) => compare_digits(left, right) == Ordering::Equal,
            _ => self.rank() == other.rank() && self.rank() != 1,
        }
    }
}

impl Eq for Decimal<'_> {}

impl Hash for Decimal<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Small { mantissa, scale } => {
                state.write_i64(*mantissa);
                state.write_u16(*scale);
            }
            Self::Large(digits) => {
                state.write_i32(digits.weight);
                state.write_u8(digits.negative.into());
                digits.iter().for_each(|digit| state.write_u16(digit));
            }
            _ => state.write_u8(self.rank()),
        }
    }
}
