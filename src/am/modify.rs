//! Inserting, updating, deleting and locking rows.
//!
//! Rows of row pages are handled by heap's own functions at their physical TIDs. A columnar row is handled through its
//! stub, a heap tuple too (see `columnar::stub`). Either way the writer keeps a pin from the moment it has seen that
//! the page is not sealed until heap's function is done: a flush needs the cleanup lock to seal a page, so the page
//! stays a row page for as long.

use crate::columnar::{self, stub, stub_keys};
use crate::disguise::fill::Fill;
use crate::disguise::keys::Keys;
use crate::heap::modify::{self as heap, Insertion, UpdateIndexes};
use crate::heap::tuple::{moved_partitions, next_version};
use crate::maintenance;
use crate::pg::snapshot::{Own, check_readers_of};
use crate::pg::{Pin, Relation, Slot, Snapshot, xid};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, heap_tuple, is_stub, new_tid, set_tid, tid_block};
use crate::storage::{map, meta};
use crate::table::block::{Place, locate};
use crate::table::load;
use crate::table::slot;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Options that heap must not see: COPY FREEZE would set visibility map bits that a flush cannot clear on a standby.
const STRIPPED: u32 = pg_sys::TABLE_INSERT_FROZEN;

/// # Safety
/// As table_tuple_insert() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn insert(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: PostgreSQL's arguments stay until we return.
    let (rel, slot, how) = unsafe { (Relation::of(rel), Slot::of(slot), Insertion::of(cid, options, bistate)) };
    meta::ensure(rel);
    let may_load = !how.has(pg_sys::TABLE_INSERT_NO_LOGICAL);
    if !may_load || !load::insert(rel, &[slot], cid, |slot| into_row_page(rel, slot, how, None)) {
        into_row_page(rel, slot, how, None);
    }
}

/// # Safety
/// As table_tuple_insert_speculative() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn insert_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
    token: u32,
) {
    // SAFETY: PostgreSQL's arguments stay until we return.
    let (rel, slot, how) = unsafe { (Relation::of(rel), Slot::of(slot), Insertion::of(cid, options, bistate)) };
    meta::ensure(rel);
    into_row_page(rel, slot, how, Some(token));
}

fn into_row_page(rel: &Relation, slot: &Slot, how: Insertion, token: Option<u32>) {
    let mut how = how.without(STRIPPED);
    let bytes = row_bytes(rel, slot);
    let _fill = fill_for(rel, bytes);
    slot.with_tuple(rel.id(), |tuple| {
        if let Some(token) = token {
            // HeapTupleHeaderSetSpeculativeToken()
            set_tid(
                &mut tuple.header_mut().t_ctid,
                token,
                pg_sys::SpecTokenOffsetNumber as u16,
            );
            how = how.with(pg_sys::HEAP_INSERT_SPECULATIVE);
        }
        heap::insert(rel, tuple, how);
        maintenance::fault("insert_placed");
        slot.set_tid(logical_tid(rel, tuple.tid()));
        if token.is_none() {
            keep(rel, &slot.tid(), tuple.tid());
        }
        // The slot may own this tuple.
        tuple.set_tid(slot.tid());
    });
    map::note_row(rel, bytes);
}

fn row_bytes(rel: &Relation, slot: &Slot) -> usize {
    slot.values().varying_bytes(rel.desc())
}

/// So that large rows, of which this is one, are on as many pages as there are megabytes: a page is flushed when all of its
/// rows are settled, and they go to one leaf.
fn fill_for(rel: &Relation, bytes: usize) -> Option<Fill<'_>> {
    // Smaller ones may be small enough for a page once they are compressed.
    const LARGE: usize = 64 << 10;
    const MOST_BYTES: usize = 1 << 20;
    // What a row takes of its page at least: its header, a pointer to what is elsewhere, and one to itself.
    const LEAST: usize = 48;
    const MOST_ROWS: usize = pg_sys::BLCKSZ as usize / LEAST;
    if bytes < LARGE {
        return None;
    }
    Fill::to(rel, (100 * (MOST_BYTES / bytes) / MOST_ROWS).max(1))
}

