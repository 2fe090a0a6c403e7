//! numeric(p, s) as Decimal128 where p and s fit; numeric without precision, or with more than 38 digits, as text.
//!
//! The stored form (utils/adt/numeric.c): a header with sign, display scale and weight, then digits in base 10000,
//! the first worth 10000^weight.

use amax_exec::{Scalar, Vector};
use arrow_array::ArrayRef;
use arrow_array::types::Decimal128Type;
use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{BadRow, Column, Made, Numbers};
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
    values: Numbers<Decimal128Type>,
    precision: u8,
    scale: i8,
}

impl Decimal {
    /// What is held of a number times 10^scale.
    fn held(&self, unscaled: Result<i128, Special>) -> Result<i128, Unrepresentable> {
        match unscaled {
            Ok(unscaled) if unscaled.unsigned_abs() < POWERS[self.precision as usize].unsigned_abs() => Ok(unscaled),
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

    fn of_scalar(&self, value: Scalar<'_>) -> Result<i128, Special> {
        let scale = i32::from(self.scale);
        match value {
            Scalar::Decimal { mantissa, scale: own } => shifted(mantissa.into(), scale - i32::from(own)),
            Scalar::Numeric(payload) => unscaled(payload, scale),
            _ => unreachable!("a vector of numerics"),
        }
    }
}

impl Column for Decimal {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let unscaled = self.held(unscaled(value.payload(), self.scale.into()))?;
        Ok(self.values.push(unscaled))
    }

    fn append_null(&mut self) {
        self.values.push_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        for row in 0..rows {
            match values.get(row) {
                Scalar::Null => self.values.push_null(),
                value => {
                    let held = self.held(self.of_scalar(value)).map_err(|problem| (row, problem))?;
                    self.values.push(held);
                }
            }
        }
        Ok(rows * size_of::<i128>())
    }

    fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }
}

/// The column for numeric with type modifier `typmod`.
pub fn column(typmod: i32, scope: Scope<'_>) -> Made<'_> {
    match decimal_type(typmod) {
        Some((precision, scale)) => {
            let data_type = DataType::Decimal128(precision, scale);
            let values = Numbers::new(data_type.clone());
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

/// The number times 10^`by`, exactly: what lies behind the point has to be zeros.
fn shifted(number: i128, by: i32) -> Result<i128, Special> {
    let power = POWERS.get(by.unsigned_abs() as usize);
    let shifted = match power {
        Some(power) if by >= 0 => power.checked_mul(number),
        Some(power) if number % power == 0 => Some(number / power),
        None if number == 0 => Some(0),
        _ => None,
    };
    shifted.ok_or(Special::TooLarge)
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
        let term = shifted(word(i).into(), weight * DIGIT_BASE_LOG10 + scale)?;
        sum = sum.checked_add(term).ok_or(Special::TooLarge)?;
        weight -= 1;
    }
    Ok(if negative { -sum } else { sum })
}
