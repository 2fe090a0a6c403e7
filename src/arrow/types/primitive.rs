//! Types whose datum is the value: bool, int2, int4, int8, oid, float4, float8.

use std::sync::Arc;

use amax_exec::Vector;
use arrow_array::builder::BooleanBuilder;
use arrow_array::types::{Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt32Type};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;

use super::column::{BadRow, Column, Made, Numbers};
use super::value::Value;
use crate::arrow::error::Unrepresentable;

struct Boolean(BooleanBuilder);

impl Column for Boolean {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        self.0.append_value(value.datum().value() as u8 != 0);
        Ok(1)
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        for row in 0..rows {
            self.0
                .append_option(values.is_valid(row).then(|| values.words[row] != 0));
        }
        Ok(rows)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// A column of numbers: what the bits of a datum (DatumGetInt32 and the like in postgres.h) are, and a vector's words.
struct ByValue<T: ArrowPrimitiveType, D, W> {
    values: Numbers<T>,
    of_datum: D,
    of_word: W,
}

impl<T: ArrowPrimitiveType, D: Fn(usize) -> T::Native, W: Fn(i64) -> T::Native> Column for ByValue<T, D, W> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        Ok(self.values.push((self.of_datum)(value.datum().value())))
    }

    fn append_null(&mut self) {
        self.values.push_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        Ok(self.values.push_all(values, rows, &self.of_word))
    }

    fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }
}

fn by_value<T: ArrowPrimitiveType>(
    of_datum: impl Fn(usize) -> T::Native + 'static,
    of_word: impl Fn(i64) -> T::Native + 'static,
) -> Made<'static> {
    let column = ByValue {
        values: Numbers::<T>::new(T::DATA_TYPE),
        of_datum,
        of_word,
    };
    (T::DATA_TYPE, Box::new(column))
}

pub fn boolean() -> Made<'static> {
    (DataType::Boolean, Box::new(Boolean(BooleanBuilder::new())))
}

pub fn int2() -> Made<'static> {
    by_value::<Int16Type>(|datum| datum as i16, |word| word as i16)
}

pub fn int4() -> Made<'static> {
    by_value::<Int32Type>(|datum| datum as i32, |word| word as i32)
}

pub fn int8() -> Made<'static> {
    by_value::<Int64Type>(|datum| datum as i64, |word| word)
}

pub fn oid() -> Made<'static> {
    by_value::<UInt32Type>(|datum| datum as u32, |word| word as u32)
}

pub fn float4() -> Made<'static> {
    by_value::<Float32Type>(
        |datum| f32::from_bits(datum as u32),
        |word| f64::from_bits(word as u64) as f32,
    )
}

pub fn float8() -> Made<'static> {
    by_value::<Float64Type>(|datum| f64::from_bits(datum as u64), |word| f64::from_bits(word as u64))
}