/// The logical TID of a row just put at a physical one.
fn logical_tid(rel: &Relation, physical: &pg_sys::ItemPointerData) -> pg_sys::ItemPointerData {
    new_tid(map::adopt(rel, tid_block(physical)), physical.ip_posid)
}

/// The page of a row just put there, and not speculatively: that may be taken back while our transaction goes on.
fn keep(rel: &Relation, logical: &pg_sys::ItemPointerData, physical: &pg_sys::ItemPointerData) {
    map::keep(rel, tid_block(logical), tid_block(physical));
}

/// # Safety
/// As table_tuple_complete_speculative() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn complete_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    _token: u32,
    succeeded: bool,
) {
    // SAFETY: PostgreSQL's arguments stay until we return.
    let (rel, slot) = unsafe { (Relation::of(rel), Slot::of(slot)) };
    let tid = slot.tid();
    // Our own speculative row is not settled: its page cannot have been flushed.
    let v = tid_block(&tid);
    let Some(p) = map::kept_physical(rel, v).or_else(|| map::physical(rel, v)) else {
        pgrx::error!("speculatively inserted row vanished from relation \"{}\"", rel.name());
    };
    let physical = new_tid(p, tid.ip_posid);
    if succeeded {
        heap::finish_speculative(rel, physical);
        keep(rel, &tid, &physical);
    } else {
        heap::abort_speculative(rel, physical);
    }
}

/// # Safety
/// As table_multi_insert() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn multi_insert(
    rel: pg_sys::Relation,
    slots: *mut *mut pg_sys::TupleTableSlot,
    nslots: i32,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    // SAFETY: PostgreSQL's arguments stay until we return; a handle is a pointer to the slot.
    let (rel, slots, how) = unsafe {
        let slots = std::slice::from_raw_parts(slots.cast::<&Slot>(), nslots as usize);
        (Relation::of(rel), slots, Insertion::of(cid, options, bistate))
    };
    meta::ensure(rel);
    if load::insert(rel, slots, cid, |slot| into_row_page(rel, slot, how, None)) {
        return;
    }
    let mut largest = 0;
    for slot in slots {
        let bytes = row_bytes(rel, slot);
        map::note_row(rel, bytes);
        largest = bytes.max(largest);
    }
    let fill = fill_for(rel, largest);
    heap::multi_insert(rel, slots, how.without(STRIPPED));
    drop(fill);
    let mut last = (pg_sys::InvalidBlockNumber, 0);
    for slot in slots {
        let p = tid_block(&slot.tid());
        if p != last.0 {
            last = (p, map::adopt(rel, p));
        }
        slot.set_tid(new_tid(last.1, slot.tid().ip_posid));
    }
}

/// # Safety
/// As table_finish_bulk_insert() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn finish_bulk_insert(rel: pg_sys::Relation, _options: i32) {
    // SAFETY: an open relation.
    load::finish(unsafe { Relation::of(rel) });
}

/// Where a row can be changed by heap's functions.
pub struct Target {
    /// Keeps the page a row page.
    pin: Pin,
    /// Physical TID of the row, or of its stub.
    pub physical: pg_sys::ItemPointerData,
    pub stub: bool,
    /// It has all keys of the row, as far as we know: another's stub may be older than a key.
    whole: bool,
}

/// Why a row cannot be changed.
enum NoTarget {
    /// Dead to everyone.
    Gone,
    /// Written by a later command of our own.
    Invisible,
}

#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Lock,
    Change,
}

