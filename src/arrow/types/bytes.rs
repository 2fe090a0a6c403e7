//! bytea as Binary. 32-bit offsets are safe for the reason given in text.rs.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::BinaryBuilder;
use arrow_schema::DataType;

use super::column::{Column, Made, room};
use super::value::Value;
use crate::arrow::error::Unrepresentable;

struct Bytea(BinaryBuilder);

impl Column for Bytea {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let bytes = value.payload();
        room(self.0.values_slice(), bytes);
        self.0.append_value(bytes);
        Ok(bytes.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn column() -> Made<'static> {
    (DataType::Binary, Box::new(Bytea(BinaryBuilder::new())))
}
