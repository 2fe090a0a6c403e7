//! Rows that are in no column, as columns: what PostgreSQL has evaluated of them.

use super::values::Values;
use crate::pg::relation::FileId;
use pgrx::pg_sys::{Datum, ItemPointerData};

/// What is read of such rows, which are of one table.
pub struct Alone {
    pub file: FileId,
    /// By entries; None: nobody reads it, or it may raise an error, and is for who asks for it.
    values: Vec<Option<Values>>,
    pub tids: Vec<ItemPointerData>,
}

impl Alone {
    pub fn new(file: FileId, values: Vec<Option<Values>>, tids: Vec<ItemPointerData>) -> Alone {
        Alone { file, values, tids }
    }

    /// An entry's; None if the rows have to be read again for it.
    pub fn values(&self, entry: usize) -> Option<&Values> {
        self.values[entry].as_ref()
    }

    /// The same of a row, in the current memory context or as long as these are there.
    pub fn value(&self, entry: usize, row: u32) -> Option<(Datum, bool)> {
        Some(self.values(entry)?.get(row))
    }
}
