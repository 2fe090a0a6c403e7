//! PostgreSQL's numeric (`src/backend/utils/adt/numeric.c`): base-10000 digits with a weight and a
//! display scale.
//!
//! A *payload* is a numeric's bytes after its varlena header: one 16-bit header in the short form
//! (sign, display scale up to 63, weight from -64 to 63), two in the long form, then the digits,
//! all little-endian 16-bit words.

use crate::Error;

mod digits;
mod equal;
mod text;

pub use digits::{Digits, Value, infinity, nan, read, write};
pub use equal::{Reduced, equal, order, reduced};
pub(crate) use text::parse;
pub use text::{from_text, to_text, write_text};

/// The largest display scale (`NUMERIC_DSCALE_MAX`).
pub const MAX_SCALE: u16 = 0x3FFF;

const SIGN_MASK: u16 = 0xC000;
const NEG: u16 = 0x4000;
const SHORT: u16 = 0x8000;
const SPECIAL: u16 = 0xC000;
const NAN: u16 = 0xC000;
const PINF: u16 = 0xD000;
const NINF: u16 = 0xF000;
const SHORT_SIGN: u16 = 0x2000;
const SHORT_DSCALE_MAX: u16 = 63;
const SHORT_DSCALE_SHIFT: u16 = 7;
const SHORT_WEIGHT_MASK: u16 = 0x007F;
const SHORT_WEIGHT_MIN: i32 = -64;
const SHORT_WEIGHT_MAX: i32 = 63;
/// Decimal digits per digit.
const DEC_DIGITS: usize = 4;
const NBASE: u16 = 10_000;

/// A number that fits a machine word exactly, display scale included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// An integer, with display scale zero.
    Int(i64),
    /// `mantissa` / 10^`scale`, `scale` being the display scale and at least one: 1.10 is 110, 2.
    Decimal {
        /// The number without its decimal point.
        mantissa: i64,
        /// Decimals displayed, at most [`MAX_SCALE`].
        scale: u16,
    },
}

/// A payload taken apart.
#[derive(Clone, Copy)]
struct Parts<'a> {
    negative: bool,
    /// Power of 10000 of the first digit.
    weight: i32,
    dscale: u16,
    digits: &'a [[u8; 2]],
    short: bool,
}

enum Form<'a> {
    Finite(Parts<'a>),
    Special(&'static str),
}

#[inline]
fn split(payload: &[u8]) -> Option<Form<'_>> {
    let (words, rest) = payload.as_chunks::<2>();
    let (header, words) = words.split_first()?;
    if !rest.is_empty() {
        return None;
    }
    let header = u16::from_le_bytes(*header);
    Some(Form::Finite(match header & SIGN_MASK {
        SHORT => Parts {
            negative: header & SHORT_SIGN != 0,
            // The low seven bits are a two's complement number.
            weight: i32::from(((header & SHORT_WEIGHT_MASK) << 9) as i16 >> 9),
            dscale: header >> SHORT_DSCALE_SHIFT & SHORT_DSCALE_MAX,
            digits: words,
            short: true,
        },
        SPECIAL => {
            return match header {
                _ if !words.is_empty() => None,
                NAN => Some(Form::Special("NaN")),
                PINF => Some(Form::Special("Infinity")),
                NINF => Some(Form::Special("-Infinity")),
                _ => None,
            };
        }
        sign => {
            let (weight, digits) = words.split_first()?;
            Parts {
                negative: sign == NEG,
                weight: i32::from(i16::from_le_bytes(*weight)),
                dscale: header & MAX_SCALE,
                digits,
                short: false,
            }
        }
    }))
}

