//! Enums as their labels.

use std::collections::hash_map::{Entry, HashMap};
use std::ffi::CStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use pgrx::pg_sys;

use super::column::{Column, Made};
use super::text::to_utf8;
use crate::arrow::error::Unrepresentable;

struct Enum {
    values: StringBuilder,
    /// Labels seen, by the oid of the enum value: one catalog lookup for each.
    labels: HashMap<u32, String>,
}

impl Column for Enum {
    unsafe fn append(&mut self, value: pg_sys::Datum) -> Result<usize, Unrepresentable> {
        let label = match self.labels.entry(value.value() as u32) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let label = pg_sys::OidOutputFunctionCall(pg_sys::F_ENUM_OUT.into(), value);
                new.insert(to_utf8(CStr::from_ptr(label).to_bytes())?.to_owned())
            }
        };
        self.values.append_value(&*label);
        Ok(label.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

pub fn column() -> Made {
    (
        DataType::Utf8,
        Box::new(Enum {
            values: StringBuilder::new(),
            labels: HashMap::new(),
        }),
    )
}
