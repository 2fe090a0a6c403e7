//! One-dimensional arrays as List. Lower bounds are not kept.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, FieldRef};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made, TypedColumn};
use super::value::{Layout, Value};
use crate::arrow::error::Unrepresentable;
use crate::pg::Values;

/// What arrays are of.
struct Element {
    sql_type: pg_sys::Oid,
    layout: Layout,
    alignment: std::ffi::c_char,
}

impl Element {
    fn of(sql_type: pg_sys::Oid) -> Self {
        let (mut length, mut by_value, mut alignment) = (0, false, 0);
        // SAFETY: it looks the type up.
        unsafe { pg_sys::get_typlenbyvalalign(sql_type, &mut length, &mut by_value, &mut alignment) };
        Self {
            sql_type,
            layout: Layout { length, by_value },
            alignment,
        }
    }

    fn value<'a>(&self, of: &Values<'a>, at: usize) -> Option<Value<'a>> {
        // SAFETY: an element of an array of this type.
        of.get(at).map(|datum| unsafe { Value::of(datum, self.layout) })
    }
}

/// deconstruct_array(): the elements of an array that has at most one dimension, or else the number of those.
fn elements<'a>(array: Value<'a>, of: &Element) -> Result<Values<'a>, i32> {
    let array = array.unpacked().cast::<pg_sys::ArrayType>();
    let (mut values, mut nulls, mut count) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    let (length, by_value) = (of.layout.length.into(), of.layout.by_value);
    // SAFETY: the column's values are arrays of this type. What it allocates stays as long as the value.
    unsafe {
        if (*array).ndim > 1 {
            return Err((*array).ndim);
        }
        let (values, nulls, count) = (&mut values, &mut nulls, &mut count);
        pg_sys::deconstruct_array(array, of.sql_type, length, by_value, of.alignment, values, nulls, count);
        Ok(Values::of(*values, *nulls, *count as usize))
    }
}

struct List<'c> {
    element: Element,
    field: FieldRef,
    values: Box<dyn Column + 'c>,
    /// Elements so far; at most 2^27 in a value, and a batch is bounded (guc.rs), so 32 bits do.
    length: i32,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl List<'_> {
    fn end_value(&mut self, present: bool) {
        self.offsets.push(self.length);
        self.nulls.append(present);
    }
}

impl Column for List<'_> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let elements = elements(value, &self.element).map_err(|dimensions| {
            Unrepresentable::new(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("The array has {dimensions} dimensions; only one can be represented."),
                "Cast the column to text, or to json with to_json().",
            )
        })?;
        let mut bytes = std::mem::size_of::<i32>();
        for at in 0..elements.len() {
            match self.element.value(&elements, at) {
                Some(element) => bytes += self.values.append(element)?,
                None => {
                    self.values.append_null();
                    bytes += 1;
                }
            }
        }
        self.length += elements.len() as i32;
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
pub fn column<'a>(element: pg_sys::Oid, typed: TypedColumn<'a>) -> Made<'a> {
    let field = Arc::new(typed.field("item"));
    let list = List {
        element: Element::of(element),
        field: field.clone(),
        values: typed.column,
        length: 0,
        offsets: vec![0],
        nulls: NullBufferBuilder::new(0),
    };
    (DataType::List(field), Box::new(list))
}
