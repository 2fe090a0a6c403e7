//! Sets of block numbers as sorted, disjoint, non-adjacent half-open ranges.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeSet(Vec<(u32, u32)>);

impl RangeSet {
    pub fn contains(&self, block: u32) -> bool {
        let i = self.0.partition_point(|r| r.1 <= block);
        self.0.get(i).is_some_and(|r| r.0 <= block)
    }

    /// Whether any block of `start..end` is in it.
    pub fn meets(&self, start: u32, end: u32) -> bool {
        let i = self.0.partition_point(|r| r.1 <= start);
        self.0.get(i).is_some_and(|r| r.0 < end)
    }

    /// How many blocks of `start..end` are in it.
    pub fn count(&self, start: u32, end: u32) -> u64 {
        let first = self.0.partition_point(|r| r.1 <= start);
        let met = self.0[first..].iter().take_while(|r| r.0 < end);
        met.map(|r| u64::from(r.1.min(end) - r.0.max(start))).sum()
    }

    /// The range that `block` is in.
    pub fn range_of(&self, block: u32) -> Option<std::ops::Range<u32>> {
        let i = self.0.partition_point(|r| r.1 <= block);
        self.0.get(i).filter(|r| r.0 <= block).map(|r| r.0..r.1)
    }

    /// Adds `start..end`.
    pub fn insert(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        let first = self.0.partition_point(|r| r.1 < start);
        let last = self.0.partition_point(|r| r.0 <= end);
        let merged = self.0[first..last]
            .iter()
            .fold((start, end), |m, r| (m.0.min(r.0), m.1.max(r.1)));
        self.0.splice(first..last, [merged]);
    }

    pub fn union(&mut self, other: &RangeSet) {
        for &(start, end) in &other.0 {
            self.insert(start, end);
        }
    }

    /// What is not in `other`.
    pub fn difference(&self, other: &RangeSet) -> RangeSet {
        let mut left = RangeSet::default();
        for &(start, end) in &self.0 {
            let mut next = start;
            let first = other.0.partition_point(|r| r.1 <= start);
            for &(from, to) in other.0[first..].iter().take_while(|r| r.0 < end) {
                left.insert(next, from);
                next = to;
            }
            left.insert(next, end);
        }
        left
    }

    /// Takes out what is below `end`.
    pub fn take_below(&mut self, end: u32) -> RangeSet {
        let mut below = RangeSet::default();
        below.insert(0, end);
        let left = self.difference(&below);
        let taken = self.difference(&left);
        *self = left;
        taken
    }

    /// The end of the last range.
    pub fn end(&self) -> u32 {
        self.0.last().map_or(0, |r| r.1)
    }

    /// Number of blocks.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|r| u64::from(r.1 - r.0)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub fn blocks(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(start, end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(
            inserts in prop::collection::vec((0u32..200, 0u32..20), 0..40),
            others in prop::collection::vec((0u32..200, 0u32..20), 0..40),
        ) {
            let mut ranges = RangeSet::default();
            let mut set = BTreeSet::new();
            for (start, len) in inserts {
                ranges.insert(start, start + len);
                set.extend(start..start + len);
            }
            prop_assert_eq!(ranges.blocks().collect::<BTreeSet<_>>(), set.clone());
            prop_assert_eq!(ranges.len(), set.len() as u64);
            for block in 0..230 {
                prop_assert_eq!(ranges.contains(block), set.contains(&block));
                prop_assert_eq!(ranges.meets(block, block + 7), set.range(block..block + 7).next().is_some());
                prop_assert_eq!(ranges.count(block, block + 30), set.range(block..block + 30).count() as u64);
            }
            let mut other = RangeSet::default();
            others.iter().for_each(|&(start, len)| other.insert(start, start + len));
            let left = ranges.difference(&other);
            prop_assert_eq!(
                left.blocks().collect::<Vec<_>>(),
                ranges.blocks().filter(|&b| !other.contains(b)).collect::<Vec<_>>()
            );
            let mut above = ranges.clone();
            let below = above.take_below(100);
            prop_assert_eq!(
                (below.blocks().collect::<Vec<_>>(), above.blocks().collect::<Vec<_>>()),
                ranges.blocks().partition(|&b| b < 100)
            );
            prop_assert_eq!(ranges.end(), set.last().map_or(0, |&last| last + 1));
            prop_assert!(left.ranges().windows(2).all(|w| w[0].1 < w[1].0), "not normalized: {:?}", left);
            prop_assert!(ranges.ranges().windows(2).all(|w| w[0].1 < w[1].0), "not normalized: {:?}", ranges);
        }
    }
}