fn target(rel: &Relation, tid: &pg_sys::ItemPointerData, cid: u32, purpose: Purpose) -> Result<Target, NoTarget> {
    load::publish_for(rel, None);
    loop {
        crate::memory::check_for_interrupts();
        let (p, offset, stub) = if let Some(at) = stub::made_before(rel, tid) {
            (at.block, at.offset, Some(at))
        } else {
            match locate(rel, tid_block(tid)) {
                Place::Nowhere => return Err(NoTarget::Gone),
                Place::Hot(p) => (p, tid.ip_posid, None),
                Place::Columnar(manifest, component) => {
                    match stub::get_or_create(rel, &manifest.components[component], tid, cid) {
                        stub::Found::Stub(at) => (at.block, at.offset, Some(at)),
                        stub::Found::Made(made) => {
                            let physical = new_tid(made.pin.block(), made.offset);
                            return Ok(Target {
                                pin: made.pin,
                                physical,
                                stub: true,
                                whole: made.whole,
                            });
                        }
                        stub::Found::Dead => return Err(NoTarget::Gone),
                        stub::Found::Invisible => return Err(NoTarget::Invisible),
                    }
                }
            }
        };
        let pin = rowpage::read(rel, p);
        let sealed = {
            let _lock = pin.share();
            rowpage::is_sealed(pin.page())
        };
        if sealed {
            drop(pin);
            maintenance::wait_for_flush(rel, p);
            continue;
        }
        // Before we had the pin the page may have been flushed, reclaimed and used again.
        let still = match stub {
            Some(at) => at.is_of(rel, tid),
            None => map::physical(rel, tid_block(tid)) == Some(p),
        };
        if !still {
            continue;
        }
        let physical = new_tid(p, offset);
        if stub.is_some()
            && purpose == Purpose::Change
            && rel.is_logically_logged()
            && stub_keys::lacks_identity(rel, tid, &physical, || row_of(rel, tid))
            && stub_keys::renew(rel, &pin, offset)
        {
            continue;
        }
        return Ok(Target {
            pin,
            physical,
            stub: stub.is_some(),
            whole: stub.is_none_or(|at| at.whole),
        });
    }
}

impl NoTarget {
    fn report(self, tid: &pg_sys::ItemPointerData, failure: &mut pg_sys::TM_FailureData) -> pg_sys::TM_Result::Type {
        failure.ctid = *tid;
        failure.xmax = pg_sys::InvalidTransactionId;
        failure.cmax = pg_sys::InvalidCommandId;
        match self {
            NoTarget::Gone => pg_sys::TM_Result::TM_Deleted,
            NoTarget::Invisible => pg_sys::TM_Result::TM_Invisible,
        }
    }
}

/// Rewrites the successor's TID that heap reported: where the next version is, or the row itself.
fn fix_failure(
    rel: &Relation,
    tid: &pg_sys::ItemPointerData,
    physical: &pg_sys::ItemPointerData,
    failure: &mut pg_sys::TM_FailureData,
) {
    let next = failure.ctid;
    if next.ip_posid == physical.ip_posid && tid_block(&next) == tid_block(physical) {
        failure.ctid = *tid;
    } else if !moved_partitions(&next) && next.ip_posid != 0 {
        // The successor is not settled while anyone can ask for it, so its page still has its logical block.
        if let Some(v) = map::logical(rel, tid_block(&next)) {
            failure.ctid = new_tid(v, next.ip_posid);
        }
    }
}

/// Whether a referential action's crosscheck snapshot sees the columnar row. Its stub is frozen, so heap cannot tell.
fn passes_crosscheck(rel: &Relation, tid: &pg_sys::ItemPointerData, crosscheck: Option<&Snapshot>) -> bool {
    let Some(crosscheck) = crosscheck else {
        return true;
    };
    match locate(rel, tid_block(tid)) {
        Place::Columnar(manifest, at) => columnar::origin::visible(rel, &manifest.components[at].origin, crosscheck),
        _ => true,
    }
}

fn report_updated(tid: &pg_sys::ItemPointerData, failure: &mut pg_sys::TM_FailureData) -> pg_sys::TM_Result::Type {
    NoTarget::Gone.report(tid, failure);
    pg_sys::TM_Result::TM_Updated
}

