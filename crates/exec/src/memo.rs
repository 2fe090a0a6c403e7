//! Results of a function that are remembered.

use std::collections::HashMap;

use crate::builder::VectorBuilder;
use crate::vector::Type;

/// No result is known.
pub(crate) const UNKNOWN: u32 = u32::MAX;
/// Of steps in which a function is not the same throughout.
pub(crate) const VARIES: u32 = UNKNOWN - 1;

/// Results of a function of one word, by its values or by steps of them; what batches before have had asked is kept for those
/// that come.
pub struct Memo {
    pub(crate) values: VectorBuilder,
    /// Of NULL.
    pub(crate) null: u32,
    /// The first step in `places`.
    pub(crate) base: i64,
    /// By step, where these lie together.
    pub(crate) places: Vec<u32>,
    /// Where they do not; infinite times are in no step.
    pub(crate) others: HashMap<i64, u32>,
}

/// So many steps lie together. They are four megabytes.
const TOGETHER: usize = 1 << 20;
/// More results than these are forgotten after a batch, and those whose strings take more bytes.
const KEPT: usize = 1 << 16;
const KEPT_BYTES: usize = 1 << 20;

impl Memo {
    pub(crate) fn new(ty: Type) -> Self {
        Self {
            values: VectorBuilder::new(ty),
            null: UNKNOWN,
            base: 0,
            places: Vec::new(),
            others: HashMap::new(),
        }
    }

    pub(crate) fn is_small(&self) -> bool {
        self.values.len() <= KEPT && self.values.string_bytes() <= KEPT_BYTES
    }

    /// Makes room for the steps from `least` to `greatest`; false if they do not lie together.
    pub(crate) fn reach(&mut self, least: i64, greatest: i64) -> bool {
        let length =
            |first: i64, last: i64| usize::try_from(last.abs_diff(first)).map_or(usize::MAX, |n| n.saturating_add(1));
        if self.places.is_empty() {
            self.base = least;
        }
        let last = self.base.saturating_add(self.places.len() as i64 - 1).max(greatest);
        let first = self.base.min(least);
        if length(first, last) <= TOGETHER {
            let before = self.base.abs_diff(first) as usize;
            self.places.splice(0..0, std::iter::repeat_n(UNKNOWN, before));
            self.base = first;
            self.places.resize(length(first, last), UNKNOWN);
            return true;
        }
        if length(least, greatest) > TOGETHER {
            return false;
        }
        // They have gone elsewhere.
        (self.places, self.base) = (vec![UNKNOWN; length(least, greatest)], least);
        true
    }
}
