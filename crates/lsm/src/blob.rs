//! Byte strings longer than a page.

use crate::Extent;
use serde::{Deserialize, Serialize};

/// A byte string stored across pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    pub extents: Vec<Extent>,
    /// Bytes.
    pub len: u64,
}

impl Blob {
    /// The physical page that holds the `nth` page of the blob.
    pub fn page(&self, mut nth: u64) -> Option<u32> {
        for extent in &self.extents {
            if nth < u64::from(extent.len) {
                return Some(extent.start + nth as u32);
            }
            nth -= u64::from(extent.len);
        }
        None
    }

    /// The block behind its last page.
    pub fn end(&self) -> u32 {
        self.extents.iter().map(|e| e.start + e.len).max().unwrap_or(0)
    }

    pub fn pages(&self) -> u64 {
        self.extents.iter().map(|e| u64::from(e.len)).sum()
    }
}
