//! Fetching single rows by TID: for indexes, for the executor, for triggers.

use super::descriptor::state;
use crate::columnar;
use crate::heap::modify as heap;
use crate::heap::prune;
use crate::heap::tuple::next_version;
use crate::pg::horizon::before;
use crate::pg::lock::holds_any;
use crate::pg::tuple::Copied;
use crate::pg::{Lock, Pin, Relation, Slot, Snapshot, Tuple, xid};
use crate::storage::manifest::{self, Replaced};
use crate::storage::map;
use crate::storage::meta::logical_blocks;
use crate::storage::rowpage::{self, heap_tuple, is_stub, new_tid, set_tid, tid_block};
use crate::storage::watch::Watch;
use crate::table::block::{Place, confirm_page, locate, predicate_lock_if_sealed, read, read_watched};
use crate::table::load;
use crate::table::slot;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[repr(C)]
struct IndexFetch {
    base: pg_sys::IndexFetchTableData,
    /// The row page of the last row: kept, because the next entry often points to it too, and for HOT chains in
    /// progress. After an error nobody drops it: the resource owner has released its pin.
    page: Option<Pin>,
    /// The same goes for this; it is kept until the end, as rows may be asked for in many scans of one each.
    watch: Option<Watch>,
}

/// # Safety
/// As table_index_fetch_begin() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn begin(rel: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    // SAFETY: room for what is written. Nothing of it may outlive `end`: a check of a unique key begins one for each
    // row.
    unsafe {
        let fetch = pg_sys::palloc0(std::mem::size_of::<IndexFetch>()) as *mut IndexFetch;
        (*fetch).base.rel = rel;
        (&raw mut (*fetch).page).write(None);
        (&raw mut (*fetch).watch).write(None);
        fetch as *mut pg_sys::IndexFetchTableData
    }
}

/// # Safety
/// As table_index_fetch_reset() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn reset(fetch: *mut pg_sys::IndexFetchTableData) {
    // SAFETY: what `begin` has made.
    unsafe { (*(fetch as *mut IndexFetch)).page = None }
}

/// # Safety
/// As table_index_fetch_end() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn end(fetch: *mut pg_sys::IndexFetchTableData) {
    // SAFETY: what `begin` has made.
    unsafe {
        (*(fetch as *mut IndexFetch)).page = None;
        (*(fetch as *mut IndexFetch)).watch = None;
        pg_sys::pfree(fetch as _);
    }
}

/// heapam_index_fetch_tuple() for rows that may live in a component.
///
/// # Safety
/// As table_index_fetch_tuple() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn tuple(
    fetch: *mut pg_sys::IndexFetchTableData,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    call_again: *mut bool,
    all_dead: *mut bool,
) -> bool {
    // SAFETY: PostgreSQL's arguments stay until we return; `fetch` is what `begin` has made.
    unsafe {
        let rel = Relation::of((*fetch).rel);
        let IndexFetch { page, watch, .. } = &mut *(fetch as *mut IndexFetch);
        let (snapshot, slot) = (Snapshot::of(snapshot), Slot::of(slot));
        fetch_tuple(
            rel,
            (page, watch),
            &mut *tid,
            snapshot,
            slot,
            &mut *call_again,
            all_dead.as_mut(),
        )
    }
}

fn fetch_tuple(
    rel: &Relation,
    (page, watch): (&mut Option<Pin>, &mut Option<Watch>),
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    slot: &Slot,
    call_again: &mut bool,
    mut all_dead: Option<&mut bool>,
) -> bool {
    if let Some(all_dead) = &mut all_dead {
        **all_dead = false;
    }
    // A check of a unique key has a page of the index locked. It needs only to know whose the row is (`sees_load_of`).
    if !load::idle() && (snapshot.is_mvcc() || !holds_any()) {
        load::publish_for(rel, Some(snapshot));
    }
    crate::memory::check_for_interrupts();
    let v = tid_block(tid);
    if *call_again {
        let pin = page.as_ref().expect("kept from the last call");
        return hot_tuple(rel, pin, tid, snapshot, slot, call_again, all_dead);
    }
    if watch.is_none() {
        *watch = Watch::begin(rel);
    }
    let watch = watch.as_ref();
    read_watched(rel, watch, v, snapshot, |place| match place {
        Place::Hot(p) => {
            let pin = match page.take() {
                Some(pin) if pin.block() == p => pin,
                previous => {
                    drop(previous);
                    let pin = rowpage::read(rel, p);
                    prune::if_worth(rel, &pin);
                    pin
                }
            };
            if manifest::on_standby() {
                return copied_tuple(rel, (v, &pin), tid, snapshot, slot);
            }
            let pin = page.insert(pin);
            Ok(hot_tuple(
                rel,
                pin,
                tid,
                snapshot,
                slot,
                call_again,
                all_dead.as_deref_mut(),
            ))
        }
        Place::Columnar(manifest, component) => {
            *page = None;
            let component = &manifest.components[component];
            let row = columnar::fetch(rel, watch, component, tid, snapshot, all_dead.as_deref_mut())?;
            Ok(store_row(rel, row, *tid, slot))
        }
        Place::Nowhere if snapshot.is_mvcc() => Ok(false),
        Place::Nowhere => {
            snapshot.reset_dirty();
            let loader = manifest::current(rel).loader_of(v).and_then(xid::in_progress);
            let found = loader.is_some_and(|loader| sees_load_of(loader, snapshot));
            if found {
                // Nobody has the row yet.
                slot.store_nulls(*tid, rel.id());
            } else if !matches!(locate(rel, v), Place::Nowhere) {
                // Noted until then, it was published meanwhile.
                return Err(Replaced);
            }
            Ok(found)
        }
    })
}

