//! Text as Utf8: text, varchar, bpchar, json, name, and types known by what their output function prints.
//!
//! 32-bit offsets are safe: a batch ends at 512 MB at most (guc.rs), so before its last row a column holds less than
//! that, and a value is at most 1 GB.

use std::borrow::Cow;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringBuilder};
use arrow::datatypes::DataType;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made, room};
use super::value::Value;
use crate::arrow::error::Unrepresentable;
use crate::arrow::scope::Scope;
use crate::encoding;

/// Bytes in the server's encoding as UTF-8.
pub fn to_utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Unrepresentable> {
    let text = match encoding::to_utf8(bytes) {
        Cow::Borrowed(text) => std::str::from_utf8(text).map(Cow::Borrowed),
        Cow::Owned(text) => String::from_utf8(text)
            .map(Cow::Owned)
            .map_err(|error| error.utf8_error()),
    };
    text.map_err(|error| {
        Unrepresentable::new(
            PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            format!("The text is not valid UTF-8 at byte {}.", error.valid_up_to()),
            "Arrow text is UTF-8. Cast the column to bytea.",
        )
    })
}

/// How a value becomes text.
trait Render {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8];
}

struct Text<R> {
    values: StringBuilder,
    render: R,
}

impl<R: Render> Column for Text<R> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let text = to_utf8(self.render.render(value))?;
        room(self.values.values_slice(), text.as_bytes());
        self.values.append_value(&*text);
        Ok(text.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

fn text<'r>(render: impl Render + 'r) -> Made<'r> {
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
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        value.payload()
    }
}

/// Types whose stored bytes are their text.
pub fn varlena() -> Made<'static> {
    text(Varlena)
}

struct Name;

impl Render for Name {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        value.name().to_bytes()
    }
}

/// The type name.
pub fn name() -> Made<'static> {
    text(Name)
}

/// An output function, which may keep what it needs for as long as the scope.
struct Function<'a>(pg_sys::FmgrInfo, PhantomData<&'a ()>);

impl Render for Function<'_> {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        // SAFETY: the output function of the column's type; it returns a palloc'd string.
        unsafe { CStr::from_ptr(pg_sys::OutputFunctionCall(&mut self.0, value.datum())).to_bytes() }
    }
}

/// Whatever `function` prints, the type's output function.
pub fn output(function: pg_sys::Oid, _scope: Scope<'_>) -> Made<'_> {
    let mut info = pg_sys::FmgrInfo::default();
    // SAFETY: it looks the function up. The memory lives as long as the scope.
    unsafe { pg_sys::fmgr_info_cxt(function, &mut info, pg_sys::CurrentMemoryContext) };
    text(Function(info, PhantomData))
}
