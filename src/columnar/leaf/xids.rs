//! Which rows of a leaf a snapshot sees, by the transactions that inserted them.

use super::OpenLeaf;
use crate::columnar::leaf_read::xids_of;
use crate::columnar::pages::relation;
use crate::pg::snapshot::may_hide;
use crate::storage::manifest::{self, Replaced};
use amax_lsm::Xids;
use amax_lsm::xids::FROZEN;
use pgrx::pg_sys;

impl OpenLeaf {
    /// The transaction ids of the rows; None if they all are as visible as the component.
    pub(super) fn xids(&self, rel: pg_sys::Relation) -> Result<Option<&Xids>, Replaced> {
        if let Some(xids) = self.xids.get() {
            return Ok(Some(xids));
        }
        let Some(xids) = xids_of(rel, self.place.1, &self.entry)? else {
            return Ok(None);
        };
        self.bytes.set(self.bytes.get() + xids.bytes_used());
        Ok(Some(self.xids.get_or_init(|| xids)))
    }

    /// The transaction that inserted a row, of those that are not loaded in bulk.
    pub fn xid(&self, row: usize) -> u32 {
        let (rel, _borrowed) = relation(self.relid);
        let xids = self.xids(rel);
        let xids = xids.unwrap_or_else(|Replaced| manifest::cancel_replaced());
        xids.map_or(FROZEN, |xids| xids.get(row as u32))
    }

    /// Whether the snapshot sees rows of the leaf, as far as their transactions go; None if it sees all.
    pub fn judge(
        &self,
        rel: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
    ) -> Result<Option<impl Fn(usize) -> bool + '_>, Replaced> {
        // SAFETY: a snapshot that the caller reads with.
        let hides = move |xid| unsafe {
            may_hide(snapshot, xid) && pg_sys::XidInMVCCSnapshot(pg_sys::TransactionId::from(xid), snapshot)
        };
        match self.entry.xids.range() {
            Some((_, newest)) if unsafe { may_hide(snapshot, newest) } => {}
            _ => return Ok(None),
        }
        let xids = self.xids(rel)?;
        Ok(xids.map(|xids| move |row| !hides(xids.get(row as u32))))
    }
}
