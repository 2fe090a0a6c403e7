//! Gathering rows that are in no column, so that they are a batch like any other: of row pages, of joins that PostgreSQL makes, and those
//! whose arrays only PostgreSQL's function takes apart.

use super::alone::Alone;
use super::columns::BatchColumns;
use super::contract::Batch;
use super::rows::Rows;
use super::values::ValuesBuilder;
use crate::pg::relation::FileId;
use amax_format::row_numbers;
use pgrx::pg_sys::ItemPointerData;
use std::rc::Rc;

/// A batch has no more rows than this,
const MOST_ROWS: usize = 1024;
/// and takes no more bytes, but for its last row.
const MOST_BYTES: usize = 1 << 20;

/// Such rows, one after the other.
pub struct AloneBuilder {
    file: FileId,
    values: Vec<Option<ValuesBuilder>>,
    tids: Vec<ItemPointerData>,
    bytes: usize,
}

impl AloneBuilder {
    /// Which have these entries, of the table that `rows` is about.
    pub fn new(rows: &Rows, read: &[usize]) -> AloneBuilder {
        let mut values: Vec<Option<ValuesBuilder>> = rows.entries.iter().map(|_| None).collect();
        for &entry in read {
            values[entry] = Some(ValuesBuilder::new(rows.kinds[entry]));
        }
        AloneBuilder {
            file: rows.rel.file(),
            values,
            tids: Vec::new(),
            bytes: 0,
        }
    }

    /// Whether the row that `rows` is at may be added.
    pub fn takes(&self, rows: &Rows) -> bool {
        rows.rel.file() == self.file
    }

    /// Adds the row that `rows` is at.
    pub fn push(&mut self, rows: &mut Rows) {
        let mut bytes = 0;
        for (entry, out) in self.values.iter_mut().enumerate() {
            if let Some(out) = out {
                out.push(rows.entry(entry), rows.econtext);
                bytes += out.bytes_used();
            }
        }
        self.bytes = bytes;
        self.tids.push(rows.tid());
    }

    pub fn is_full(&self) -> bool {
        self.tids.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }

    /// None if there are no rows.
    pub fn finish(self, rows: &Rows) -> Option<Batch> {
        let all = row_numbers(0..self.tids.len() as u32);
        let values = self.values.into_iter().map(|values| values.map(ValuesBuilder::finish));
        let alone = Alone::new(self.file, values.collect(), self.tids);
        (!all.is_empty()).then(|| Batch {
            columns: Rc::new(BatchColumns::alone(Rc::new(alone), &rows.entries)),
            rows: all,
        })
    }
}
