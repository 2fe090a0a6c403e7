//! jsonb as its text. (json is text already.)

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use arrow_schema::DataType;
use pgrx::pg_sys;

use super::column::{Column, Made, room};
use super::text::to_utf8;
use super::value::Value;
use crate::arrow::error::Unrepresentable;

struct Jsonb(StringBuilder);

impl Column for Jsonb {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        // JsonbToCString reads aligned words.
        let jsonb = value.unpacked();
        // SAFETY: the column's values are jsonb; it returns a palloc'd string.
        let text = unsafe {
            let (root, size) = (&raw mut (*jsonb.cast::<pg_sys::Jsonb>()).root, pgrx::varsize_any(jsonb));
            CStr::from_ptr(pg_sys::JsonbToCString(std::ptr::null_mut(), root, size as i32))
        };
        let text = to_utf8(text.to_bytes())?;
        room(self.0.values_slice(), text.as_bytes());
        self.0.append_value(&*text);
        Ok(text.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn jsonb() -> Made<'static> {
    (DataType::Utf8, Box::new(Jsonb(StringBuilder::new())))
}
