//! Numbers as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type, Float64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, downcast_integer};
use arrow_schema::DataType;
use std::fmt::{Display, LowerExp};
use std::io::Write;

use crate::cell::Put;
use crate::error::Unwritten;

/// A column of integers or decimals.
pub(crate) fn put(array: &ArrayRef) -> Put {
    macro_rules! integers_of {
        ($type:ty, $array:ident) => {
            integers::<$type>($array)
        };
    }
    downcast_integer! {
        array.data_type() => (integers_of, array),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        other => unreachable!("no numbers: {other}")
    }
}

fn integers<T>(array: &ArrayRef) -> Put
where
    T: ArrowPrimitiveType<Native: itoa::Integer>,
{
    let array: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    Box::new(move |row, to| {
        to.extend(itoa::Buffer::new().format(array.value(row)).as_bytes());
        Ok(())
    })
}

/// A number of its own precision.
pub(crate) trait Shown: Display + LowerExp {}
impl Shown for f32 {}
impl Shown for f64 {}

/// A column of floating-point numbers. In JSON what is no finite number is a string.
pub(crate) fn floats(array: &ArrayRef, json: bool) -> Put {
    match array.data_type() {
        DataType::Float16 => {
            let array = array.as_primitive::<Float16Type>().clone();
            Box::new(move |row, to| float(array.value(row).to_f32().into(), &array.value(row).to_f32(), json, to))
        }
        DataType::Float32 => {
            let array = array.as_primitive::<Float32Type>().clone();
            Box::new(move |row, to| float(array.value(row).into(), &array.value(row), json, to))
        }
        _ => {
            let array = array.as_primitive::<Float64Type>().clone();
            Box::new(move |row, to| float(array.value(row), &array.value(row), json, to))
        }
    }
}

/// The shortest text that reads back as the same number, which is an integer's where it is one: its input function reads that, too.
pub(crate) fn float(value: f64, shown: &dyn Shown, json: bool, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    let name = match value {
        _ if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ if value.fract() == 0.0 && value.abs() < 1e19 && (value != 0.0 || value.is_sign_positive()) => {
            to.extend(itoa::Buffer::new().format(value as i128).as_bytes());
            return Ok(());
        }
        _ => {
            let plain = value == 0.0 || (1e-5..1e16).contains(&value.abs());
            let written = if plain {
                write!(to, "{shown}")
            } else {
                write!(to, "{shown:e}")
            };
            written.expect("a vector takes it");
            return Ok(());
        }
    };
    let quote: &[u8] = if json { b"\"" } else { b"" };
    to.extend([quote, name.as_bytes(), quote].concat());
    Ok(())
}

fn decimals<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> Put {
    let array: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    Box::new(move |row, to| {
        let text = T::format_decimal(array.value(row), array.precision(), array.scale());
        to.extend(text.as_bytes());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::float;

    #[test]
    fn floats_read_back_and_whole_ones_are_integers() {
        let text = |value: f64, json| {
            let mut to = Vec::new();
            float(value, &value, json, &mut to).unwrap();
            String::from_utf8(to).unwrap()
        };
        for value in [0.1, -0.0, 1e300, 5e-324, f64::MAX, 123_456_789_012_345_680.0, -2.5e-7] {
            assert_eq!(text(value, true).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(text(3.0, false), "3");
        assert_eq!(text(0.25, false), "0.25");
        assert_eq!(text(-0.0, false), "-0");
        assert_eq!(text(4_611_686_018_427_387_904.0, false), "4611686018427387904");
        assert_eq!(text(f64::NAN, true), "\"NaN\"");
        assert_eq!(text(f64::NEG_INFINITY, false), "-Infinity");
        let mut single = Vec::new();
        float(123_456_792.0_f32.into(), &123_456_792.0_f32, false, &mut single).unwrap();
        assert_eq!(single, b"123456792");
    }
}