/// Whether the headers are whole; digits are not looked at.
#[inline]
pub(crate) fn check(payload: &[u8]) -> Result<(), Error> {
    let header = payload.first_chunk::<2>().map(|header| u16::from_le_bytes(*header));
    match header {
        Some(header) if payload.len().is_multiple_of(2) => match header & SIGN_MASK {
            SHORT => Ok(()),
            SPECIAL if payload.len() == 2 && matches!(header, NAN | PINF | NINF) => Ok(()),
            SPECIAL => Err(Error::Corrupt("unknown special numeric")),
            _ if payload.len() >= 4 => Ok(()),
            _ => Err(Error::Truncated),
        },
        _ => Err(Error::Truncated),
    }
}

/// The number, if it fits and encoding it again would give exactly these bytes; `None` for all
/// others (larger numbers, NaN and infinities, forms PostgreSQL does not write, broken bytes).
pub fn decode(payload: &[u8]) -> Option<Number> {
    let Form::Finite(parts) = split(payload)? else {
        return None;
    };
    let Parts {
        negative,
        weight,
        dscale,
        digits,
        short,
    } = parts;
    if short != fits_short(dscale, weight) {
        return None;
    }
    let (Some(first), Some(last)) = (digits.first(), digits.last()) else {
        let canonical = !negative && weight == 0;
        return canonical.then(|| number(0, dscale));
    };
    // An i64 has 19 decimal digits, which touch at most six digits; the outermost are not zero.
    if digits.len() > 6 || *first == [0; 2] || *last == [0; 2] {
        return None;
    }
    // By which power of ten the digits are to be multiplied.
    let shift = DEC_DIGITS as i32 * (weight - (digits.len() as i32 - 1)) + i32::from(dscale);
    if let Some(magnitude) = small(digits, shift) {
        // Up to 10^16.
        let mantissa = magnitude as i64;
        return Some(number(if negative { -mantissa } else { mantissa }, dscale));
    }
    let mut value = 0_u128;
    for digit in digits {
        let digit = u16::from_le_bytes(*digit);
        if digit >= NBASE {
            return None;
        }
        value = value * u128::from(NBASE) + u128::from(digit);
    }
    let magnitude = if shift >= 0 {
        value.checked_mul(power(shift as usize)?)?
    } else {
        let divisor = power(shift.unsigned_abs() as usize)?;
        if !value.is_multiple_of(divisor) {
            return None; // digits beyond the display scale
        }
        value / divisor
    };
    let mantissa = if negative {
        0_i128.checked_sub_unsigned(magnitude)?
    } else {
        i128::try_from(magnitude).ok()?
    };
    Some(number(i64::try_from(mantissa).ok()?, dscale))
}

/// The digits times 10^`shift`, of few digits, if that is whole: what most numbers are, in one word.
#[inline]
fn small(digits: &[[u8; 2]], shift: i32) -> Option<u64> {
    let mut value = 0;
    if digits.len() > 3 {
        return None;
    }
    for digit in digits {
        let digit = u16::from_le_bytes(*digit);
        if digit >= NBASE {
            return None;
        }
        value = value * u64::from(NBASE) + u64::from(digit);
    }
    match shift {
        0 => Some(value),
        4 => Some(value * 10_000),
        -1 if value.is_multiple_of(10) => Some(value / 10),
        -2 if value.is_multiple_of(100) => Some(value / 100),
        -3 if value.is_multiple_of(1000) => Some(value / 1000),
        _ => None,
    }
}

fn number(mantissa: i64, scale: u16) -> Number {
    match scale {
        0 => Number::Int(mantissa),
        _ => Number::Decimal { mantissa, scale },
    }
}

/// 10^`exponent`, up to 10^19: more never fits an i64.
#[inline]
fn power(exponent: usize) -> Option<u128> {
    const POWERS: [u64; 20] = {
        let mut powers = [1; 20];
        let mut i = 1;
        while i < 20 {
            powers[i] = powers[i - 1] * 10;
            i += 1;
        }
        powers
    };
    POWERS.get(exponent).map(|&power| u128::from(power))
}