/// Whether a snapshot that is not MVCC sees a row that this transaction, which goes on, loads: as if it were on a row
/// page. A dirty one is told whom to wait for (HeapTupleSatisfiesDirty()).
fn sees_load_of(loader: pg_sys::TransactionId, snapshot: &Snapshot) -> bool {
    if xid::is_current(loader) {
        return true;
    }
    snapshot.set_inserting(loader);
    snapshot.sees_in_progress()
}

fn store_row(rel: &Relation, row: Option<columnar::Row>, tid: pg_sys::ItemPointerData, slot: &Slot) -> bool {
    let found = row.is_some();
    if let Some(row) = row {
        slot::store_columnar(slot, row, tid, rel.id());
    }
    found
}

/// The next member of a HOT chain on a row page that the snapshot sees.
fn hot_tuple(
    rel: &Relation,
    pin: &Pin,
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    slot: &Slot,
    call_again: &mut bool,
    all_dead: Option<&mut bool>,
) -> bool {
    let lock = pin.share();
    let found = search_chain(rel, pin, tid, snapshot, all_dead, !*call_again);
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
fn search_chain<'a>(
    rel: &Relation,
    pin: &'a Pin,
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    all_dead: Option<&mut bool>,
    first: bool,
) -> Option<Tuple<'a>> {
    let mut physical = new_tid(pin.block(), tid.ip_posid);
    let found = heap::search_chain(rel, pin, &mut physical, snapshot, all_dead, first);
    tid.ip_posid = physical.ip_posid;
    // An index entry never points to a stub, but a line pointer may have been taken by one since the entry's row died.
    found.filter(|found| !is_stub(found.header()))
}

/// The same on a standby (see `block`): the tuple is copied while the page is locked. Its queries' snapshots see one
/// member of a chain.
fn copied_tuple(
    rel: &Relation,
    (v, pin): (u32, &Pin),
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    slot: &Slot,
) -> Result<bool, Replaced> {
    let mut at = *tid;
    let lock = pin.share();
    let found = search_chain(rel, pin, &mut at, snapshot, None, true);
    let stored = store_confirmed(rel, (v, pin), lock, found, at, slot)?;
    if stored {
        *tid = at;
    }
    Ok(stored)
}

/// Copies a tuple that was found on a row page while it is locked, and stores the copy once the page turns out to be
/// that of block `v`.
fn store_confirmed(
    rel: &Relation,
    (v, pin): (u32, &Pin),
    lock: Lock,
    found: Option<Tuple>,
    tid: pg_sys::ItemPointerData,
    slot: &Slot,
) -> Result<bool, Replaced> {
    let copy = found.map(Copied::of);
    drop(lock);
    confirm_page(rel, v, pin.block())?;
    let Some(mut copy) = copy else { return Ok(false) };
    slot::store_copy(slot, copy.tuple(), tid);
    Ok(true)
}

/// # Safety
/// As table_tuple_fetch_row_version() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn row_version(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: PostgreSQL's arguments stay until we return.
    unsafe { fetch_row_version(Relation::of(rel), *tid, Snapshot::of(snapshot), Slot::of(slot)) }
}

