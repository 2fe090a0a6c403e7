//! One-dimensional arrays as List. Lower bounds are not kept.

use std::sync::Arc;

use arrow::array::builder::NullBufferBuilder;
use arrow::array::{ArrayRef, ListArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, FieldRef};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made, TypedColumn};
use crate::arrow::error::Unrepresentable;

struct List {
    element: pg_sys::Oid,
    element_length: i16,
    element_by_value: bool,
    element_alignment: std::ffi::c_char,
    field: FieldRef,
    values: Box<dyn Column>,
    /// Elements so far; at most 2^27 in a value, and a batch is bounded (guc.rs), so 32 bits do.
    length: i32,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl List {
    fn end_value(&mut self, present: bool) {
        self.offsets.push(self.length);
        self.nulls.append(present);
    }
}

impl Column for List {
    unsafe fn append(&mut self, value: pg_sys::Datum) -> Result<usize, Unrepresentable> {
        let array = pg_sys::pg_detoast_datum(value.cast_mut_ptr()).cast::<pg_sys::ArrayType>();
        let dimensions = (*array).ndim;
        if dimensions > 1 {
            return Err(Unrepresentable::new(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("The array has {dimensions} dimensions; only one can be represented."),
                "Cast the column to text, or to json with to_json().",
            ));
        }
        let mut elements = std::ptr::null_mut();
        let mut nulls = std::ptr::null_mut();
        let mut count = 0;
        pg_sys::deconstruct_array(
            array,
            self.element,
            self.element_length.into(),
            self.element_by_value,
            self.element_alignment,
            &mut elements,
            &mut nulls,
            &mut count,
        );
        let mut bytes = std::mem::size_of::<i32>();
        for i in 0..count as usize {
            if *nulls.add(i) {
                self.values.append_null();
                bytes += 1;
            } else {
                bytes += self.values.append(*elements.add(i))?;
            }
        }
        self.length += count;
        self.end_value(true);
        Ok(bytes)
    }

    fn append_null(&mut self) {
        self.end_value(false);
    }

    fn finish(&mut self) -> ArrayRef {
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        self.length = 0;
        Arc::new(ListArray::new(
            self.field.clone(),
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            self.values.finish(),
            self.nulls.finish(),
        ))
    }
}

/// An array of `element`, whose column is `typed`.
///
/// # Safety
/// As [`super::column`].
pub unsafe fn column(element: pg_sys::Oid, typed: TypedColumn) -> Made {
    let field = Arc::new(typed.field("item"));
    let mut list = List {
        element,
        element_length: 0,
        element_by_value: false,
        element_alignment: 0,
        field: field.clone(),
        values: typed.column,
        length: 0,
        offsets: vec![0],
        nulls: NullBufferBuilder::new(0),
    };
    pg_sys::get_typlenbyvalalign(
        element,
        &mut list.element_length,
        &mut list.element_by_value,
        &mut list.element_alignment,
    );
    (DataType::List(field), Box::new(list))
}
