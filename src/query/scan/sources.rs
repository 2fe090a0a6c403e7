//! What a scan reads: a table, or the partitions of one, one after the other.

use super::source::{Counters, Source};
use crate::columnar::OpenLeaf;
use std::ops::{Deref, DerefMut};

pub(super) struct Sources {
    all: Vec<Source>,
    /// The one it is at.
    at: usize,
}

impl Deref for Sources {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.all[self.at]
    }
}

impl DerefMut for Sources {
    fn deref_mut(&mut self) -> &mut Source {
        &mut self.all[self.at]
    }
}

impl Sources {
    pub(super) fn new(all: Vec<Source>) -> Sources {
        Sources { all, at: 0 }
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Source> {
        self.all.iter_mut()
    }

    /// Turns to the next table; false if there is none.
    pub(super) fn turn(&mut self) -> bool {
        let has_next = self.at + 1 < self.all.len();
        if has_next {
            self.leave();
            self.at += 1;
        }
        has_next
    }

    /// See [`Source::order`]: tables in the order of their best leaves as well.
    pub(super) fn order(&mut self, rank: &mut dyn FnMut(&OpenLeaf) -> i64) {
        let ranked = self.all.drain(..).map(|mut source| (source.order(rank), source));
        let mut ranked: Vec<(i64, Source)> = ranked.collect();
        ranked.sort_by_key(|ranked| ranked.0);
        self.all.extend(ranked.into_iter().map(|ranked| ranked.1));
    }

    /// From the start again.
    pub(super) fn rewind(&mut self) {
        self.each().for_each(Source::rewind);
        self.at = 0;
    }

    /// Of all of them.
    pub(super) fn counters(&mut self) -> Counters {
        let mut sum = Counters::default();
        for source in &mut self.all {
            let counters = sum.counters().into_iter().zip(source.counters.counters());
            counters.for_each(|(sum, counter)| *sum += *counter);
        }
        sum
    }
}
