//! How many different values there are in a table, by those in a sample.

use crate::hash::QuickMap;
use crate::query::batch::columns::BatchColumns;
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
    /// How often each was: by tag and word, and strings.
    words: HashMap<(u8, i64), u32>,
    strings: HashMap<Box<[u8]>, u32>,
}

impl Counted {
    /// Counts values of an entry; false if some of them have no words to be told apart by.
    pub fn add_column(&mut self, columns: &BatchColumns, entry: usize, rows: &[u32]) -> bool {
        if !columns.knows(entry) {
            return true;
        }
        let dense = columns.dense(entry);
        // Those of a leaf are told apart by their numbers, if they are not stored twice.
        let mut numbered = QuickMap::<i64, u32>::default();
        for &row in rows {
            let (tag, word) = (dense.tag(row as usize), dense.word(row as usize));
            match tag {
                Tag::Missing | Tag::Null => self.nulls += 1.0,
                Tag::String => *numbered.entry(word).or_default() += 1,
                _ => *self.words.entry((tag as u8, word)).or_default() += 1,
            }
            self.rows += 1.0;
            self.containers += f64::from(u8::from(tag == Tag::Other));
        }
        for (number, times) in numbered {
            let string = dense.strings().get(number as usize).unwrap_or_default();
            match self.strings.get_mut(string) {
                Some(known) => *known += times,
                None => drop(self.strings.insert(string.into(), times)),
            }
        }
        rows.iter().all(|&row| dense.tag(row as usize) != Tag::Other)
    }

    /// How often each different value was met.
    fn times(&self) -> impl Iterator<Item = u32> {
        self.words.values().chain(self.strings.values()).copied()
    }

    /// The part of the rows in which it is NULL.
    pub fn null_fraction(&self) -> f64 {
        self.nulls / self.rows.max(1.0)
    }

    /// Whether a value was met less than twice on average.
    pub fn are_mostly_different(&self) -> bool {
        2.0 * self.times().count() as f64 > self.rows - self.nulls
    }

    /// Whether more of them are arrays or objects, or numbers of many digits, than not.
    pub fn are_mostly_containers(&self) -> bool {
        2.0 * self.containers > self.rows - self.nulls
    }

    /// Different values in a table of so many rows.
    pub fn distinct(&self, tuples: f64) -> f64 {
        let all = tuples * (1.0 - self.null_fraction());
        distinct(self.times(), all)
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
