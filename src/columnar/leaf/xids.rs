//! Which rows of a leaf a snapshot sees, by the transactions that inserted them.

use super::OpenLeaf;
use crate::columnar::alive::Alive;
use crate::columnar::leaf_read::xids_of;
use crate::columnar::pages::with_relation;
use crate::pg::{Relation, Snapshot};
use crate::storage::manifest::{self, Replaced};
use crate::storage::version::Versions;
use amax_format::RowNumbers;
use amax_lsm::Xids;
use amax_lsm::xids::FROZEN;
use std::ops::Range;

impl OpenLeaf {
    /// The transaction ids of the rows; None if they all are as visible as the component.
    pub(super) fn xids(&self, rel: &Relation) -> Result<Option<&Xids>, Replaced> {
        if let Some(xids) = self.xids.get() {
            return Ok(Some(xids));
        }
        let Some(xids) = xids_of(rel, self.place.1, &self.entry)? else {
            return Ok(None);
        };
        self.bytes.set(self.bytes.get() + xids.bytes_used());
        Ok(Some(self.xids.get_or_init(|| xids)))
    }

    /// The rows of some blocks that are not dead, if that is known of these pages of the stub directory.
    pub fn alive(&self, blocks: &Range<u32>, pages: Versions) -> Option<RowNumbers> {
        self.alive.borrow_mut().as_mut()?.rows(blocks, pages)
    }

    /// Those pages as they were then.
    pub fn alive_pages(&self) -> Option<Versions> {
        Some(self.alive.borrow().as_ref()?.pages.clone())
    }

    /// Keeps them, in place of those that were.
    pub fn keep_alive(&self, alive: Alive) {
        let bytes = alive.bytes();
        let before = self.alive.replace(Some(alive));
        let before = before.as_ref().map_or(0, Alive::bytes);
        self.bytes.set(self.bytes.get() + bytes - before);
    }

    /// The transaction that inserted a row, of those that are not loaded in bulk.
    pub fn xid(&self, row: usize) -> u32 {
        with_relation(self.relid, |rel| {
            let xids = self.xids(rel).unwrap_or_else(|Replaced| manifest::cancel_replaced());
            xids.map_or(FROZEN, |xids| xids.get(row as u32))
        })
    }

    /// Whether the snapshot sees rows of the leaf, as far as their transactions go; None if it sees all.
    pub fn judge<'a>(
        &'a self,
        rel: &Relation,
        snapshot: &'a Snapshot,
    ) -> Result<Option<impl Fn(usize) -> bool + use<'a>>, Replaced> {
        let hides = move |xid| snapshot.may_hide(xid) && snapshot.has_under_way(xid);
        match self.entry.xids.range() {
            Some((_, newest)) if snapshot.may_hide(newest) => {}
            _ => return Ok(None),
        }
        let xids = self.xids(rel)?;
        Ok(xids.map(|xids| move |row| !hides(xids.get(row as u32))))
    }
}
