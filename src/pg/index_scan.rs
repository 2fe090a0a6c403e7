//! A scan of all of an index, in its order.

use super::relation::Relation;
use super::slot::Slot;
use super::snapshot::{self, Snapshot};
use super::tupdesc::attribute;
use super::tuple::Tuple;
use super::xid;
use pgrx::pg_sys;
use std::ptr::null_mut;

pub struct IndexScan<'a> {
    scan: pg_sys::IndexScanDesc,
    table: &'a Relation,
    index: &'a Relation,
}

impl<'a> IndexScan<'a> {
    /// Under SnapshotAny.
    pub fn of_all(table: &'a Relation, index: &'a Relation) -> IndexScan<'a> {
        IndexScan::begin(table, index, snapshot::any(), false)
    }

    /// With the entries themselves, which the index's access method has to be able to return.
    pub fn with_entries(table: &'a Relation, index: &'a Relation, snapshot: &'a Snapshot) -> IndexScan<'a> {
        IndexScan::begin(table, index, snapshot, true)
    }

    fn begin(table: &'a Relation, index: &'a Relation, snapshot: &'a Snapshot, entries: bool) -> IndexScan<'a> {
        // SAFETY: open relations and a snapshot, which outlive the scan.
        let scan = unsafe {
            let scan = pg_sys::index_beginscan(
                table.raw(),
                index.raw(),
                snapshot.raw(),
                #[cfg(feature = "pg18")]
                null_mut(),
                0,
                0,
            );
            (*scan).xs_want_itup = entries;
            pg_sys::index_rescan(scan, null_mut(), 0, null_mut(), 0);
            scan
        };
        IndexScan { scan, table, index }
    }

    /// Puts the next row in the slot; false at the end.
    pub fn next(&self, slot: &Slot) -> bool {
        // SAFETY: a scan that has begun.
        unsafe {
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let more = pg_sys::index_getnext_slot(self.scan, forward, slot.raw());
            if more && (*self.scan).xs_recheck {
                pgrx::error!("CLUSTER does not support lossy index conditions");
            }
            more
        }
    }

    /// Whether the entry that led to the row in the slot has its values, as far as they are those of columns.
    pub fn agrees(&self, slot: &Slot) -> bool {
        const MOST: usize = pg_sys::INDEX_MAX_KEYS as usize;
        let mut values = [pg_sys::Datum::null(); MOST];
        let mut nulls = [false; MOST];
        // SAFETY: the scan has returned an entry, which stays until the next; an index has no more columns than that, and
        // as many in `indkey`: numbers of the table's, or 0.
        unsafe {
            let (entry, desc) = ((*self.scan).xs_itup, (*self.scan).xs_itupdesc);
            pg_sys::index_deform_tuple(entry, desc, values.as_mut_ptr(), nulls.as_mut_ptr());
            let columns = (*(*self.index.raw()).rd_index).indkey.values.as_ptr();
            (0..(*desc).natts as usize).all(|at| {
                let (column, stored) = (*columns.add(at), &*attribute(desc, at));
                // An expression is not evaluated; a few operator classes store something else than the column's value.
                if column <= 0 || self.table.desc().attribute(column as usize - 1).atttypid != stored.atttypid {
                    return true;
                }
                let (value, null) = slot.value(column as usize - 1);
                null == nulls[at]
                    && (null || pg_sys::datum_image_eq(value, values[at], stored.attbyval, stored.attlen.into()))
            })
        }
    }
}

/// Whether snapshots of our transaction may use the index (get_relation_info()).
pub fn is_usable(index: &Relation) -> bool {
    // SAFETY: an open index has both; its row of pg_index is whole.
    unsafe {
        let (form, row) = ((*index.raw()).rd_index, Tuple::of(*(*index.raw()).rd_indextuple));
        (*form).indisvalid && (!(*form).indcheckxmin || xid::is_older(row.header().xmin(), pg_sys::TransactionXmin))
    }
}

impl Drop for IndexScan<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: a scan that has begun.
            unsafe { pg_sys::index_endscan(self.scan) }
        }
    }
}
