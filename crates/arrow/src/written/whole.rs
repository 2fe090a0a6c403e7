//! Whole numbers, as Parquet stores them: of 32 bits or 64.

use super::pages::Bound;
use amax_format::parquet::Integer;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

/// A number of Parquet's.
pub(super) trait Whole: Bound + Integer {
    /// Appends numbers as they are.
    fn put_plain(numbers: &[Self], to: &mut Vec<u8>);

    /// Appends the values among some rows of an array of a type that is stored so.
    fn put_values(array: &ArrayRef, from: usize, rows: usize, to: &mut Vec<Self>);
}

impl Whole for i32 {
    fn put_plain(numbers: &[Self], to: &mut Vec<u8>) {
        put_bytes(numbers, to, Self::to_le_bytes);
    }

    fn put_values(array: &ArrayRef, from: usize, rows: usize, to: &mut Vec<Self>) {
        match array.data_type() {
            DataType::Int16 => put::<Int16Type, _>(array, from, rows, to, i32::from),
            DataType::Int32 => put::<Int32Type, _>(array, from, rows, to, |number| number),
            DataType::Date32 => put::<Date32Type, _>(array, from, rows, to, |number| number),
            DataType::Decimal128(_, _) => put::<Decimal128Type, _>(array, from, rows, to, |number| number as i32),
            other => unreachable!("{other} in 32 bits"),
        }
    }
}

impl Whole for i64 {
    fn put_plain(numbers: &[Self], to: &mut Vec<u8>) {
        put_bytes(numbers, to, Self::to_le_bytes);
    }

    fn put_values(array: &ArrayRef, from: usize, rows: usize, to: &mut Vec<Self>) {
        match array.data_type() {
            DataType::Int64 => put::<Int64Type, _>(array, from, rows, to, |number| number),
            DataType::Time64(_) => put::<Time64MicrosecondType, _>(array, from, rows, to, |number| number),
            DataType::Timestamp(_, _) => put::<TimestampMicrosecondType, _>(array, from, rows, to, |number| number),
            DataType::Decimal128(_, _) => put::<Decimal128Type, _>(array, from, rows, to, |number| number as i64),
            other => unreachable!("{other} in 64 bits"),
        }
    }
}

/// Whether values of a type are among those above; decimals of many digits are bytes in Parquet.
pub(super) fn is_whole(data_type: &DataType) -> bool {
    match data_type {
        DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Date32 => true,
        DataType::Time64(unit) | DataType::Timestamp(unit, _) => *unit == TimeUnit::Microsecond,
        DataType::Decimal128(precision, _) => *precision <= 18,
        _ => false,
    }
}

fn put_bytes<T: Copy, const N: usize>(numbers: &[T], to: &mut Vec<u8>, bytes_of: impl Fn(T) -> [u8; N]) {
    let from = to.len();
    to.resize(from + numbers.len() * N, 0);
    for (bytes, &number) in to[from..].as_chunks_mut().0.iter_mut().zip(numbers) {
        *bytes = bytes_of(number);
    }
}

fn put<A: ArrowPrimitiveType, T>(
    array: &ArrayRef,
    from: usize,
    rows: usize,
    to: &mut Vec<T>,
    of: impl Fn(A::Native) -> T + Copy,
) {
    let values = &array.as_primitive::<A>().values()[from..from + rows];
    match array.nulls().map(|nulls| nulls.slice(from, rows)) {
        Some(nulls) if nulls.null_count() > 0 => {
            for (start, end) in nulls.valid_slices() {
                to.extend(values[start..end].iter().map(|&value| of(value)));
            }
        }
        _ => to.extend(values.iter().map(|&value| of(value))),
    }
}
