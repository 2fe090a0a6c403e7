//! What CLUSTER reads a table by: an index, or a sort.

use super::relation::Relation;
use super::slot::Slot;
use super::tupdesc::TupleDesc;
use super::tuple::Tuple;
use pgrx::pg_sys;
use std::marker::PhantomData;
use std::ptr::null_mut;

/// A scan of all of an index, in its order, under SnapshotAny.
pub struct IndexScan<'a> {
    scan: pg_sys::IndexScanDesc,
    of: PhantomData<&'a Relation>,
}

impl<'a> IndexScan<'a> {
    pub fn begin(table: &'a Relation, index: &'a Relation) -> IndexScan<'a> {
        // SAFETY: open relations, which outlive the scan.
        let scan = unsafe {
            let scan = pg_sys::index_beginscan(
                table.raw(),
                index.raw(),
                &raw mut pg_sys::SnapshotAnyData,
                #[cfg(feature = "pg18")]
                null_mut(),
                0,
                0,
            );
            pg_sys::index_rescan(scan, null_mut(), 0, null_mut(), 0);
            scan
        };
        IndexScan { scan, of: PhantomData }
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
}

impl Drop for IndexScan<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: a scan that has begun.
            unsafe { pg_sys::index_endscan(self.scan) }
        }
    }
}

/// A sort of heap tuples by an index (tuplesort.c). An error leaves it to its memory context.
pub struct Sort(*mut pg_sys::Tuplesortstate);

impl Sort {
    pub fn begin(desc: &TupleDesc, index: &Relation) -> Sort {
        // SAFETY: an open index; the descriptor outlives the sort.
        Sort(unsafe {
            let (memory, options) = (pg_sys::maintenance_work_mem, pg_sys::TUPLESORT_NONE as i32);
            pg_sys::tuplesort_begin_cluster(desc.raw(), index.raw(), memory, null_mut(), options)
        })
    }

    /// It is copied.
    pub fn put(&self, tuple: &mut Tuple) {
        // SAFETY: a whole tuple.
        unsafe { pg_sys::tuplesort_putheaptuple(self.0, tuple.raw()) }
    }

    /// Hands out the tuples in order.
    pub fn drain(self, mut f: impl FnMut(&mut Tuple)) {
        // SAFETY: a sort that has begun; each tuple stays until the next is asked for.
        unsafe {
            pg_sys::tuplesort_performsort(self.0);
            while let Some(tuple) = pg_sys::tuplesort_getheaptuple(self.0, true).as_ref() {
                f(&mut Tuple::of(*tuple));
            }
            pg_sys::tuplesort_end(self.0);
        }
    }
}
