//! A column whose values are written as text, one by one.

use arrow_array::ArrayRef;
use arrow_buffer::NullBuffer;
use arrow_schema::Field;

use crate::error::{Unsuited, Unwritten};
use crate::target::Target;

/// Writes the value of a row that is not NULL.
pub(crate) type Put = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<(), Unwritten>>;

/// What has to be done with a text where it stands among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing at all.
    Number,
    /// Nothing, but quotes in JSON.
    Word,
    /// Anything may be in it.
    Text,
    /// Braces and what is in them, of the same language: nothing inside of others of it.
    Nested,
}

/// A column, or a part of a nested one.
pub(crate) struct Cell {
    nulls: Option<NullBuffer>,
    put: Put,
    pub(crate) form: Form,
}

impl Cell {
    pub(crate) fn new(array: &ArrayRef, form: Form, put: Put) -> Self {
        Self {
            nulls: array.logical_nulls(),
            put,
            form,
        }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    pub(crate) fn put(&self, row: usize, to: &mut Vec<u8>) -> Result<(), Unwritten> {
        (self.put)(row, to)
    }
}

/// What makes the cells of parts: `json` is within a JSON text, where strings are strings.
pub(crate) type Make = fn(&ArrayRef, &Field, &Target, json: bool) -> Result<Cell, Unsuited>;

/// A row's text is no longer than this: PostgreSQL's COPY takes no more.
const MOST: usize = 1 << 30;
const WHAT: &str = "the text of a value";

/// Appends bytes that may be many.
pub(crate) fn append(to: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Unwritten> {
    room(to, bytes.len())?;
    to.extend(bytes);
    Ok(())
}

/// To be called for each part of a value: a few numbers and offsets may stand for very many of them.
pub(crate) fn room(to: &mut Vec<u8>, more: usize) -> Result<(), Unwritten> {
    if to.len() + more > MOST {
        return Err(Unwritten::TooLong);
    }
    Ok(amax_memory::reserve(to, more.max(64), WHAT)?)
}

/// Appends bytes as hexadecimal digits, for which there is room.
pub(crate) fn hex(value: &[u8], to: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    to.extend(
        value
            .iter()
            .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
    );
}
