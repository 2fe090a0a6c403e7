//! Numbers as text.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use std::io::Write;

use crate::cell::Put;

/// A column of numbers. In JSON what is no finite number is a string.
pub(crate) fn put(array: &ArrayRef, json: bool) -> Put {
    match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 => floats::<Float16Type>(array, json, |value| value.to_f32()),
        DataType::Float32 => floats::<Float32Type>(array, json, |value| value),
        DataType::Float64 => floats::<Float64Type>(array, json, |value| value),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        other => unreachable!("no numbers: {other}"),
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

/// The shortest text that reads back as the same number.
fn floats<T>(array: &ArrayRef, json: bool, float: impl Fn(T::Native) -> T::Float + 'static) -> Put
where
    T: FloatColumn,
{
    let array: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    Box::new(move |row, to| {
        float(array.value(row)).write(json, to);
        Ok(())
    })
}

/// How a type of floating-point numbers is written.
trait FloatColumn: ArrowPrimitiveType {
    type Float: Float;
}

impl FloatColumn for Float16Type {
    type Float = f32;
}

impl FloatColumn for Float32Type {
    type Float = f32;
}

impl FloatColumn for Float64Type {
    type Float = f64;
}

trait Float {
    fn write(self, json: bool, to: &mut Vec<u8>);
}

macro_rules! float {
    ($float:ty) => {
        impl Float for $float {
            fn write(self, json: bool, to: &mut Vec<u8>) {
                let name: &[u8] = match self {
                    _ if self.is_nan() => b"NaN",
                    <$float>::INFINITY => b"Infinity",
                    <$float>::NEG_INFINITY => b"-Infinity",
                    // Integers without an exponent: an integer's input function reads them.
                    _ if self == 0.0 || (1e-5..1e19).contains(&self.abs()) => {
                        write!(to, "{self}").expect("a vector takes it");
                        return;
                    }
                    _ => {
                        write!(to, "{self:e}").expect("a vector takes it");
                        return;
                    }
                };
                match json {
                    true => {
                        to.push(b'"');
                        to.extend(name);
                        to.push(b'"');
                    }
                    false => to.extend(name),
                }
            }
        }
    };
}
float!(f32);
float!(f64);

fn decimals<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> Put {
    let array: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    let (DataType::Decimal32(_, scale)
    | DataType::Decimal64(_, scale)
    | DataType::Decimal128(_, scale)
    | DataType::Decimal256(_, scale)) = *array.data_type()
    else {
        unreachable!("a decimal has a scale")
    };
    Box::new(move |row, to| {
        let unscaled = T::format_decimal(array.value(row), T::MAX_PRECISION, 0);
        scaled(&unscaled, scale, to);
        Ok(())
    })
}

/// A number of so many digits behind the point, of its digits.
fn scaled(digits: &str, scale: i8, to: &mut Vec<u8>) {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    to.extend(sign.as_bytes());
    let behind = usize::from(scale.max(0).unsigned_abs());
    if digits.len() <= behind {
        to.extend(b"0.");
        to.resize(to.len() + behind - digits.len(), b'0');
        to.extend(digits.as_bytes());
        return;
    }
    let (whole, fraction) = digits.split_at(digits.len() - behind);
    to.extend(whole.as_bytes());
    if behind > 0 {
        to.push(b'.');
        to.extend(fraction.as_bytes());
    } else if digits != "0" {
        to.resize(to.len() + usize::from(scale.unsigned_abs()), b'0');
    }
}

#[cfg(test)]
mod tests {
    use super::{Float, scaled};

    #[test]
    fn decimals_by_their_scale() {
        let text = |digits, scale| {
            let mut to = Vec::new();
            scaled(digits, scale, &mut to);
            String::from_utf8(to).unwrap()
        };
        assert_eq!(text("12345", 2), "123.45");
        assert_eq!(text("-5", 2), "-0.05");
        assert_eq!(text("-12", 2), "-0.12");
        assert_eq!(text("0", 3), "0.000");
        assert_eq!(text("7", 0), "7");
        assert_eq!(text("-7", -3), "-7000");
        assert_eq!(text("0", -3), "0");
    }

    #[test]
    fn floats_read_back_and_whole_ones_are_integers() {
        let text = |value: f64, json| {
            let mut to = Vec::new();
            value.write(json, &mut to);
            String::from_utf8(to).unwrap()
        };
        for value in [0.1, -0.0, 1e300, 5e-324, f64::MAX, 123_456_789_012_345_680.0] {
            assert_eq!(text(value, true).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
        assert_eq!(text(3.0, false), "3");
        assert_eq!(text(9e18, false), "9000000000000000000");
        assert_eq!(text(f64::NAN, true), "\"NaN\"");
        assert_eq!(text(f64::NEG_INFINITY, false), "-Infinity");
    }
}
