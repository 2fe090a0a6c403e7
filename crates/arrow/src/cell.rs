//! A column whose values are written as text, one by one.

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::Field;

use crate::error::{Unfit, Unsuited};
use crate::target::Target;

/// Writes the value of a row that is not NULL.
pub(crate) type Put = Box<dyn Fn(usize, &mut Vec<u8>) -> Result<(), Unfit>>;

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

    pub(crate) fn put(&self, row: usize, to: &mut Vec<u8>) -> Result<(), Unfit> {
        (self.put)(row, to)
    }
}

/// What makes the cells of parts: `json` is within a JSON text, where strings are strings.
pub(crate) type Make = fn(&ArrayRef, &Field, &Target, json: bool) -> Result<Cell, Unsuited>;
