//! Runs of physical pages.

use serde::{Deserialize, Serialize};

/// `len` physical pages from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    pub start: u32,
    pub len: u32,
}

/// The physical pages free for columnar use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreeSpace(crate::RangeSet);

impl FreeSpace {
    pub fn give(&mut self, extent: Extent) {
        self.0.insert(extent.start, extent.start + extent.len);
    }

    pub fn give_all(&mut self, other: &FreeSpace) {
        self.0.union(&other.0);
    }

    pub fn remove(&mut self, pages: &crate::RangeSet) {
        self.0 = self.0.difference(pages);
    }

    /// Takes up to `pages` pages, as few and as low extents as a first fit finds; less when there is not enough.
    pub fn take(&mut self, pages: u32) -> Vec<Extent> {
        let mut taken = Vec::new();
        let mut missing = pages;
        let mut left = crate::RangeSet::default();
        // One extent that holds them all is best: pages of a leaf are read together.
        let whole = self.0.ranges().iter().find(|r| r.1 - r.0 >= pages).copied();
        for &(start, end) in self.0.ranges() {
            let eligible = whole.is_none_or(|w| w.0 == start);
            let len = if eligible { missing.min(end - start) } else { 0 };
            if len > 0 {
                taken.push(Extent { start, len });
                missing -= len;
            }
            left.insert(start + len, end);
        }
        self.0 = left;
        taken
    }

    /// The same, or nothing if it were more than `most` extents.
    pub fn take_few(&mut self, pages: u32, most: usize) -> Vec<Extent> {
        let before = self.clone();
        let taken = self.take(pages);
        if taken.len() <= most {
            return taken;
        }
        *self = before;
        Vec::new()
    }

    /// Takes the pages below `end`, but for `kept` of them.
    pub fn take_below(&mut self, end: u32, kept: u32) -> FreeSpace {
        let mut below = FreeSpace(self.0.take_below(end));
        below.take(kept).into_iter().for_each(|extent| self.give(extent));
        below
    }

    pub fn pages(&self) -> u64 {
        self.0.len()
    }

    pub fn ranges(&self) -> &crate::RangeSet {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_one_extent_when_one_is_enough() {
        let mut free = FreeSpace::default();
        free.give(Extent { start: 10, len: 2 });
        free.give(Extent { start: 20, len: 8 });
        assert_eq!(free.take(5), vec![Extent { start: 20, len: 5 }]);
        assert_eq!(
            free.take(4),
            vec![Extent { start: 10, len: 2 }, Extent { start: 25, len: 2 }]
        );
        assert_eq!(free.take(9), vec![Extent { start: 27, len: 1 }]);
        assert_eq!(free.pages(), 0);
    }

    #[test]
    fn takes_nothing_that_is_too_scattered() {
        let mut free = FreeSpace::default();
        (0..8).for_each(|i| free.give(Extent { start: i * 2, len: 1 }));
        assert_eq!(free.take_few(5, 4), vec![]);
        assert_eq!(free.pages(), 8);
        assert_eq!(free.take_few(4, 4).len(), 4);
        assert_eq!(free.pages(), 4);
    }
}
