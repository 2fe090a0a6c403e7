//! Types whose datum is the value: bool, int2, int4, int8, oid, float4, float8.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanBuilder, PrimitiveBuilder};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt32Type,
};
use pgrx::pg_sys::Datum;

use super::column::{Column, Made};
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

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// A fixed-width column whose values come from the datum's bits (DatumGetInt32 and the like in postgres.h).
struct ByValue<T: ArrowPrimitiveType, F> {
    values: PrimitiveBuilder<T>,
    get: F,
}

impl<T: ArrowPrimitiveType, F: Fn(Datum) -> T::Native> Column for ByValue<T, F> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        self.values.append_value((self.get)(value.datum()));
        Ok(std::mem::size_of::<T::Native>())
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

fn by_value<T: ArrowPrimitiveType>(get: impl Fn(Datum) -> T::Native + 'static) -> Made<'static> {
    (
        T::DATA_TYPE,
        Box::new(ByValue {
            values: PrimitiveBuilder::<T>::new(),
            get,
        }),
    )
}

pub fn boolean() -> Made<'static> {
    (DataType::Boolean, Box::new(Boolean(BooleanBuilder::new())))
}

pub fn int2() -> Made<'static> {
    by_value::<Int16Type>(|datum| datum.value() as i16)
}

pub fn int4() -> Made<'static> {
    by_value::<Int32Type>(|datum| datum.value() as i32)
}

pub fn int8() -> Made<'static> {
    by_value::<Int64Type>(|datum| datum.value() as i64)
}

pub fn oid() -> Made<'static> {
    by_value::<UInt32Type>(|datum| datum.value() as u32)
}

pub fn float4() -> Made<'static> {
    by_value::<Float32Type>(|datum| f32::from_bits(datum.value() as u32))
}

pub fn float8() -> Made<'static> {
    by_value::<Float64Type>(|datum| f64::from_bits(datum.value() as u64))
}
