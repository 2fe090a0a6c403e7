//! uuid as 16 bytes, with the canonical extension type arrow.uuid.

use std::sync::Arc;

use amax_exec::Vector;
use arrow_array::ArrayRef;
use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_schema::DataType;

use super::column::{BadRow, Column, Made};
use super::value::Value;
use crate::arrow::error::Unrepresentable;

/// UUID_LEN in utils/uuid.h; the datum points to that many bytes.
const LENGTH: i32 = 16;

struct Uuid(FixedSizeBinaryBuilder);

impl Column for Uuid {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let uuid = value.bytes::<{ LENGTH as usize }>();
        self.0.append_value(uuid).expect("a uuid has the column's width");
        Ok(LENGTH as usize)
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        for row in 0..rows {
            match values.is_valid(row) {
                true => self
                    .0
                    .append_value(values.string(row))
                    .expect("a uuid has the column's width"),
                false => self.0.append_null(),
            }
        }
        Ok(rows * LENGTH as usize)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn column() -> Made<'static> {
    (
        DataType::FixedSizeBinary(LENGTH),
        Box::new(Uuid(FixedSizeBinaryBuilder::new(LENGTH))),
    )
}
