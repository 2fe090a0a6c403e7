//! The best so many of the rows that are offered, by the values of their keys.
//!
//! Rows are kept with their keys until twice as many are there as are wanted; then the worse half goes, and the worst
//! that is left is what later rows have to beat.

use std::cmp::Ordering;

use crate::collation::Collation;
use crate::order::{SortKey, Value};
use crate::vector::Vector;

/// What makes rows the best, and how many are asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub keys: Vec<SortKey>,
    pub count: usize,
    /// Whether whatever is equal to the last one stays, as somebody else looks at further keys or wants it, too.
    pub ties: bool,
}

/// A row that may be among the best.
#[derive(Debug)]
struct Kept<P> {
    values: Box<[Value]>,
    at: P,
}

/// The best rows so far, each with where it is.
#[derive(Debug)]
pub(crate) struct Best<P> {
    kept: Vec<Kept<P>>,
    /// How many may be kept before the worse ones go.
    room: usize,
    /// Of the last of those that are wanted, once there are as many.
    pub last: Option<Box<[Value]>>,
}

impl Asked {
    /// Whether a row is to be kept beside one that is the last so far.
    fn beats(&self, keys: &[Vector<'_>], i: usize, last: &[Value], collation: &dyn Collation) -> bool {
        for (number, (key, value)) in self.keys.iter().zip(last).enumerate() {
            match key.place(number, &keys[number], i, value, collation) {
                Ordering::Equal => {}
                order => return order.is_lt(),
            }
        }
        self.ties
    }

    pub fn compare(&self, a: &[Value], b: &[Value], collation: &dyn Collation) -> Ordering {
        let mut all = self.keys.iter().enumerate().zip(a.iter().zip(b));
        all.find_map(|((number, key), (a, b))| {
            let order = key.values(number, a, b, collation);
            order.is_ne().then_some(order)
        })
        .unwrap_or(Ordering::Equal)
    }
}

impl<P: Copy> Best<P> {
    /// With room for so many at least, of which twice as many as are wanted.
    pub fn new(asked: &Asked, fewest: usize) -> Self {
        Self {
            kept: Vec::new(),
            room: asked.count.saturating_mul(2).max(fewest),
            last: None,
        }
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Where the rows are that are kept.
    pub fn places(&self) -> impl Iterator<Item = P> {
        self.kept.iter().map(|kept| kept.at)
    }

    /// Keeps row `i` of vectors, one for each key, if it may be among the best.
    pub fn offer(&mut self, asked: &Asked, keys: &[Vector<'_>], i: usize, collation: &dyn Collation, at: P) {
        if let Some(last) = &self.last
            && !asked.beats(keys, i, last, collation)
        {
            return;
        }
        self.kept.push(Kept {
            values: keys.iter().map(|key| Value::of(key, i)).collect(),
            at,
        });
        if self.kept.len() >= self.room || self.last.is_none() && self.kept.len() == asked.count {
            self.prune(asked, collation);
        }
    }

    /// Lets go of all but the best.
    pub fn prune(&mut self, asked: &Asked, collation: &dyn Collation) {
        if self.kept.len() < asked.count || asked.count == 0 {
            return;
        }
        let compare = |a: &Kept<P>, b: &Kept<P>| asked.compare(&a.values, &b.values, collation);
        self.kept.select_nth_unstable_by(asked.count - 1, compare);
        let last = self.kept[asked.count - 1].values.clone();
        let (mut at, count) = (0, asked.count);
        self.kept.retain(|kept| {
            at += 1;
            at <= count || asked.ties && asked.compare(&kept.values, &last, collation).is_eq()
        });
        self.room = self.room.max(self.kept.len().saturating_mul(2));
        self.last = Some(last);
    }

    /// What is kept takes.
    pub fn bytes_used(&self) -> usize {
        let of_values = |values: &[Value]| size_of_val(values) + values.iter().map(Value::heap_bytes).sum::<usize>();
        let kept = self.kept.iter().map(|kept| of_values(&kept.values)).sum::<usize>();
        self.kept.capacity() * size_of::<Kept<P>>() + kept + self.last.as_deref().map_or(0, of_values)
    }
}
