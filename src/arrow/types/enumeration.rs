//! Enums as their labels.

use std::collections::hash_map::{Entry, HashMap};
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use arrow_schema::DataType;
use pgrx::pg_sys;

use super::column::{Column, Made};
use super::text::to_utf8;
use super::value::Value;
use crate::arrow::error::Unrepresentable;

struct Enum {
    values: StringBuilder,
    /// Labels seen, by the oid of the enum value: one catalog lookup for each.
    labels: HashMap<u32, String>,
}

impl Column for Enum {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let label = match self.labels.entry(value.datum().value() as u32) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                // SAFETY: it looks the value up, and returns a palloc'd string.
                let label =
                    unsafe { CStr::from_ptr(pg_sys::OidOutputFunctionCall(pg_sys::F_ENUM_OUT.into(), value.datum())) };
                new.insert(to_utf8(label.to_bytes())?.into_owned())
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

pub fn column() -> Made<'static> {
    (
        DataType::Utf8,
        Box::new(Enum {
            values: StringBuilder::new(),
            labels: HashMap::new(),
        }),
    )
}
