//! numeric(p, s) as Decimal128 where p and s fit; numeric without precision, or with more than 38 digits, as text.
//!
//! The stored form (utils/adt/numeric.c): a header with sign, display scale and weight, then digits in base 10000,
//! the first worth 10000^weight.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Builder};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made};
use super::text;
use super::value::Value;
use crate::arrow::error::Unrepresentable;
use crate::arrow::scope::Scope;

const DIGIT_BASE_LOG10: i32 = 4;

/// Powers of ten up to the largest an i128 holds.
const POWERS: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

struct Decimal {
    values: Decimal128Builder,
    precision: u8,
    scale: i8,
}

impl Column for Decimal {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        match unscaled(value.payload(), self.scale.into()) {
            Ok(unscaled) if unscaled.unsigned_abs() < POWERS[self.precision as usize].unsigned_abs() => {
                self.values.append_value(unscaled);
                Ok(16)
            }
            Err(Special::NotFinite) => Err(Unrepresentable::new(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                "The number is NaN or infinite; Arrow decimals are finite.",
                "Cast the column to text or to double precision, or replace NaN by NULL: nullif(column, 'NaN').",
            )),
            Ok(_) | Err(Special::TooLarge) => Err(Unrepresentable::new(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "The number does not fit into {} digits, {} of them after the point.",
                    self.precision, self.scale
                ),
                "Cast the column to text.",
            )),
        }
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

/// The column for numeric with type modifier `typmod`.
pub fn column(typmod: i32, scope: Scope<'_>) -> Made<'_> {
    match decimal_type(typmod) {
        Some((precision, scale)) => {
            let data_type = DataType::Decimal128(precision, scale);
            let values = Decimal128Builder::new().with_data_type(data_type.clone());
            (
                data_type,
                Box::new(Decimal {
                    values,
                    precision,
                    scale,
                }),
            )
        }
        None => text::output(pg_sys::F_NUMERIC_OUT.into(), scope),
    }
}

/// Arrow's precision and scale for a declared numeric, if there is one with at most 38 digits.
///
/// PostgreSQL's scale may exceed the precision or be negative, which readers of Arrow are not prepared for: the
/// precision is widened so that 0 <= scale <= precision.
fn decimal_type(typmod: i32) -> Option<(u8, i8)> {
    let header = pg_sys::VARHDRSZ as i32;
    if typmod < header {
        return None;
    }
    // numeric_typmod_precision and numeric_typmod_scale: 11 bits of signed scale.
    let packed = typmod - header;
    let precision = (packed >> 16) & 0xffff;
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    let precision = if scale < 0 {
        precision - scale
    } else {
        precision.max(scale)
    };
    (precision <= i32::from(DECIMAL128_MAX_PRECISION)).then(|| (precision as u8, scale.max(0) as i8))
}

enum Special {
    NotFinite,
    TooLarge,
}

/// The number times 10^scale, exactly.
fn unscaled(stored: &[u8], scale: i32) -> Result<i128, Special> {
    let word = |i: usize| u16::from_ne_bytes([stored[2 * i], stored[2 * i + 1]]);
    let header = word(0);
    let (negative, mut weight, first_digit) = match header & 0xc000 {
        0xc000 => return Err(Special::NotFinite),
        // NumericShort: weight is 7 bits, signed.
        0x8000 => {
            let weight = i32::from(header & 0x3f) - if header & 0x40 != 0 { 0x40 } else { 0 };
            (header & 0x2000 != 0, weight, 1)
        }
        sign => (sign == 0x4000, i32::from(word(1) as i16), 2),
    };
    let mut sum: i128 = 0;
    for i in first_digit..stored.len() / 2 {
        let digit = i128::from(word(i));
        let exponent = weight * DIGIT_BASE_LOG10 + scale;
        let term = if exponent >= 0 {
            POWERS.get(exponent as usize).and_then(|power| power.checked_mul(digit))
        } else {
            // The last digit's tail lies behind the scale; it has to be zeros.
            match POWERS.get(-exponent as usize) {
                Some(power) if digit % power == 0 => Some(digit / power),
                _ => None,
            }
        };
        sum = term.and_then(|term| sum.checked_add(term)).ok_or(Special::TooLarge)?;
        weight -= 1;
    }
    Ok(if negative { -sum } else { sum })
}
