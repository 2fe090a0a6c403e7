//! Text as Utf8: text, varchar, bpchar, json, name, and types known by what their output function prints.
//!
//! 32-bit offsets are safe: a batch ends at 512 MB at most (guc.rs), so before its last row a column holds less than
//! that, and a value is at most 1 GB.

use std::ffi::CStr;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made, room};
use super::varlena::payload;
use crate::arrow::error::Unrepresentable;
use crate::encoding;

/// Bytes in the server's encoding as UTF-8, converted in CurrentMemoryContext where the encoding is another.
///
/// # Safety
/// Called in a transaction.
pub unsafe fn to_utf8(bytes: &[u8]) -> Result<&str, Unrepresentable> {
    std::str::from_utf8(encoding::to_utf8(bytes)).map_err(|error| {
        Unrepresentable::new(
            PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            format!("The text is not valid UTF-8 at byte {}.", error.valid_up_to()),
            "Arrow text is UTF-8. Cast the column to bytea.",
        )
    })
}

/// How a datum becomes text.
trait Render {
    unsafe fn render<'a>(&mut self, value: pg_sys::Datum) -> &'a [u8];
}

struct Text<R> {
    values: StringBuilder,
    render: R,
}

impl<R: Render> Column for Text<R> {
    unsafe fn append(&mut self, value: pg_sys::Datum) -> Result<usize, Unrepresentable> {
        let text = to_utf8(self.render.render(value))?;
        room(self.values.values_slice(), text.as_bytes());
        self.values.append_value(text);
        Ok(text.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

fn text(render: impl Render + 'static) -> Made {
    (
        DataType::Utf8,
        Box::new(Text {
            values: StringBuilder::new(),
            render,
        }),
    )
}

struct Varlena;

impl Render for Varlena {
    unsafe fn render<'a>(&mut self, value: pg_sys::Datum) -> &'a [u8] {
        payload(value)
    }
}

/// Types whose stored bytes are their text.
pub fn varlena() -> Made {
    text(Varlena)
}

struct Name;

impl Render for Name {
    unsafe fn render<'a>(&mut self, value: pg_sys::Datum) -> &'a [u8] {
        CStr::from_ptr(value.cast_mut_ptr()).to_bytes()
    }
}

/// The type name.
pub fn name() -> Made {
    text(Name)
}

struct Function(pg_sys::FmgrInfo);

impl Render for Function {
    unsafe fn render<'a>(&mut self, value: pg_sys::Datum) -> &'a [u8] {
        CStr::from_ptr(pg_sys::OutputFunctionCall(&mut self.0, value)).to_bytes()
    }
}

/// Whatever the output function `function` prints.
///
/// # Safety
/// `function` is the type's output function; CurrentMemoryContext outlives the column.
pub unsafe fn output(function: pg_sys::Oid) -> Made {
    let mut info = pg_sys::FmgrInfo::default();
    pg_sys::fmgr_info_cxt(function, &mut info, pg_sys::CurrentMemoryContext);
    text(Function(info))
}