/// # Safety
/// As table_tuple_delete() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn delete(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    cid: pg_sys::CommandId,
    _snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    changing_partition: bool,
) -> pg_sys::TM_Result::Type {
    // SAFETY: PostgreSQL's arguments stay until we return; there may be no crosscheck.
    let (rel, tid, crosscheck, failure) =
        unsafe { (Relation::of(rel), *tid, Snapshot::of_any(crosscheck), &mut *tmfd) };
    let how = heap::Change { cid, crosscheck, wait };
    let target = match target(rel, &tid, cid, Purpose::Change) {
        Ok(target) => target,
        Err(none) => return none.report(&tid, failure),
    };
    if target.stub && !passes_crosscheck(rel, &tid, crosscheck) {
        return report_updated(&tid, failure);
    }
    let result = heap::delete(rel, target.physical, how, failure, changing_partition);
    if result != pg_sys::TM_Result::TM_Ok {
        fix_failure(rel, &tid, &target.physical, failure);
    } else if target.stub {
        // Readers lock logical TIDs (see `columnar::fetch`), which heap's code knows nothing of. After the change, so
        // that a reader who saw the row before it has its lock by now.
        check_readers_of(rel, tid);
    }
    result
}

/// The columnar row whose stub a target is.
fn row_of(rel: &Relation, tid: &pg_sys::ItemPointerData) -> columnar::Row {
    match locate(rel, tid_block(tid)) {
        Place::Columnar(manifest, at) => columnar::row_at(rel, &manifest.components[at], tid),
        _ => pgrx::error!("columnar row vanished from relation \"{}\"", rel.name()),
    }
}

/// # Safety
/// As table_tuple_update() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn update(
    rel: pg_sys::Relation,
    otid: pg_sys::ItemPointer,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    _snapshot: pg_sys::Snapshot,
    crosscheck: pg_sys::Snapshot,
    wait: bool,
    tmfd: *mut pg_sys::TM_FailureData,
    lockmode: *mut pg_sys::LockTupleMode::Type,
    update_indexes: *mut UpdateIndexes,
) -> pg_sys::TM_Result::Type {
    // SAFETY: PostgreSQL's arguments stay until we return; there may be no crosscheck.
    unsafe {
        let crosscheck = Snapshot::of_any(crosscheck);
        let how = heap::Change { cid, crosscheck, wait };
        let (slot, failure) = (Slot::of(slot), &mut *tmfd);
        update_row(
            Relation::of(rel),
            *otid,
            slot,
            how,
            failure,
            &mut *lockmode,
            &mut *update_indexes,
        )
    }
}

fn update_row(
    rel: &Relation,
    logical: pg_sys::ItemPointerData,
    slot: &Slot,
    how: heap::Change,
    failure: &mut pg_sys::TM_FailureData,
    lockmode: &mut pg_sys::LockTupleMode::Type,
    indexes: &mut UpdateIndexes,
) -> pg_sys::TM_Result::Type {
    set_update_indexes(indexes, false);
    let target = match target(rel, &logical, how.cid, Purpose::Change) {
        Ok(target) => target,
        Err(none) => {
            *lockmode = pg_sys::LockTupleMode::LockTupleExclusive;
            return none.report(&logical, failure);
        }
    };
    if target.stub && !passes_crosscheck(rel, &logical, how.crosscheck) {
        *lockmode = pg_sys::LockTupleMode::LockTupleExclusive;
        return report_updated(&logical, failure);
    }
    let row = || row_of(rel, &logical);
    let keys = (!target.whole)
        .then(|| stub_keys::pose(rel, &logical, &target.physical, slot, row))
        .flatten();
    // Index entries lead to the columnar row, not to its stub: the new version must have its own.
    let never_hot = if target.stub { Keys::never_hot(rel) } else { None };
    let result = slot.with_tuple(rel.id(), |tuple| {
        let result = heap::update(rel, target.physical, tuple, how, failure, lockmode, indexes);
        drop((keys, never_hot));
        if result != pg_sys::TM_Result::TM_Ok {
            fix_failure(rel, &logical, &target.physical, failure);
            return result;
        }
        if target.stub {
            // As for a deletion.
            check_readers_of(rel, logical);
        }
        let physical = *tuple.tid();
        let heap_only = tuple.header().infomask2() & pg_sys::HEAP_ONLY_TUPLE as u16 != 0;
        maintenance::fault("update_placed");
        if target.stub && heap_only {
            unchain(rel, &target.pin, target.physical.ip_posid, physical.ip_posid);
        }
        #[cfg(feature = "pg15")]
        set_update_indexes(indexes, target.stub || !heap_only);
        #[cfg(not(feature = "pg15"))]
        if target.stub {
            set_update_indexes(indexes, true);
        }
        slot.set_tid(logical_tid(rel, &physical));
        keep(rel, &slot.tid(), &physical);
        tuple.set_tid(slot.tid());
        result
    });
    if result == pg_sys::TM_Result::TM_Ok {
        map::note_row(rel, row_bytes(rel, slot));
    }
    result
}

