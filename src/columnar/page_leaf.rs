//! Rows of row pages as a leaf in memory, for who scans them again and again: what a flush would make of them.

use super::leaf::OpenLeaf;
use super::leaf_cache;
use super::write::Shredder;
use crate::options::Options;
use crate::pg::Relation;
use crate::pg::values::Values;
use amax_format::{Error, LeafBuilder};
use amax_lsm::{Blob, Key, LeafEntry, LeafXids, Xids};
use std::rc::Rc;

/// In place of a component's number.
const IN_MEMORY: u64 = u64::MAX;

/// The leaf that begins with logical block `v`, if the decode cache still has it.
pub fn find(rel: &Relation, v: u32) -> Option<Rc<OpenLeaf>> {
    leaf_cache::find((rel.file(), IN_MEMORY, v as usize))
}

/// Such a leaf that is being made.
pub struct PageLeaf {
    shredder: Shredder,
    builder: LeafBuilder,
    keys: Vec<Key>,
    xids: Xids,
}

impl PageLeaf {
    pub fn new(rel: &Relation) -> PageLeaf {
        let shredder = Shredder::new(rel);
        PageLeaf {
            builder: shredder.builder(&Options::of(rel)),
            shredder,
            keys: Vec::new(),
            xids: Xids::default(),
        }
    }

    /// Whether it is as large as a leaf may be, or as there is room for in the decode cache.
    pub fn is_full(&self, rel: &Relation) -> bool {
        let bytes = self.builder.bytes();
        bytes > Options::of(rel).leaf_bytes || !leaf_cache::has_room(bytes)
    }

    /// Adds a row that everyone sees. Keys ascend.
    ///
    /// # Errors
    /// If memory is short.
    pub fn push(&mut self, key: Key, xid: u32, values: Values) -> Result<(), Error> {
        self.shredder.push(&mut self.builder, key, values)?;
        self.keys.push(key);
        self.xids.push(xid);
        Ok(())
    }

    /// The leaf, which the decode cache has from now on, in place of another one that began with block `v`; None if there
    /// are no rows.
    ///
    /// # Errors
    /// If memory is short.
    pub fn finish(self, rel: &Relation, v: u32) -> Result<Option<Rc<OpenLeaf>>, Error> {
        let (Some(&first), Some(&last)) = (self.keys.first(), self.keys.last()) else {
            return Ok(None);
        };
        let image = self.builder.finish()?;
        let entry = LeafEntry {
            first,
            last,
            rows: self.keys.len() as u32,
            image: Blob {
                extents: Vec::new(),
                len: image.len() as u64,
            },
            // Nobody has to judge them.
            xids: LeafXids::Frozen,
            aliases: Vec::new(),
        };
        let place = (rel.file(), IN_MEMORY, v as usize);
        let leaf = Rc::new(OpenLeaf::in_memory(rel, entry, image, self.xids, place));
        leaf_cache::keep(&leaf);
        Ok(Some(leaf))
    }
}
