//! CLUSTER and VACUUM FULL: heapam_relation_copy_for_cluster() over rows of row pages and of components.

use super::rewrite::{Cutoffs, Rewrite};
use super::slot;
use crate::columnar;
use crate::pg::{Relation, Tuple, xid};
use crate::storage::rowpage::set_tid;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[pg_guard]
pub unsafe extern "C-unwind" fn copy_for_cluster(
    old: pg_sys::Relation,
    new: pg_sys::Relation,
    index: pg_sys::Relation,
    use_sort: bool,
    oldest_xmin: pg_sys::TransactionId,
    xid_cutoff: *mut pg_sys::TransactionId,
    multi_cutoff: *mut pg_sys::MultiXactId,
    num_tuples: *mut f64,
    tups_vacuumed: *mut f64,
    tups_recently_dead: *mut f64,
) {
    let old = Relation::of(old);
    let new = Relation::of(new);
    let cutoffs = Cutoffs {
        oldest_xmin,
        xid: *xid_cutoff,
        multi: *multi_cutoff,
    };
    let mut rewrite = Rewrite::new(old, new, cutoffs);
    let sort = if use_sort {
        let options = pg_sys::TUPLESORT_NONE as i32;
        pg_sys::tuplesort_begin_cluster(
            old.desc().raw(),
            index,
            pg_sys::maintenance_work_mem,
            std::ptr::null_mut(),
            options,
        )
    } else {
        std::ptr::null_mut()
    };
    let any = &raw mut pg_sys::SnapshotAnyData;
    let (mut table_scan, mut index_scan) = (std::ptr::null_mut(), std::ptr::null_mut());
    if !index.is_null() && !use_sort {
        #[cfg(not(feature = "pg18"))]
        let scan = pg_sys::index_beginscan(old.raw(), index, any, 0, 0);
        #[cfg(feature = "pg18")]
        let scan = pg_sys::index_beginscan(old.raw(), index, any, std::ptr::null_mut(), 0, 0);
        index_scan = scan;
        pg_sys::index_rescan(index_scan, std::ptr::null_mut(), 0, std::ptr::null_mut(), 0);
    } else {
        table_scan = super::scan::begin(
            old.raw(),
            any,
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            pg_sys::ScanOptions::SO_TYPE_SEQSCAN,
        );
    }
    let slot = pg_sys::table_slot_create(old.raw(), std::ptr::null_mut());
    let forward = pg_sys::ScanDirection::ForwardScanDirection;
    let mut per_row = PgMemoryContexts::new("amax cluster row");
    loop {
        crate::memory::check_for_interrupts();
        let more = if index_scan.is_null() {
            super::scan::getnextslot(table_scan, forward, slot)
        } else {
            let more = pg_sys::index_getnext_slot(index_scan, forward, slot);
            if more && (*index_scan).xs_recheck {
                pgrx::error!("CLUSTER does not support lossy index conditions");
            }
            more
        };
        if !more {
            break;
        }
        per_row.reset();
        let context = pg_sys::MemoryContextSwitchTo(per_row.value());
        let (mut tuple, state) = row_version(old, slot, oldest_xmin);
        if counts(old, &tuple, state, tups_vacuumed, tups_recently_dead) {
            *num_tuples += 1.0;
            if sort.is_null() {
                rewrite.add(&mut tuple);
            } else {
                pg_sys::tuplesort_putheaptuple(sort, tuple.raw());
            }
        }
        pg_sys::MemoryContextSwitchTo(context);
    }
    if index_scan.is_null() {
        super::scan::end(table_scan);
    } else {
        pg_sys::index_endscan(index_scan);
    }
    pg_sys::ExecDropSingleTupleTableSlot(slot);
    if !sort.is_null() {
        pg_sys::tuplesort_performsort(sort);
        loop {
            crate::memory::check_for_interrupts();
            let tuple = pg_sys::tuplesort_getheaptuple(sort, true);
            if tuple.is_null() {
                break;
            }
            per_row.reset();
            let context = pg_sys::MemoryContextSwitchTo(per_row.value());
            rewrite.add(&mut Tuple::of(*tuple));
            pg_sys::MemoryContextSwitchTo(context);
        }
        pg_sys::tuplesort_end(sort);
    }
    rewrite.finish();
}

/// The row in the slot as a heap tuple with its physical TID, which is what update chains link, and its state for
/// VACUUM.
unsafe fn row_version(
    rel: &Relation,
    slot: *mut pg_sys::TupleTableSlot,
    oldest_xmin: pg_sys::TransactionId,
) -> (Tuple<'static>, pg_sys::HTSV_Result::Type) {
    if let Some((tuple, buffer)) = slot::heap_tuple(slot) {
        let mut tuple = *tuple;
        let offset = tuple.t_self.ip_posid;
        set_tid(&mut tuple.t_self, pg_sys::BufferGetBlockNumber(buffer), offset);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let mut tuple = Tuple::of(tuple);
        let state = tuple.fate(oldest_xmin, buffer);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        return (tuple, state);
    }
    let row = slot::columnar_row(slot).expect("the slot holds a columnar row");
    let row = row.clone();
    let tuple = Tuple::of(*pg_sys::ExecFetchSlotHeapTuple(slot, false, std::ptr::null_mut()));
    columnar::row_for_rewrite(rel, row, tuple, oldest_xmin)
}

/// Counts a version; true when it has to be copied.
unsafe fn counts(
    rel: &Relation,
    tuple: &Tuple,
    state: pg_sys::HTSV_Result::Type,
    vacuumed: *mut f64,
    recently_dead: *mut f64,
) -> bool {
    use pg_sys::HTSV_Result::*;
    match state {
        HEAPTUPLE_DEAD => {
            *vacuumed += 1.0;
            return false;
        }
        HEAPTUPLE_RECENTLY_DEAD => *recently_dead += 1.0,
        HEAPTUPLE_INSERT_IN_PROGRESS => warn_unless_mine(rel, tuple.header().xmin(), "insert"),
        HEAPTUPLE_DELETE_IN_PROGRESS => {
            warn_unless_mine(rel, tuple.header().update_xid(), "delete");
            *recently_dead += 1.0;
        }
        _ => {}
    }
    true
}

unsafe fn warn_unless_mine(rel: &Relation, xid: pg_sys::TransactionId, what: &str) {
    if !xid::is_current(xid) {
        pgrx::warning!("concurrent {what} in progress within table \"{}\"", rel.name());
    }
}
