//! Rows of a leaf that are not dead.

use std::ops::Range;
use std::rc::Rc;

/// The rows of some blocks of a leaf that are not dead, where nothing else is to be known of any: for as long as the pages of the stub
/// directory are where they were, with the same LSNs.
pub struct Alive {
    pub blocks: Range<u32>,
    pub pages: Vec<(u32, u64)>,
    pub rows: Rc<Vec<u32>>,
}

impl Alive {
    /// The rows, if they are those of these blocks, and the pages are the same.
    pub fn rows(&self, blocks: &Range<u32>, pages: &[(u32, u64)]) -> Option<Rc<Vec<u32>>> {
        (self.blocks == *blocks && self.pages == pages).then(|| self.rows.clone())
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.pages[..]) + size_of_val(&self.rows[..])
    }
}
