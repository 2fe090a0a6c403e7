//! What has been counted of tables, in memory that processes share: of those tables that were counted last, as many as there is room for.
//!
//! Whoever uses it places [`Counters`] where all processes see them, and holds a lock around each call: one that keeps out all others for
//! [`Counters::claim`] and [`Counters::clear`], and one that keeps out only these for the rest.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of a table there may be.
pub const COUNTS: usize = 20;
/// Tables with the same bucket that are known.
const WAYS: usize = 16;
const BUCKETS: usize = if cfg!(test) { 2 } else { 256 };
/// Tables that are known at most.
pub const TABLES: usize = WAYS * BUCKETS;

/// All zeroes are empty ones.
#[repr(C)]
pub struct Counters {
    since: u64,
    /// Of tables that are not known any more.
    forgotten: [u64; COUNTS],
    tables: [[Table; WAYS]; BUCKETS],
}

#[repr(C)]
#[derive(Default)]
pub struct Table {
    /// 0: none.
    key: u64,
    used: AtomicU64,
    counts: [AtomicU64; COUNTS],
}

impl Counters {
    /// When counting began.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// The table with a key, which is not 0, if it is known.
    pub fn find(&self, key: u64) -> Option<&Table> {
        self.tables[bucket(key)].iter().find(|table| table.key == key)
    }

    /// The same; if it is not known, in place of the one of its bucket that was counted longest ago.
    pub fn claim(&mut self, key: u64, now: u64) -> &Table {
        if self.since == 0 {
            self.since = now;
        }
        let Self { forgotten, tables, .. } = self;
        let ways = &mut tables[bucket(key)];
        let known = ways.iter().position(|table| table.key == key);
        let at = known.unwrap_or_else(|| {
            let oldest = (0..WAYS).min_by_key(|&way| ways[way].used.load(Relaxed));
            let at = oldest.expect("a bucket has tables");
            for (all, count) in forgotten.iter_mut().zip(&ways[at].counts) {
                *all += count.load(Relaxed);
            }
            ways[at] = Table {
                key,
                used: now.into(),
                ..Table::default()
            };
            at
        });
        &ways[at]
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten().filter(|table| table.key != 0)
    }

    /// A count of all tables together, whether they are known or not.
    pub fn total(&self, count: usize) -> u64 {
        self.forgotten[count] + self.tables().map(|table| table.get(count)).sum::<u64>()
    }

    /// Forgets all of them.
    pub fn clear(&mut self, now: u64) {
        self.forgotten = [0; COUNTS];
        let tables = self.tables.iter_mut().flatten();
        tables.for_each(|table| *table = Table::default());
        self.since = now;
    }
}

impl Table {
    pub fn key(&self) -> u64 {
        self.key
    }

    /// It is counted now.
    pub fn touch(&self, now: u64) {
        self.used.fetch_max(now, Relaxed);
    }

    pub fn get(&self, count: usize) -> u64 {
        self.counts[count].load(Relaxed)
    }

    pub fn add(&self, count: usize, more: u64) {
        self.counts[count].fetch_add(more, Relaxed);
    }

    /// A count that is the latest of the values that it was given.
    pub fn advance(&self, count: usize, to: u64) {
        self.counts[count].fetch_max(to, Relaxed);
    }
}

/// Keys may have all that differs in some of their bits.
fn bucket(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Box<Counters> {
        Box::new(Counters {
            since: 0,
            forgotten: [0; COUNTS],
            tables: Default::default(),
        })
    }

    #[test]
    fn tables_are_counted_by_themselves() {
        let mut counters = empty();
        assert!(counters.find(1).is_none());
        for key in [1, 2, 1 << 32 | 1] {
            let table = counters.claim(key, 10);
            assert_eq!(table.get(3), 0);
            table.add(3, key);
            table.add(3, 1);
            table.advance(4, 7);
            table.advance(4, 5);
        }
        for key in [1, 2, 1 << 32 | 1] {
            let table = counters.find(key).expect("it is known");
            assert_eq!((table.key(), table.get(3), table.get(4)), (key, key + 1, 7));
        }
        assert_eq!(counters.claim(2, 20).get(3), 3);
        assert_eq!((counters.since(), counters.tables().count()), (10, 3));
        counters.clear(30);
        assert_eq!((counters.since(), counters.tables().count()), (30, 0));
    }

    #[test]
    fn those_counted_longest_ago_make_room() {
        let mut counters = empty();
        let of_bucket: Vec<u64> = (1..).filter(|&key| bucket(key) == 0).take(WAYS + 1).collect();
        for (now, &key) in of_bucket[..WAYS].iter().enumerate() {
            counters.claim(key, 100 + now as u64).add(0, 1);
        }
        // The first is used again, so the second is the oldest.
        counters.find(of_bucket[0]).expect("it is known").touch(200);
        assert_eq!(counters.claim(of_bucket[WAYS], 201).get(0), 0);
        let known = |at: usize| counters.find(of_bucket[at]).is_some();
        assert!(known(0) && !known(1) && known(2) && known(WAYS));
        assert_eq!(counters.total(0), WAYS as u64);
    }
}
