//! Fetching single rows by TID: for indexes, for the executor, for triggers.

use super::block::{Place, confirm_page, locate, predicate_lock_if_sealed, prune, read};
use super::bulk;
use super::descriptor::state;
use super::slot;
use crate::columnar;
use crate::disguise::size::Physical;
use crate::heap::tuple::next_version;
use crate::pg::horizon::before;
use crate::pg::tuple::Header;
use crate::pg::{Lock, Pin, Relation, Snapshot, Tuple, xid};
use crate::storage::manifest::{self, Replaced};
use crate::storage::map;
use crate::storage::rowpage::{self, heap_tuple, is_stub, set_tid, tid_block};
use pgrx::pg_sys;
use pgrx::prelude::*;

#[repr(C)]
struct IndexFetch {
    base: pg_sys::IndexFetchTableData,
    /// The row page of the last row: kept, because the next entry often points to it too, and for HOT chains in
    /// progress. After an error nobody drops it: the resource owner has released its pin.
    page: Option<Pin>,
}

#[pg_guard]
pub unsafe extern "C-unwind" fn begin(rel: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    let rel = Relation::of(rel);
    // Nothing of it may outlive `end`: a check of a unique key begins one for each row.
    let fetch = pg_sys::palloc0(std::mem::size_of::<IndexFetch>()) as *mut IndexFetch;
    (*fetch).base.rel = rel.raw();
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
    let snapshot = Snapshot::of(snapshot);
    let rel = Relation::of((*fetch).rel);
    let state = &mut *(fetch as *mut IndexFetch);
    if !all_dead.is_null() {
        *all_dead = false;
    }
    if !bulk::idle() {
        bulk::publish_for(rel, Some(snapshot));
    }
    crate::memory::check_for_interrupts();
    let v = tid_block(&*tid);
    if *call_again {
        let pin = state.page.as_ref().expect("kept from the last call");
        return hot_tuple(rel, pin, tid, snapshot, slot, call_again, all_dead);
    }
    read(rel, v, snapshot, |place| match place {
        Place::Hot(p) => {
            let pin = match state.page.take() {
                Some(pin) if pin.block() == p => pin,
                previous => {
                    drop(previous);
                    let pin = rowpage::read(rel, p);
                    prune(rel, &pin);
                    pin
                }
            };
            if manifest::on_standby() {
                return copied_tuple(rel, (v, &pin), tid, snapshot, slot);
            }
            let pin = state.page.insert(pin);
            Ok(hot_tuple(rel, pin, tid, snapshot, slot, call_again, all_dead))
        }
        Place::Columnar(manifest, component) => {
            state.page = None;
            let component = &manifest.components[component];
            let row = columnar::fetch(rel, component, &mut *tid, snapshot, all_dead.as_mut())?;
            Ok(store_row(rel, row, *tid, slot))
        }
        Place::Nowhere => Ok(false),
    })
}

unsafe fn store_row(
    rel: &Relation,
    row: Option<columnar::Row>,
    tid: pg_sys::ItemPointerData,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let found = row.is_some();
    if let Some(row) = row {
        slot::store_columnar(slot, row, tid, rel.id());
    }
    found
}

/// The next member of a HOT chain on a row page that the snapshot sees.
unsafe fn hot_tuple(
    rel: &Relation,
    pin: &Pin,
    tid: pg_sys::ItemPointer,
    snapshot: &Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    call_again: *mut bool,
    all_dead: *mut bool,
) -> bool {
    let lock = pin.share();
    let found = search_chain(rel, pin, &mut *tid, snapshot, all_dead, !*call_again);
    predicate_lock_if_sealed(rel, snapshot, pin, &lock);
    drop(lock);
    let Some(found) = found else {
        *call_again = false;
        return false;
    };
    // Only a non-MVCC snapshot can see more than one member of a HOT chain.
    *call_again = !snapshot.is_mvcc();
    slot::store_heap(slot, found, *tid, pin);
    true
}

