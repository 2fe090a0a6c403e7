//! Fetching single rows by TID: for indexes, for the executor, for triggers.

use super::block::{locate, locate_to_read, prune, Place};
use super::bulk;
use super::scan::{is_mvcc, predicate_lock, state};
use super::slot;
use crate::columnar;
use crate::storage::buffer::{Lock, Pin};
use crate::storage::rowpage::{self, heap_tuple, is_stub, set_tid, tid_block, InHeap};
use crate::storage::{manifest, map};
use pgrx::pg_sys;
use pgrx::prelude::*;

#[repr(C)]
struct IndexFetch {
    base: pg_sys::IndexFetchTableData,
    /// The row page of the last row: kept, because the next entry often points to it too, and for HOT chains in progress. After an error
    /// nobody drops it: the resource owner has released its pin.
    page: Option<Pin>,
}

#[pg_guard]
pub unsafe extern "C-unwind" fn begin(rel: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    // Nothing of it may outlive `end`: a check of a unique key begins one for each row.
    let fetch = pg_sys::palloc0(std::mem::size_of::<IndexFetch>()) as *mut IndexFetch;
    (*fetch).base.rel = rel;
    (&raw mut (*fetch).page).write(None);
    fetch as *mut pg_sys::IndexFetchTableData
}

#[pg_guard]
pub unsafe extern "C-unwind" fn reset(fetch: *mut pg_sys::IndexFetchTableData) {
    (*(fetch as *mut IndexFetch)).page = None;
}

#[pg_guard]
pub unsafe extern "C-unwind" fn end(fetch: *mut pg_sys::IndexFetchTableData) {
    (*(fetch as *mut IndexFetch)).page = None;
    pg_sys::pfree(fetch as _);
}

/// heapam_index_fetch_tuple() for rows that may live in a component.
#[pg_guard]
pub unsafe extern "C-unwind" fn tuple(
    fetch: *mut pg_sys::IndexFetchTableData,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    call_again: *mut bool,
    all_dead: *mut bool,
) -> bool {
    let rel = (*fetch).rel;
    let state = &mut *(fetch as *mut IndexFetch);
    if !all_dead.is_null() {
        *all_dead = false;
    }
    if !bulk::idle() {
        bulk::publish_for(rel, snapshot);
    }
    pgrx::check_for_interrupts!();
    let v = tid_block(&*tid);
    if !*call_again {
        let previous = state.page.take();
        match locate_to_read(rel, v, snapshot) {
            Place::Hot(p) => match previous {
                Some(pin) if pin.block() == p => state.page = Some(pin),
                previous => {
                    drop(previous);
                    let pin = Pin::read(rel, p);
                    prune(rel, &pin);
                    state.page = Some(pin);
                }
            },
            Place::Columnar(manifest, component) => {
                let component = &manifest.components[component];
                return match columnar::fetch(rel, component, &mut *tid, snapshot, all_dead) {
                    Some(row) => {
                        slot::store_columnar(slot, row, *tid, (*rel).rd_id);
                        true
                    }
                    None => false,
                };
            }
            Place::Nowhere => return false,
        }
    }
    let pin = state.page.as_ref().expect("set above");
    let mut physical = pg_sys::ItemPointerData::default();
    set_tid(&mut physical, pin.block(), (*tid).ip_posid);
    let mut found = pg_sys::HeapTupleData::default();
    let lock = pin.share();
    let got = pg_sys::heap_hot_search_buffer(
        &mut physical,
        rel,
        pin.buffer(),
        snapshot,
        &mut found,
        all_dead,
        !*call_again,
    );
    predicate_lock_if_sealed(rel, snapshot, pin, &lock);
    drop(lock);
    (*tid).ip_posid = physical.ip_posid;
    // An index entry never points to a stub, but a line pointer may have been taken by one since the entry's row died.
    if !got || is_stub(found.t_data) {
        *call_again = false;
        return false;
    }
    // Only a non-MVCC snapshot can see more than one member of a HOT chain.
    *call_again = !is_mvcc(snapshot);
    slot::store_heap(slot, found, *tid, pin);
    true
}

