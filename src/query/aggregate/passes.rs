//! Passes over rows that lie in the order of their only key: each reads the leaves that have its groups.
//!
//! The first pass reads all leaves, and is told by their bounds whether rows lie so.

use crate::query::batch::contract::Interest;
use amax_exec::{Direction, Expr, External, Zones, words_between};
use std::cell::RefCell;

/// Which leaves a pass reads.
pub struct Passes {
    key: Expr,
    leaves: RefCell<Leaves>,
}

/// What is known of the leaves.
#[derive(Default)]
struct Leaves {
    /// The keys of all so far, from the least to the most, and how wide the leaves are together; None before the first.
    all: Option<(i64, i64, u128)>,
    /// Of the last one and those before; None before the second.
    order: Option<Direction>,
    /// How many have bounds, and whether others have none.
    known: u128,
    unknown: bool,
    /// The keys that the pass needs; all, if it is the first.
    needed: Option<(i64, i64)>,
}

impl Passes {
    pub fn new(key: Expr) -> Self {
        Self {
            key,
            leaves: RefCell::default(),
        }
    }

    /// A pass begins that needs keys from the first to the last; None: all.
    pub fn begin(&self, needed: Option<(i64, i64)>) {
        let leaves = &mut *self.leaves.borrow_mut();
        if needed.is_none() {
            *leaves = Leaves::default();
        }
        leaves.needed = needed;
    }

    /// The order of keys, if leaves overlap little, or a leaf has a quarter of all keys so far at most, in the mean.
    pub fn order(&self) -> Option<Direction> {
        let leaves = self.leaves.borrow();
        let apart = |(least, most, wide)| 2 * wide <= width(least, most) * (leaves.known / 2).max(3);
        leaves
            .order
            .filter(|_| !leaves.unknown && leaves.all.is_some_and(apart))
    }
}

fn width(least: i64, most: i64) -> u128 {
    u128::from(most.wrapping_sub(least) as u64) + 1
}

impl Leaves {
    fn note(&mut self, bounds: Option<(i64, i64)>) {
        let Some((least, most)) = bounds else {
            self.unknown = true;
            return;
        };
        let wide = width(least, most);
        self.known += 1;
        self.order = self.all.map(|(first, ..)| match least < first {
            true => Direction::Down,
            false => Direction::Up,
        });
        self.all = Some(match self.all {
            None => (least, most, wide),
            Some((first, last, all)) => (first.min(least), last.max(most), all + wide),
        });
    }
}

impl Interest for Passes {
    fn includes(&self, zones: &dyn Zones, _external: &dyn External) -> bool {
        let bounds = words_between(&self.key, zones);
        let leaves = &mut *self.leaves.borrow_mut();
        let Some((first, last)) = leaves.needed else {
            leaves.note(bounds);
            return true;
        };
        bounds.is_none_or(|(least, most)| least <= last && first <= most)
    }

    fn has_ranks(&self) -> bool {
        false
    }

    fn rank(&self, _zones: &dyn Zones) -> i64 {
        0
    }
}