#[cfg(feature = "pg15")]
fn set_update_indexes(to: &mut UpdateIndexes, all: bool) {
    *to = all;
}

#[cfg(not(feature = "pg15"))]
fn set_update_indexes(to: &mut UpdateIndexes, all: bool) {
    use pg_sys::TU_UpdateIndexes::*;
    *to = if all { TU_All } else { TU_None };
}

/// heap_update() on a stub made a heap-only tuple, in a table without indexes (since 16, without others than summarizing
/// ones). One that comes later would take the stub for the root of the new version. Takes the HOT marks off both tuples,
/// before our transaction can be seen to have committed.
fn unchain(rel: &Relation, pin: &Pin, stub: u16, version: u16) {
    let mut change = Change::begin(rel);
    let handle = change.locked(Pin::read(rel, pin.block()).lock());
    let image = change.whole(handle);
    for (offset, mark) in [(stub, pg_sys::HEAP_HOT_UPDATED), (version, pg_sys::HEAP_ONLY_TUPLE)] {
        let tuple = rowpage::heap_tuple_of(rel, *image, pin.block(), offset);
        tuple.expect("the tuples of our own update").header_mut().t_infomask2 &= !(mark as u16);
    }
    change.commit();
}

/// # Safety
/// As table_tuple_lock() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn lock(
    rel: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    _snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    mode: pg_sys::LockTupleMode::Type,
    wait_policy: pg_sys::LockWaitPolicy::Type,
    flags: u8,
    tmfd: *mut pg_sys::TM_FailureData,
) -> pg_sys::TM_Result::Type {
    let follow_updates = u32::from(flags) & pg_sys::TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS != 0;
    let find_last = u32::from(flags) & pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION != 0;
    let how = heap::Locking {
        cid,
        mode,
        policy: wait_policy,
        follow_updates,
    };
    // SAFETY: PostgreSQL's arguments stay until we return.
    unsafe {
        // The TID may be the slot's own.
        let mut at = *tid;
        let result = lock_row(Relation::of(rel), &mut at, Slot::of(slot), how, find_last, &mut *tmfd);
        *tid = at;
        result
    }
}

fn lock_row(
    rel: &Relation,
    tid: &mut pg_sys::ItemPointerData,
    slot: &Slot,
    how: heap::Locking,
    find_last: bool,
    failure: &mut pg_sys::TM_FailureData,
) -> pg_sys::TM_Result::Type {
    use pg_sys::TM_Result::*;
    failure.traversed = false;
    loop {
        let logical = *tid;
        let target = match target(rel, &logical, how.cid, Purpose::Lock) {
            Ok(target) => target,
            Err(none) => return none.report(&logical, failure),
        };
        let (result, tuple, pin) = heap::lock(rel, target.physical, how, failure);
        // heap_lock_tuple() says nothing more of an invisible tuple.
        if result != TM_Ok && result != TM_Invisible {
            fix_failure(rel, &logical, &target.physical, failure);
        }
        if result == TM_Updated && find_last {
            let next = failure.ctid;
            drop((pin, target));
            if next.ip_posid == logical.ip_posid && tid_block(&next) == tid_block(&logical) {
                return TM_Deleted;
            }
            failure.traversed = true;
            *tid = next;
            match last_version(rel, tid, failure.xmax, how, failure) {
                None => continue,
                Some(result) => return result,
            }
        }
        if target.stub {
            slot::store_columnar(slot, row_of(rel, &logical), logical, rel.id());
        } else {
            slot::store_pinned(slot, tuple, logical, pin);
        }
        return result;
    }
}

