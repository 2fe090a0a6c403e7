//! jsonb as its text. (json is text already.)

use std::ffi::CStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use pgrx::pg_sys;

use super::column::{Column, Made, room};
use super::text::to_utf8;
use crate::arrow::error::Unrepresentable;

struct Jsonb(StringBuilder);

impl Column for Jsonb {
    unsafe fn append(&mut self, value: pg_sys::Datum) -> Result<usize, Unrepresentable> {
        // JsonbToCString reads aligned words: a full detoast also unpacks a short header.
        let jsonb = pg_sys::pg_detoast_datum(value.cast_mut_ptr()).cast::<pg_sys::Jsonb>();
        let text = pg_sys::JsonbToCString(
            std::ptr::null_mut(),
            &mut (*jsonb).root,
            pgrx::varsize_any(jsonb.cast()) as i32,
        );
        let text = to_utf8(CStr::from_ptr(text).to_bytes())?;
        room(self.0.values_slice(), text.as_bytes());
        self.0.append_value(text);
        Ok(text.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn jsonb() -> Made {
    (DataType::Utf8, Box::new(Jsonb(StringBuilder::new())))
}