#[pg_guard]
pub unsafe extern "C-unwind" fn row_version(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    if !bulk::idle() {
        bulk::publish_for(rel, snapshot);
    }
    let logical = *tid;
    match locate_to_read(rel, tid_block(&logical), snapshot) {
        Place::Nowhere => false,
        Place::Hot(p) => match heap_fetch(rel, p, logical.ip_posid, snapshot) {
            Some((tuple, buffer)) => {
                let pin = Pin::adopt(buffer);
                predicate_lock_if_sealed(rel, snapshot, &pin, &pin.share());
                slot::store_pinned(slot, tuple, logical, pin.into_buffer());
                true
            }
            None => false,
        },
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            match columnar::row_version(rel, component, &logical, snapshot) {
                Some(row) => {
                    slot::store_columnar(slot, row, logical, (*rel).rd_id);
                    true
                }
                None => false,
            }
        }
    }
}

/// For SSI. On a row page heap's code takes predicate locks on physical TIDs, which heap's writers check. A flush turns those into a
/// lock on the relation after it has sealed the page; whoever reads a sealed page takes that lock at once, like readers of
/// components.
pub unsafe fn predicate_lock_if_sealed(
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    pin: &Pin,
    _lock: &Lock,
) {
    if rowpage::is_sealed(pin.page()) {
        predicate_lock(rel, snapshot);
    }
}

/// heap_fetch() at a physical TID; stubs are not rows. The buffer comes pinned.
pub unsafe fn heap_fetch(
    rel: pg_sys::Relation,
    p: u32,
    offset: u16,
    snapshot: pg_sys::Snapshot,
) -> Option<(pg_sys::HeapTupleData, pg_sys::Buffer)> {
    let mut tuple = pg_sys::HeapTupleData::default();
    set_tid(&mut tuple.t_self, p, offset);
    let mut buffer = 0;
    if !pg_sys::heap_fetch(rel, snapshot, &mut tuple, &mut buffer, false) {
        return None;
    }
    let pin = Pin::adopt(buffer);
    (!is_stub(tuple.t_data)).then(|| (tuple, pin.into_buffer()))
}

#[pg_guard]
pub unsafe extern "C-unwind" fn satisfies_snapshot(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
) -> bool {
    if let Some((tuple, buffer)) = slot::heap_tuple(slot) {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let visible = pg_sys::HeapTupleSatisfiesVisibility(tuple, snapshot, buffer);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        return visible;
    }
    let v = tid_block(&(*slot).tts_tid);
    match locate(rel, v) {
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            columnar::row_version(rel, component, &(*slot).tts_tid, snapshot).is_some()
        }
        // Materialized from a row page: look at the original.
        Place::Hot(p) => match heap_fetch(rel, p, (*slot).tts_tid.ip_posid, snapshot) {
            Some((_, buffer)) => {
                pg_sys::ReleaseBuffer(buffer);
                true
            }
            None => false,
        },
        Place::Nowhere => false,
    }
}

/// heap_get_latest_tid(): follows the update chain from `tid` to the newest version the snapshot sees.
#[pg_guard]
pub unsafe extern "C-unwind" fn latest_tid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) {
    let rel = (*scan).rs_rd;
    let snapshot = (*scan).rs_snapshot;
    let mut next = *tid;
    let mut prior_xmax = pg_sys::InvalidTransactionId;
    loop {
        let v = tid_block(&next);
        if next.ip_posid == 0
            || v >= state(scan)
                .blocks
                .max(crate::storage::meta::logical_blocks(rel))
        {
            return;
        }
        let link = match locate(rel, v) {
            Place::Nowhere => return,
            Place::Hot(p) => {
                let pin = Pin::read(rel, p);
                let lock = pin.share();
                let Some(mut tuple) = heap_tuple(rel, &pin, next.ip_posid) else {
                    return;
                };
                if is_stub(tuple.t_data) {
                    return;
                }
                if prior_xmax != pg_sys::InvalidTransactionId
                    && raw_xmin(tuple.t_data) != prior_xmax
                {
                    return;
                }
                if rowpage::visible(rel, &mut tuple, &pin, &lock, snapshot) {
                    *tid = next;
                }
                next_version(rel, tuple.t_data, &tuple.t_self)
            }
            Place::Columnar(manifest, component) => {
                if prior_xmax != pg_sys::InvalidTransactionId {
                    // A settled row is frozen; nothing that somebody still follows a chain to is settled.
                    return;
                }
                let component = &manifest.components[component];
                if columnar::row_version(rel, component, &next, snapshot).is_some() {
                    *tid = next;
                }
                columnar::next_version(rel, component, &next)
            }
        };
        let Some((to, xmax)) = link else { return };
        next = to;
        prior_xmax = xmax;
    }
}

