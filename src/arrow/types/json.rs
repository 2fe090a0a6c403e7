//! jsonb as its text, as variants, or as it is, for who makes columns of documents. (json is text already.)

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::Arc;

use amax_arrow::{Unvaried, Variants};
use arrow_array::ArrayRef;
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_schema::DataType;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made, room};
use super::text::to_utf8;
use super::value::Value;
use crate::arrow::error::Unrepresentable;
use crate::encoding;

/// The text of a jsonb.
fn text_of(value: Value<'_>) -> Result<Cow<'_, str>, Unrepresentable> {
    // JsonbToCString reads aligned words.
    let jsonb = value.unpacked();
    // SAFETY: the column's values are jsonb; it returns a palloc'd string.
    let text = unsafe {
        let (root, size) = (&raw mut (*jsonb.cast::<pg_sys::Jsonb>()).root, pgrx::varsize_any(jsonb));
        CStr::from_ptr(pg_sys::JsonbToCString(std::ptr::null_mut(), root, size as i32))
    };
    to_utf8(text.to_bytes())
}

struct Jsonb(StringBuilder);

impl Column for Jsonb {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let text = text_of(value)?;
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

/// The bytes of jsonb, with strings in UTF-8.
struct Documents(BinaryBuilder);

impl Column for Documents {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let document = in_utf8(value)?;
        room(self.0.values_slice(), &document);
        self.0.append_value(&document);
        Ok(document.len() + std::mem::size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// The bytes of a jsonb, with strings in UTF-8.
fn in_utf8(value: Value<'_>) -> Result<Cow<'_, [u8]>, Unrepresentable> {
    if encoding::is_utf8() {
        return Ok(Cow::Borrowed(value.payload()));
    }
    let parsed = amax_jsonb::json::parse(&text_of(value)?);
    parsed.map(Cow::Owned).map_err(|error| match error {
        amax_jsonb::Error::OutOfMemory(error) => crate::memory::raise(error),
        error => Unrepresentable::new(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("The document in UTF-8: {error}."),
            "Have documents leave as text, which may be longer.",
        ),
    })
}

pub fn documents() -> Made<'static> {
    (DataType::Binary, Box::new(Documents(BinaryBuilder::new())))
}

struct Variant(Variants);

impl Column for Variant {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let document = in_utf8(value)?;
        if document.len() >= amax_memory::SMALL {
            // Of short keys and values the library keeps many times their bytes.
            crate::memory::ask(16 * document.len(), "a variant");
        }
        self.0.append(&document).map_err(|why| {
            let code = match why {
                Unvaried::Number => PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                Unvaried::Deep | Unvaried::Arrow(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                Unvaried::Damaged(_) => PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            };
            Unrepresentable::new(
                code,
                why.to_string(),
                "Have documents leave as text, which takes them all.",
            )
        })
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn variants() -> Made<'static> {
    (
        DataType::Struct(Variants::fields()),
        Box::new(Variant(Variants::default())),
    )
}
