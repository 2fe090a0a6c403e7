//! Numerics as text (`set_var_from_str`, `get_str_from_var`).

use super::{DEC_DIGITS, Form, MAX_SCALE, NAN, NBASE, NINF, PINF, Parts, header, split};
use crate::Error;

/// A numeric payload as `numeric_out` prints it.
///
/// # Errors
/// [`Error::Corrupt`] if the bytes are not a numeric.
pub fn to_text(payload: &[u8]) -> Result<String, Error> {
    let mut text = Vec::new();
    write_text(payload, &mut text)?;
    String::from_utf8(text).map_err(|_| Error::Corrupt("not a numeric"))
}

/// As [`to_text`], appending; after an error `out` may hold part of the number.
///
/// # Errors
/// As [`to_text`].
pub fn write_text(payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let parts = match split(payload) {
        Some(Form::Finite(parts)) => parts,
        Some(Form::Special(name)) => {
            out.extend_from_slice(name.as_bytes());
            return Ok(());
        }
        None => return Err(Error::Corrupt("not a numeric")),
    };
    let Parts {
        negative,
        weight,
        dscale,
        ..
    } = parts;
    if negative {
        out.push(b'-');
    }
    if weight < 0 {
        out.push(b'0');
    }
    for place in 0..=weight {
        let digit = parts.digit(place)?;
        match place {
            0 => push_number(digit, out),
            _ => push_padded(digit, DEC_DIGITS, out),
        }
    }
    if dscale > 0 {
        out.push(b'.');
        let mut place = weight + 1;
        let mut left = usize::from(dscale);
        while left > 0 {
            let shown = left.min(DEC_DIGITS);
            push_padded(parts.digit(place)?, shown, out);
            left -= shown;
            place += 1;
        }
    }
    Ok(())
}

impl Parts<'_> {
    /// The digit `place` places after the first, zero outside of those stored.
    fn digit(&self, place: i32) -> Result<u16, Error> {
        let digit = usize::try_from(place).ok().and_then(|place| self.digits.get(place));
        match digit.map_or(0, |digit| u16::from_le_bytes(*digit)) {
            digit if digit < NBASE => Ok(digit),
            _ => Err(Error::Corrupt("numeric digit out of range")),
        }
    }
}

fn push_number(digit: u16, out: &mut Vec<u8>) {
    let shown = match digit {
        1000.. => 4,
        100.. => 3,
        10.. => 2,
        _ => 1,
    };
    for power in [1000, 100, 10, 1].iter().skip(DEC_DIGITS - shown) {
        out.push(b'0' + (digit / power % 10) as u8);
    }
}

/// The leading `shown` of the digit's four decimal digits.
fn push_padded(digit: u16, shown: usize, out: &mut Vec<u8>) {
    for power in [1000, 100, 10, 1].iter().take(shown) {
        out.push(b'0' + (digit / power % 10) as u8);
    }
}

/// The payload of a number in text, as `numeric_in` reads it: optional sign, digits with an optional
/// point, optional exponent; also NaN, Infinity and -Infinity. No white space.
///
/// # Errors
/// [`Error::NumericSyntax`], or [`Error::NumericOverflow`] beyond 131072 digits before or 16383
/// after the point.
pub fn from_text(text: &str) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    parse(text.as_bytes(), &mut out)?;
    Ok(out)
}

/// As [`from_text`], appending; after an error `out` is unchanged.
pub(crate) fn parse(text: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let special = match text {
        b"NaN" => NAN,
        b"Infinity" => PINF,
        b"-Infinity" => NINF,
        _ => 0,
    };
    if special != 0 {
        out.extend_from_slice(&special.to_le_bytes());
        return Ok(());
    }
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (number, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match number.iter().position(|&byte| byte == b'.') {
        Some(at) => (&number[..at], &number[at + 1..]),
        None => (number, &[][..]),
    };
    let mut decimals = whole.iter().chain(fraction);
    if whole.len() + fraction.len() == 0 || !decimals.all(u8::is_ascii_digit) {
        return Err(Error::NumericSyntax);
    }
    let dscale = (fraction.len() as i64 - exponent).max(0);
    if dscale > i64::from(MAX_SCALE) {
        return Err(Error::NumericOverflow);
    }
    let dscale = dscale as u16;

    // Significant decimals, the power of ten of the first one, and their split into digits.
    let decimals = || whole.iter().chain(fraction).map(|byte| u16::from(byte - b'0'));
    let count = whole.len() + fraction.len();
    let leading = decimals().take_while(|&decimal| decimal == 0).count();
    if leading == count {
        header(false, dscale, 0, out);
        return Ok(());
    }
    let trailing = decimals().rev().take_while(|&decimal| decimal == 0).count();
    let first_power = whole.len() as i64 - 1 - leading as i64 + exponent;
    let weight = first_power.div_euclid(DEC_DIGITS as i64);
    let weight = i16::try_from(weight).map_err(|_| Error::NumericOverflow)?;
    header(negative, dscale, i32::from(weight), out);
    let mut digit = 0;
    // Decimals still to go in the current digit.
    let mut room = first_power.rem_euclid(DEC_DIGITS as i64) + 1;
    for decimal in decimals().skip(leading).take(count - leading - trailing) {
        digit = digit * 10 + decimal;
        room -= 1;
        if room == 0 {
            out.extend_from_slice(&digit.to_le_bytes());
            (digit, room) = (0, DEC_DIGITS as i64);
        }
    }
    // The last decimal is not zero, so neither is what is left of a digit.
    if room < DEC_DIGITS as i64 {
        digit *= 10_u16.pow(room as u32);
        out.extend_from_slice(&digit.to_le_bytes());
    }
    Ok(())
}

fn parse_exponent(text: &[u8]) -> Result<i64, Error> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Error::NumericSyntax);
    }
    let mut exponent = 0_i64;
    for digit in digits {
        exponent = exponent * 10 + i64::from(digit - b'0');
        // The limit of set_var_from_str, INT_MAX / 2, even where the number is zero.
        if exponent >= i64::from(i32::MAX / 2) {
            return Err(Error::NumericOverflow);
        }
    }
    Ok(if negative { -exponent } else { exponent })
}
