//! Rows of a leaf that are not dead.

use crate::storage::version::Versions;
use amax_format::{RowNumbers, consecutive};
use std::ops::Range;

/// The rows of some blocks of a leaf that are not dead, where nothing else is to be known of any: for as long as the pages of the stub
/// directory are where they were, with the same LSNs.
pub struct Alive {
    pub blocks: Range<u32>,
    pub pages: Versions,
    pub rows: RowNumbers,
}

impl Alive {
    /// The rows, if they are those of these blocks, and the pages are the same as they have been seen now.
    pub fn rows(&mut self, blocks: &Range<u32>, pages: Versions) -> Option<RowNumbers> {
        if self.blocks != *blocks || !self.pages.are(&pages) {
            return None;
        }
        self.pages = pages;
        Some(self.rows.clone())
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        // Consecutive ones are everyone's.
        let rows = if consecutive(&self.rows).is_some() {
            0
        } else {
            size_of_val(&self.rows[..])
        };
        self.pages.bytes() + rows
    }
}