/// heap_hot_search_buffer() under the page's lock; sets the offset to that of the tuple found.
unsafe fn search_chain(
    rel: &Relation,
    pin: &Pin,
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    all_dead: *mut bool,
    first: bool,
) -> Option<pg_sys::HeapTupleData> {
    let mut physical = pg_sys::ItemPointerData::default();
    set_tid(&mut physical, pin.block(), tid.ip_posid);
    let mut found = pg_sys::HeapTupleData::default();
    let got = pg_sys::heap_hot_search_buffer(
        &mut physical,
        rel.raw(),
        pin.buffer(),
        snapshot.raw(),
        &mut found,
        all_dead,
        first,
    );
    tid.ip_posid = physical.ip_posid;
    // An index entry never points to a stub, but a line pointer may have been taken by one since the entry's row died.
    (got && !is_stub(Header::of(found.t_data))).then_some(found)
}

/// The same on a standby (see `block`): the tuple is copied while the page is locked. Its queries' snapshots see one
/// member of a chain.
unsafe fn copied_tuple(
    rel: &Relation,
    (v, pin): (u32, &Pin),
    tid: pg_sys::ItemPointer,
    snapshot: &Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> Result<bool, Replaced> {
    let mut at = *tid;
    let lock = pin.share();
    let found = search_chain(rel, pin, &mut at, snapshot, std::ptr::null_mut(), true);
    let stored = store_confirmed(rel, (v, pin), lock, found, at, slot)?;
    if stored {
        *tid = at;
    }
    Ok(stored)
}

/// Copies a tuple that was found on a row page while it is locked, and stores the copy once the page turns out to be
/// that of block `v`.
unsafe fn store_confirmed(
    rel: &Relation,
    (v, pin): (u32, &Pin),
    lock: Lock,
    found: Option<pg_sys::HeapTupleData>,
    tid: pg_sys::ItemPointerData,
    slot: *mut pg_sys::TupleTableSlot,
) -> Result<bool, Replaced> {
    let copy = found.map(|mut tuple| pg_sys::heap_copytuple(&mut tuple));
    drop(lock);
    confirm_page(rel, v, pin.block())?;
    let Some(copy) = copy else { return Ok(false) };
    slot::store_copy(slot, &mut *copy, tid);
    pg_sys::heap_freetuple(copy);
    Ok(true)
}

#[pg_guard]
pub unsafe extern "C-unwind" fn row_version(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let rel = Relation::of(rel);
    let snapshot = Snapshot::of(snapshot);
    if !bulk::idle() {
        bulk::publish_for(rel, Some(snapshot));
    }
    let logical = *tid;
    let v = tid_block(&logical);
    read(rel, v, snapshot, |place| match place {
        Place::Nowhere => Ok(false),
        Place::Hot(p) if manifest::on_standby() => {
            let pin = Pin::read(rel, p);
            let lock = pin.share();
            let found = heap_tuple(rel, &pin, logical.ip_posid)
                .filter(|tuple| !is_stub(tuple.header()))
                .map(|tuple| tuple.data())
                .filter(|tuple| Tuple::of(*tuple).is_visible(rel, pin.buffer(), snapshot));
            store_confirmed(rel, (v, &pin), lock, found, logical, slot)
        }
        Place::Hot(p) => match heap_fetch(rel, p, logical.ip_posid, snapshot) {
            Some((tuple, buffer)) => {
                let pin = Pin::adopt(buffer);
                predicate_lock_if_sealed(rel, snapshot, &pin, &pin.share());
                slot::store_pinned(slot, tuple, logical, pin.into_buffer());
                Ok(true)
            }
            None => Ok(false),
        },
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            let row = columnar::row_version(rel, component, &logical, snapshot)?;
            Ok(store_row(rel, row, logical, slot))
        }
    })
}

/// heap_fetch() at a physical TID; stubs are not rows. The buffer comes pinned.
pub unsafe fn heap_fetch(
    rel: &Relation,
    p: u32,
    offset: u16,
    snapshot: &Snapshot,
) -> Option<(pg_sys::HeapTupleData, pg_sys::Buffer)> {
    let mut tuple = pg_sys::HeapTupleData::default();
    set_tid(&mut tuple.t_self, p, offset);
    let mut buffer = 0;
    if !pg_sys::heap_fetch(rel.raw(), snapshot.raw(), &mut tuple, &mut buffer, false) {
        return None;
    }
    let pin = Pin::adopt(buffer);
    (!is_stub(Header::of(tuple.t_data))).then(|| (tuple, pin.into_buffer()))
}

