//! The hash values of a sample, by which those of two tables are compared.

use super::counted::distinct;
use crate::pg::lookup::Hash;
use crate::pg::statistics::Values;
use pgrx::pg_sys;

/// Of something of which there is none in a sample: it may be somewhere.
pub const LEAST: f64 = 0.5;

pub struct Hashes {
    /// With how often each is in the sample, ascending.
    values: Vec<(u32, u32)>,
    /// In the sample, NULLs included.
    pub rows: f64,
    /// How many different values there are in the table.
    distinct: f64,
}

impl Hashes {
    /// Of a sample of `tuples` rows.
    pub fn new(sample: &Values, function: pg_sys::Oid, collation: pg_sys::Oid, tuples: f64) -> Hashes {
        let mut hash = Hash::new(function, collation);
        let known = sample.values.iter().zip(&sample.nulls).filter(|known| !known.1);
        let mut all: Vec<u32> = known.map(|known| hash.of(*known.0)).collect();
        all.sort_unstable();
        let values: Vec<(u32, u32)> = all
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], same.len() as u32))
            .collect();
        let rows = sample.values.len() as f64;
        Hashes {
            distinct: distinct(
                values.iter().map(|value| value.1),
                tuples * all.len() as f64 / rows.max(1.0),
            ),
            values,
            rows,
        }
    }

    /// How many of the values that are in both samples there would be if all values of the table with fewer were in the other.
    pub fn expected(&self, other: &Hashes) -> f64 {
        let (fewer, more) = if self.distinct <= other.distinct {
            (self, other)
        } else {
            (other, self)
        };
        fewer.values.len() as f64 * more.values.len() as f64 / more.distinct.max(1.0)
    }

    /// Pairs of equal values in the two samples.
    pub fn pairs(&self, other: &Hashes) -> f64 {
        self.common(other).map(|(times, others)| times * others).sum()
    }

    /// The part of the rows that have a match in the other table; it is in its sample only for some.
    pub fn matched(&self, other: &Hashes) -> f64 {
        let found: f64 = self.common(other).map(|(times, _)| times).sum();
        let share = other.values.len() as f64 / other.distinct.max(1.0);
        (found.max(LEAST) / self.rows / share).min(1.0)
    }

    /// How often each value that is in both is in either.
    pub fn common<'a>(&'a self, other: &'a Hashes) -> impl Iterator<Item = (f64, f64)> + 'a {
        let mut others = other.values.iter().peekable();
        self.values.iter().filter_map(move |&(value, times)| {
            while others.next_if(|other| other.0 < value).is_some() {}
            let &&(_, other) = others.peek().filter(|other| other.0 == value)?;
            Some((f64::from(times), f64::from(other)))
        })
    }
}