#[inline]
fn fits_short(dscale: u16, weight: i32) -> bool {
    dscale <= SHORT_DSCALE_MAX && (SHORT_WEIGHT_MIN..=SHORT_WEIGHT_MAX).contains(&weight)
}

/// Appends the payload of an integer, as `int8_numeric` makes it.
pub fn encode_int(value: i64, out: &mut Vec<u8>) {
    encode(value < 0, u128::from(value.unsigned_abs()), 0, 0, out);
}

/// Appends the payload of `mantissa` / 10^`scale` with display scale `scale`.
///
/// # Errors
/// [`Error::NumericOverflow`] if `scale` exceeds [`MAX_SCALE`]; `out` is then unchanged.
pub fn encode_decimal(mantissa: i64, scale: u16, out: &mut Vec<u8>) -> Result<(), Error> {
    if scale > MAX_SCALE {
        return Err(Error::NumericOverflow);
    }
    // Move the point to the boundary of a digit.
    let fraction = usize::from(scale).div_ceil(DEC_DIGITS);
    let aligned = match fraction * DEC_DIGITS - usize::from(scale) {
        0 => 1,
        1 => 10,
        2 => 100,
        _ => 1000,
    };
    let magnitude = u128::from(mantissa.unsigned_abs()) * aligned;
    encode(mantissa < 0, magnitude, fraction, scale, out);
    Ok(())
}

/// Appends `magnitude` / 10000^`fraction`.
#[inline]
fn encode(negative: bool, magnitude: u128, fraction: usize, dscale: u16, out: &mut Vec<u8>) {
    if magnitude > 0 && magnitude < u128::from(NBASE) && fits_short(dscale, -(fraction as i32)) {
        // Most numbers are small.
        let words = [short_header(negative, dscale, -(fraction as i32)), magnitude as u16];
        return out.extend_from_slice(words.map(u16::to_le_bytes).as_flattened());
    }
    // Last digit first; 2^63 * 1000 has 22 decimal digits.
    let mut digits = [0_u16; 6];
    let mut count = 0;
    let mut wide = magnitude;
    while wide > u128::from(u64::MAX) {
        digits[count] = (wide % u128::from(NBASE)) as u16;
        wide /= u128::from(NBASE);
        count += 1;
    }
    let mut rest = wide as u64;
    while rest > 0 {
        digits[count] = (rest % u64::from(NBASE)) as u16;
        rest /= u64::from(NBASE);
        count += 1;
    }
    let digits = &digits[..count];
    let trailing = digits.iter().take_while(|&&digit| digit == 0).count();
    let weight = if count == 0 {
        0
    } else {
        count as i32 - 1 - fraction as i32
    };
    header(negative, dscale, weight, out);
    let mut words = [[0; 2]; 6];
    let digits = digits[trailing..].iter().rev();
    let written = digits.len();
    words
        .iter_mut()
        .zip(digits)
        .for_each(|(word, digit)| *word = digit.to_le_bytes());
    out.extend_from_slice(words[..written].as_flattened());
}

/// Of what [`fits_short`].
#[inline]
fn short_header(negative: bool, dscale: u16, weight: i32) -> u16 {
    let sign = if negative { SHORT_SIGN } else { 0 };
    SHORT | sign | dscale << SHORT_DSCALE_SHIFT | (weight as u16 & SHORT_WEIGHT_MASK)
}

/// Appends the short header if it fits, else the long one (`make_result_opt_error`). `dscale` and
/// `weight` fit the long form.
fn header(negative: bool, dscale: u16, weight: i32, out: &mut Vec<u8>) {
    if fits_short(dscale, weight) {
        out.extend_from_slice(&short_header(negative, dscale, weight).to_le_bytes());
    } else {
        let word = if negative { NEG } else { 0 } | dscale;
        out.extend_from_slice(&word.to_le_bytes());
        out.extend_from_slice(&(weight as i16).to_le_bytes());
    }
}
