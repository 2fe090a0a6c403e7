//! uuid as 16 bytes, with the canonical extension type arrow.uuid.

use std::sync::Arc;

use arrow::array::{ArrayRef, FixedSizeBinaryBuilder};
use arrow::datatypes::DataType;

use super::column::{Column, Made};
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