/// The chain walk of heapam_tuple_lock(): from `tid`, made by `xmin`, to a version that can be locked (None; `tid` is
/// it) or to the result that ends the attempt.
fn last_version(
    rel: &Relation,
    tid: &mut pg_sys::ItemPointerData,
    mut xmin: pg_sys::TransactionId,
    how: heap::Locking,
    failure: &mut pg_sys::TM_FailureData,
) -> Option<pg_sys::TM_Result::Type> {
    use pg_sys::TM_Result::*;
    loop {
        if moved_partitions(tid) {
            ereport!(
                ERROR,
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "tuple to be locked was already moved to another partition due to concurrent update"
            );
        }
        // A version that somebody follows a chain to is not settled, so it is in a row page. If it is gone from there,
        // it was deleted, and all of its chain with it.
        let Place::Hot(p) = locate(rel, tid_block(tid)) else {
            return Some(TM_Deleted);
        };
        let dirty = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_DIRTY);
        let pin = rowpage::read(rel, p);
        let found = {
            let _lock = pin.share();
            heap_tuple(rel, &pin, tid.ip_posid).map(|mut tuple| {
                let visible = tuple.is_visible(rel, pin.buffer(), &dirty);
                (tuple, visible)
            })
        };
        let Some((tuple, visible)) = found else {
            return Some(TM_Deleted);
        };
        if is_stub(tuple.header()) || tuple.header().xmin() != xmin {
            return Some(TM_Deleted);
        }
        if visible {
            let (inserting, deleting) = dirty.under_way();
            if inserting != pg_sys::InvalidTransactionId {
                ereport!(
                    ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "t_xmin {} is uncommitted in tuple ({},{}) to be updated in table \"{}\"",
                        inserting,
                        tid_block(tid),
                        tid.ip_posid,
                        rel.name()
                    )
                );
            }
            if deleting != pg_sys::InvalidTransactionId {
                drop(pin);
                if let Some(result) = wait_for(rel, deleting, tid, how.policy) {
                    return Some(result);
                }
                continue;
            }
            if xid::is_current(xmin) {
                let cmin = tuple.header().cmin();
                if cmin >= how.cid {
                    failure.xmax = xmin;
                    failure.cmax = cmin;
                    return Some(TM_SelfModified);
                }
            }
            return None;
        }
        match next_version(rel, tuple.header(), tuple.tid()) {
            None if moved_partitions(&tuple.header().next()) => *tid = tuple.header().next(),
            None => return Some(TM_Deleted),
            Some((next, xmax)) => {
                *tid = next;
                xmin = xmax;
            }
        }
    }
}

/// Waits for a transaction as the lock's wait policy says; Some when the policy is not to.
fn wait_for(
    rel: &Relation,
    xid: pg_sys::TransactionId,
    tid: &pg_sys::ItemPointerData,
    policy: pg_sys::LockWaitPolicy::Type,
) -> Option<pg_sys::TM_Result::Type> {
    use pg_sys::LockWaitPolicy::*;
    if policy == LockWaitBlock {
        xid::wait(rel, xid, *tid, pg_sys::XLTW_Oper::XLTW_FetchUpdated);
        return None;
    }
    if xid::has_ended(xid, policy == LockWaitError) {
        return None;
    }
    if policy == LockWaitError {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_LOCK_NOT_AVAILABLE,
            format!("could not obtain lock on row in relation \"{}\"", rel.name())
        );
    }
    Some(pg_sys::TM_Result::TM_WouldBlock)
}