/// HeapTupleHeaderGetXmin(): frozen tuples have no transaction id to match.
pub unsafe fn raw_xmin(tuple: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    const FROZEN: u16 = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
    if (*tuple).t_infomask & FROZEN == FROZEN {
        pg_sys::FrozenTransactionId
    } else {
        (*tuple).t_choice.t_heap.t_xmin
    }
}

/// HeapTupleHeaderGetUpdateXid().
pub unsafe fn update_xid(tuple: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    let mask = u32::from((*tuple).t_infomask);
    let is_multi = mask & pg_sys::HEAP_XMAX_IS_MULTI != 0;
    if mask & pg_sys::HEAP_XMAX_INVALID == 0 && is_multi && mask & pg_sys::HEAP_XMAX_LOCK_ONLY == 0
    {
        pg_sys::HeapTupleGetUpdateXid(tuple)
    } else {
        (*tuple).t_choice.t_heap.t_xmax
    }
}

/// Where a tuple's next version is (logical TID), and the transaction that made it.
pub unsafe fn next_version(
    rel: pg_sys::Relation,
    tuple: pg_sys::HeapTupleHeader,
    own: &pg_sys::ItemPointerData,
) -> Option<(pg_sys::ItemPointerData, pg_sys::TransactionId)> {
    let link = (*tuple).t_ctid;
    let only_locked = (*tuple).t_infomask & pg_sys::HEAP_XMAX_LOCK_ONLY as u16 != 0
        || (*tuple).t_infomask & pg_sys::HEAP_XMAX_INVALID as u16 != 0;
    if only_locked || (link.ip_posid == own.ip_posid && tid_block(&link) == tid_block(own)) {
        return None;
    }
    if moved_partitions(&link) {
        return None;
    }
    let xmax = update_xid(tuple);
    let mut to = link;
    set_tid(&mut to, map::logical(rel, tid_block(&link))?, link.ip_posid);
    Some((to, xmax))
}

/// ItemPointerIndicatesMovedPartitions().
pub fn moved_partitions(tid: &pg_sys::ItemPointerData) -> bool {
    tid.ip_posid == 0xfffd && tid_block(tid) == pg_sys::InvalidBlockNumber
}

/// heap_index_delete_tuples() on physical TIDs, for the entries whose rows are in row pages. Entries of columnar rows go only when
/// the index already knows their rows are dead to everyone (invariant T6: the columnar side is asked first).
#[pg_guard]
pub unsafe extern "C-unwind" fn index_delete_tuples(
    rel: pg_sys::Relation,
    op: *mut pg_sys::TM_IndexDeleteOp,
) -> pg_sys::TransactionId {
    let all = std::slice::from_raw_parts_mut((*op).deltids, (*op).ndeltids as usize);
    let status = std::slice::from_raw_parts((*op).status, all.len());
    let manifest = manifest::current(rel);
    let mut logical = std::collections::HashMap::new();
    let mut hot = Vec::new();
    let mut kept = Vec::new();
    for entry in all.iter() {
        let v = tid_block(&entry.tid);
        let columnar = manifest.component_of(v).is_some();
        match map::physical(rel, v).filter(|_| !columnar) {
            Some(p) => {
                logical.insert(entry.id, entry.tid);
                let mut physical = *entry;
                set_tid(&mut physical.tid, p, entry.tid.ip_posid);
                hot.push(physical);
            }
            None if status[entry.id as usize].knowndeletable => kept.push(*entry),
            None => {}
        }
    }
    let mut horizon = pg_sys::InvalidTransactionId;
    if !hot.is_empty() {
        all[..hot.len()].copy_from_slice(&hot);
        (*op).ndeltids = hot.len() as i32;
        let guard = InHeap::enter();
        horizon = pg_sys::heap_index_delete_tuples(rel, op);
        drop(guard);
    } else {
        (*op).ndeltids = 0;
    }
    let remaining = (*op).ndeltids as usize;
    for entry in all[..remaining].iter_mut() {
        entry.tid = logical[&entry.id];
    }
    if !kept.is_empty() {
        all[remaining..remaining + kept.len()].copy_from_slice(&kept);
        (*op).ndeltids += kept.len() as i32;
        // Their rows died before the horizon; we do not know when, so a standby's snapshots older than it must go: those not past the
        // transaction before it.
        let last =
            crate::maintenance::vacuum::before(pg_sys::GetOldestNonRemovableTransactionId(rel));
        if horizon == pg_sys::InvalidTransactionId || pg_sys::TransactionIdPrecedes(horizon, last) {
            horizon = last;
        }
    }
    horizon
}
