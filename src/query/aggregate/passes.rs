//! Passes over rows that lie in the order of their only key: each reads the leaves that have its groups.
//!
//! The first pass reads all leaves, and is told by their bounds whether rows lie so. A later one needs fewer and fewer keys as its groups fill memory.

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
    /// The keys that the pass needed when it began; all, if it is the first.
    begun: Option<(i64, i64)>,
    /// Those that it needs now.
    needed: Option<(i64, i64)>,
    /// Those of leaves that it has left out as it needs less.
    left_out: Vec<(i64, i64)>,
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
        leaves.begun = needed;
        leaves.needed = needed;
        leaves.left_out.clear();
    }

    /// The pass, if it is not the first, needs these keys only, as memory holds no more groups.
    pub fn narrow(&self, needed: Option<(i64, i64)>) {
        let leaves = &mut *self.leaves.borrow_mut();
        if leaves.needed.is_some() && needed.is_some() {
            leaves.needed = needed;
        }
    }

    /// The keys, from the first to the last, of each leaf that the pass has left out.
    pub fn left_out(&self) -> Vec<(i64, i64)> {
        std::mem::take(&mut self.leaves.borrow_mut().left_out)
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
        if leaves.begun.is_none() {
            leaves.note(bounds);
            return true;
        }
        let have = |keys: Option<(i64, i64)>| {
            let among = |(first, last), (least, most)| least <= last && first <= most;
            bounds.zip(keys).is_none_or(|(bounds, keys)| among(keys, bounds))
        };
        let needed = have(leaves.needed);
        if !needed && have(leaves.begun) {
            leaves.left_out.extend(bounds);
        }
        needed
    }

    fn has_ranks(&self) -> bool {
        false
    }

    fn rank(&self, _zones: &dyn Zones) -> i64 {
        0
    }
}
