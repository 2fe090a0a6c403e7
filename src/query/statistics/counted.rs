//! How many different values there are in a table, by those in a sample.

use crate::query::batch::columns::LeafColumns;
use amax_exec::Columns;
use amax_format::Tag;
use std::collections::HashMap;

/// What was met of an expression.
#[derive(Default)]
pub struct Counted {
    rows: f64,
    nulls: f64,
    /// Arrays and objects.
    containers: f64,
    /// How often each value was.
    values: HashMap<(u8, i64, Vec<u8>), u32>,
}

impl Counted {
    /// Counts values of an entry; false if some of them have no words to be told apart by.
    pub fn add_column(&mut self, columns: &LeafColumns, entry: usize, rows: &[u32]) -> bool {
        if !columns.knows(entry) {
            return true;
        }
        let dense = columns.dense(entry);
        for &row in rows {
            let (tag, word) = (dense.tag(row as usize), dense.word(row as usize));
            match tag {
                Tag::Missing | Tag::Null => self.add_null(),
                Tag::String => self.add(tag, 0, dense.strings().get(word as usize).unwrap_or_default()),
                _ => self.add(tag, word, &[]),
            }
            self.containers += f64::from(u8::from(tag == Tag::Other));
        }
        rows.iter().all(|&row| dense.tag(row as usize) != Tag::Other)
    }

    fn add(&mut self, tag: Tag, word: i64, text: &[u8]) {
        self.rows += 1.0;
        *self.values.entry((tag as u8, word, text.to_vec())).or_default() += 1;
    }

    fn add_null(&mut self) {
        self.rows += 1.0;
        self.nulls += 1.0;
    }

    /// The part of the rows in which it is NULL.
    pub fn null_fraction(&self) -> f64 {
        self.nulls / self.rows.max(1.0)
    }

    /// Whether a value was met less than twice on average.
    pub fn are_mostly_different(&self) -> bool {
        2.0 * self.values.len() as f64 > self.rows - self.nulls
    }

    /// Whether more of them are arrays or objects, or numbers of many digits, than not.
    pub fn are_mostly_containers(&self) -> bool {
        2.0 * self.containers > self.rows - self.nulls
    }

    /// Different values in a table of so many rows.
    pub fn distinct(&self, tuples: f64) -> f64 {
        let all = tuples * (1.0 - self.null_fraction());
        distinct(self.values.values().copied(), all)
    }
}

/// Different values among `all`, by how often each was in a sample (Haas and Stokes's estimator, as ANALYZE uses it).
pub fn distinct(times: impl Iterator<Item = u32>, all: f64) -> f64 {
    let (mut seen, mut once, mut values) = (0.0, 0.0, 0.0);
    for times in times {
        seen += 1.0;
        once += f64::from(u8::from(times == 1));
        values += f64::from(times);
    }
    if once == 0.0 || values >= all {
        return seen;
    }
    if once == values {
        // As ANALYZE has it: it is unique.
        return all;
    }
    (values * seen / (values - once + once * values / all)).clamp(seen, all)
}