#[pg_guard]
pub unsafe extern "C-unwind" fn satisfies_snapshot(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
) -> bool {
    let rel = Relation::of(rel);
    let snapshot = Snapshot::of(snapshot);
    if let Some((tuple, buffer)) = slot::heap_tuple(slot) {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
        let visible = pg_sys::HeapTupleSatisfiesVisibility(tuple, snapshot.raw(), buffer);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
        return visible;
    }
    let v = tid_block(&(*slot).tts_tid);
    read(rel, v, snapshot, |place| match place {
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            let row = columnar::row_version(rel, component, &(*slot).tts_tid, snapshot)?;
            Ok(row.is_some())
        }
        // Materialized from a row page: look at the original.
        Place::Hot(p) => {
            let found = heap_fetch(rel, p, (*slot).tts_tid.ip_posid, snapshot);
            let visible = found.is_some();
            drop(found.map(|(_, buffer)| Pin::adopt(buffer)));
            if manifest::on_standby() {
                confirm_page(rel, v, p)?;
            }
            Ok(visible)
        }
        Place::Nowhere => Ok(false),
    })
}

/// heap_get_latest_tid(): follows the update chain from `tid` to the newest version the snapshot sees.
#[pg_guard]
pub unsafe extern "C-unwind" fn latest_tid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) {
    let rel = Relation::of((*scan).rs_rd);
    let snapshot = Snapshot::of((*scan).rs_snapshot);
    let mut next = *tid;
    let mut prior_xmax = pg_sys::InvalidTransactionId;
    loop {
        let v = tid_block(&next);
        if next.ip_posid == 0 || v >= state(scan).blocks.max(crate::storage::meta::logical_blocks(rel)) {
            return;
        }
        let link = match locate(rel, v) {
            Place::Nowhere => return,
            Place::Hot(p) => {
                let pin = rowpage::read(rel, p);
                let _lock = pin.share();
                let Some(mut tuple) = heap_tuple(rel, &pin, next.ip_posid) else {
                    return;
                };
                if is_stub(tuple.header()) {
                    return;
                }
                if prior_xmax != pg_sys::InvalidTransactionId && tuple.header().xmin() != prior_xmax {
                    return;
                }
                if tuple.is_visible(rel, pin.buffer(), snapshot) {
                    *tid = next;
                }
                next_version(rel, tuple.header(), tuple.tid())
            }
            Place::Columnar(manifest, component) => {
                if prior_xmax != pg_sys::InvalidTransactionId {
                    // Nothing that somebody still follows a chain to is settled.
                    return;
                }
                let component = &manifest.components[component];
                match columnar::row_version(rel, component, &next, snapshot) {
                    Ok(Some(_)) => *tid = next,
                    Ok(None) => {}
                    Err(Replaced) => continue,
                }
                columnar::next_version(rel, component, &next)
            }
        };
        let Some((to, xmax)) = link else { return };
        next = to;
        prior_xmax = xmax;
    }
}

/// heap_index_delete_tuples() on physical TIDs, for the entries whose rows are in row pages. Entries of columnar rows
/// go only when the index already knows their rows are dead to everyone (invariant T6: the columnar side is asked
/// first).
#[pg_guard]
pub unsafe extern "C-unwind" fn index_delete_tuples(
    rel: pg_sys::Relation,
    op: *mut pg_sys::TM_IndexDeleteOp,
) -> pg_sys::TransactionId {
    let rel = Relation::of(rel);
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
        let guard = Physical::enter();
        horizon = pg_sys::heap_index_delete_tuples(rel.raw(), op);
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
        // Their rows died before the horizon; we do not know when, so a standby's snapshots older than it must go:
        // those not past the transaction before it.
        let last = before(xid::oldest_xmin(rel));
        if horizon == pg_sys::InvalidTransactionId || xid::precedes(horizon, last) {
            horizon = last;
        }
    }
    horizon
}
