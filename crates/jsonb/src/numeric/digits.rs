//! Numerics as their base-10000 digits, for arithmetic on numbers of any size.

use super::{Form, MAX_SCALE, NAN, NBASE, NINF, PINF, header, split};
use crate::Error;

/// A payload taken apart.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Not a number.
    NaN,
    /// Infinity, or -Infinity if negative.
    Infinity {
        /// Below every finite number.
        negative: bool,
    },
    /// Any other number.
    Finite(Digits<'a>),
}

/// A finite number: the sum of digit `i` * 10000^(`weight` - i).
#[derive(Clone, Copy, Debug)]
pub struct Digits<'a> {
    /// Below zero.
    pub negative: bool,
    /// Power of 10000 of the first digit.
    pub weight: i32,
    /// Display scale.
    pub dscale: u16,
    /// Little-endian, each below 10000.
    digits: &'a [[u8; 2]],
}

impl Digits<'_> {
    /// The digits, the most significant first, without zeros at either end.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u16> + ExactSizeIterator + Clone + '_ {
        self.digits.iter().map(|digit| u16::from_le_bytes(*digit))
    }
}

/// The number a payload holds; `None` if it is not a numeric. Zeros around the digits, which PostgreSQL does
/// not write, are left out, so that equal numbers have equal digits and weights.
pub fn read(payload: &[u8]) -> Option<Value<'_>> {
    let parts = match split(payload)? {
        Form::Special(_) => {
            return Some(match u16::from_le_bytes(*payload.first_chunk()?) {
                NAN => Value::NaN,
                sign => Value::Infinity { negative: sign == NINF },
            });
        }
        Form::Finite(parts) => parts,
    };
    if parts.digits.iter().any(|digit| u16::from_le_bytes(*digit) >= NBASE) {
        return None;
    }
    let mut digits = parts.digits;
    let mut weight = parts.weight;
    while let [[0, 0], rest @ ..] = digits {
        (digits, weight) = (rest, weight - 1);
    }
    while let [rest @ .., [0, 0]] = digits {
        digits = rest;
    }
    Some(Value::Finite(Digits {
        negative: parts.negative && !digits.is_empty(),
        weight: if digits.is_empty() { 0 } else { weight },
        dscale: parts.dscale,
        digits,
    }))
}

/// Appends the payload of the number with these digits, the most significant first and of power `weight` of
/// 10000 (`make_result`); zeros around them are left out.
///
/// # Errors
/// [`Error::NumericOverflow`] if weight or display scale do not fit; `out` is then unchanged.
pub fn write(negative: bool, weight: i32, dscale: u16, digits: &[u16], out: &mut Vec<u8>) -> Result<(), Error> {
    let leading = digits.iter().take_while(|&&digit| digit == 0).count();
    let digits = &digits[leading..];
    let trailing = digits.iter().rev().take_while(|&&digit| digit == 0).count();
    let digits = &digits[..digits.len() - trailing];
    let (negative, weight) = match digits {
        [] => (false, 0),
        _ => (negative, weight - leading as i32),
    };
    if i16::try_from(weight).is_err() || dscale > MAX_SCALE {
        return Err(Error::NumericOverflow);
    }
    header(negative, dscale, weight, out);
    for digit in digits {
        out.extend_from_slice(&digit.to_le_bytes());
    }
    Ok(())
}

/// The payload of NaN.
pub fn nan() -> [u8; 2] {
    NAN.to_le_bytes()
}

/// The payload of Infinity or -Infinity.
pub fn infinity(negative: bool) -> [u8; 2] {
    if negative { NINF } else { PINF }.to_le_bytes()
}
