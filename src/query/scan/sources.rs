//! What a scan reads: a table, or the partitions of one, one after the other.

use super::shared::Taken;
use super::source::{Counters, Source};
use crate::columnar::OpenLeaf;
use std::ops::{Deref, DerefMut};

pub(super) struct Sources {
    /// As the plan has them, so that all processes of a parallel scan have them in the same order.
    all: Vec<Source>,
    /// In which order they are read, and which of these it is at.
    order: Vec<usize>,
    at: usize,
}

impl Deref for Sources {
    type Target = Source;

    fn deref(&self) -> &Source {
        &self.all[self.order[self.at]]
    }
}

impl DerefMut for Sources {
    fn deref_mut(&mut self) -> &mut Source {
        &mut self.all[self.order[self.at]]
    }
}

impl Sources {
    pub(super) fn new(all: Vec<Source>) -> Sources {
        let order = (0..all.len()).collect();
        Sources { all, order, at: 0 }
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Source> {
        self.all.iter_mut()
    }

    /// Turns to the next table; false if there is none.
    pub(super) fn turn(&mut self) -> bool {
        let has_next = self.at + 1 < self.order.len();
        if has_next {
            self.leave();
            self.at += 1;
        }
        has_next
    }

    /// See [`Source::order`]: tables in the order of their best leaves as well.
    pub(super) fn order(&mut self, rank: &mut dyn FnMut(&OpenLeaf) -> i64) {
        let ranks: Vec<i64> = self.each().map(|source| source.order(rank)).collect();
        self.order.sort_by_key(|&table| ranks[table]);
    }

    /// From the start again.
    pub(super) fn rewind(&mut self) {
        self.each().for_each(Source::rewind);
        self.at = 0;
    }

    /// Takes part in a parallel scan, from its start.
    pub(super) fn share(&mut self, tables: &'static [Taken], from_end: bool) {
        let sources = self.each().zip(tables);
        sources.for_each(|(source, taken)| source.share(taken.blocks(), from_end));
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