fn fetch_row_version(rel: &Relation, logical: pg_sys::ItemPointerData, snapshot: &Snapshot, slot: &Slot) -> bool {
    load::publish_for(rel, Some(snapshot));
    let v = tid_block(&logical);
    read(rel, v, snapshot, |place| match place {
        Place::Nowhere => Ok(false),
        Place::Hot(p) if manifest::on_standby() => {
            let pin = Pin::read(rel, p);
            let lock = pin.share();
            let mut found = heap_tuple(rel, &pin, logical.ip_posid).filter(|tuple| !is_stub(tuple.header()));
            if let Some(tuple) = &mut found
                && !tuple.is_visible(rel, pin.buffer(), snapshot)
            {
                found = None;
            }
            store_confirmed(rel, (v, &pin), lock, found, logical, slot)
        }
        Place::Hot(p) => match heap_fetch(rel, p, logical.ip_posid, snapshot) {
            Some((tuple, pin)) => {
                predicate_lock_if_sealed(rel, snapshot, &pin, &pin.share());
                slot::store_pinned(slot, tuple, logical, pin);
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

/// heap_fetch() at a physical TID; stubs are not rows.
fn heap_fetch<'a>(rel: &Relation, p: u32, offset: u16, snapshot: &Snapshot) -> Option<(Tuple<'a>, Pin)> {
    heap::fetch(rel, new_tid(p, offset), snapshot).filter(|(tuple, _)| !is_stub(tuple.header()))
}

/// # Safety
/// As table_tuple_satisfies_snapshot() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn satisfies_snapshot(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
) -> bool {
    // SAFETY: PostgreSQL's arguments stay until we return.
    unsafe { is_seen(Relation::of(rel), Slot::of(slot), Snapshot::of(snapshot)) }
}

fn is_seen(rel: &Relation, slot: &Slot, snapshot: &Snapshot) -> bool {
    if let Some(visible) = slot::with_heap_tuple(slot, |tuple, lock| tuple.satisfies(snapshot, lock.buffer())) {
        return visible;
    }
    let tid = slot.tid();
    let v = tid_block(&tid);
    read(rel, v, snapshot, |place| match place {
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            Ok(columnar::row_version(rel, component, &tid, snapshot)?.is_some())
        }
        // Materialized from a row page: look at the original.
        Place::Hot(p) => {
            let visible = heap_fetch(rel, p, tid.ip_posid, snapshot).is_some();
            if manifest::on_standby() {
                confirm_page(rel, v, p)?;
            }
            Ok(visible)
        }
        Place::Nowhere => Ok(false),
    })
}

/// heap_get_latest_tid().
///
/// # Safety
/// As table_tuple_get_latest_tid() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn latest_tid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) {
    // SAFETY: a scan of ours, which has the relation and the snapshot; the TID stays until we return.
    unsafe {
        let blocks = state(scan).blocks;
        follow_chain(
            Relation::of((*scan).rs_rd),
            Snapshot::of((*scan).rs_snapshot),
            blocks,
            &mut *tid,
        );
    }
}

/// Follows the update chain from `tid` to the newest version that the snapshot sees.
fn follow_chain(rel: &Relation, snapshot: &Snapshot, blocks: u32, tid: &mut pg_sys::ItemPointerData) {
    let mut next = *tid;
    let mut prior_xmax = pg_sys::InvalidTransactionId;
    loop {
        let v = tid_block(&next);
        if next.ip_posid == 0 || v >= blocks.max(logical_blocks(rel)) {
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
///
/// # Safety
/// As table_index_delete_tuples() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn index_delete_tuples(
    rel: pg_sys::Relation,
    op: *mut pg_sys::TM_IndexDeleteOp,
) -> pg_sys::TransactionId {
    // SAFETY: PostgreSQL's arguments stay until we return; there are so many entries.
    unsafe {
        let entries = std::slice::from_raw_parts_mut((*op).deltids, (*op).ndeltids as usize);
        let status = std::slice::from_raw_parts((*op).status, entries.len());
        delete_entries(Relation::of(rel), entries, status, &mut *op)
    }
}

fn delete_entries(
    rel: &Relation,
    all: &mut [pg_sys::TM_IndexDelete],
    status: &[pg_sys::TM_IndexStatus],
    op: &mut pg_sys::TM_IndexDeleteOp,
) -> pg_sys::TransactionId {
    let known = |entry: &pg_sys::TM_IndexDelete| status[entry.id as usize].knowndeletable;
    let manifest = manifest::current(rel);
    let mut logical = std::collections::HashMap::new();
    let mut hot = Vec::new();
    let mut kept = Vec::new();
    let mut last: Option<(u32, Option<u32>)> = None;
    for entry in all.iter() {
        let v = tid_block(&entry.tid);
        // The entries are in order: those that follow often lead to the same block.
        if last.is_none_or(|(of, _)| of != v) {
            let columnar = manifest.component_of(v).is_some();
            let p = (!columnar).then(|| map::physical(rel, v)).flatten();
            last = Some((v, p));
        }
        match last.and_then(|(_, p)| p) {
            Some(p) => {
                logical.insert(entry.id, entry.tid);
                let mut physical = *entry;
                set_tid(&mut physical.tid, p, entry.tid.ip_posid);
                hot.push(physical);
            }
            None if known(entry) => kept.push(*entry),
            None => {}
        }
    }
    let mut horizon = pg_sys::InvalidTransactionId;
    // heapam.c relies on one that is known, unless the deletion is bottom-up: nbtree adds others of the same blocks, and of the new entry's.
    if op.bottomup && !hot.is_empty() || hot.iter().any(known) {
        all[..hot.len()].copy_from_slice(&hot);
        op.ndeltids = hot.len() as i32;
        horizon = heap::index_delete_tuples(rel, op);
    } else {
        op.ndeltids = 0;
    }
    let remaining = op.ndeltids as usize;
    for entry in all[..remaining].iter_mut() {
        entry.tid = logical[&entry.id];
    }
    if !kept.is_empty() {
        all[remaining..remaining + kept.len()].copy_from_slice(&kept);
        op.ndeltids += kept.len() as i32;
        // Their rows died before the horizon; we do not know when, so a standby's snapshots older than it must go:
        // those not past the transaction before it.
        let last = before(xid::oldest_xmin(rel));
        if horizon == pg_sys::InvalidTransactionId || xid::precedes(horizon, last) {
            horizon = last;
        }
    }
    horizon
}
