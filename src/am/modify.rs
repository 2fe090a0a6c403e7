//! Inserting, updating, deleting and locking rows.
//!
//! Rows of row pages are handled by heap's own functions at their physical TIDs. A columnar row is handled through its
//! stub, a heap tuple too (see `columnar::stub`). Either way the writer keeps a pin from the moment it has seen that
//! the page is not sealed until heap's function is done: a flush needs the cleanup lock to seal a page, so the page
//! stays a row page for as long.

use super::block::{Place, locate};
use super::bulk;
use super::slot;
use crate::columnar::{self, stub, stub_keys};
use crate::disguise::size::Physical;
use crate::heap::tuple::{moved_partitions, next_version};
use crate::maintenance;
use crate::pg::snapshot::Own;
use crate::pg::{Pin, Relation, Slot, Snapshot, xid};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, heap_tuple, is_stub, set_tid, tid_block};
use crate::storage::{map, meta};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Options that heap must not see: COPY FREEZE would set visibility map bits that a flush cannot clear on a standby.
const STRIPPED: i32 = pg_sys::TABLE_INSERT_FROZEN as i32;

#[pg_guard]
pub unsafe extern "C-unwind" fn insert(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    let rel = Relation::of(rel);
    insert_tuple(rel, slot, cid, options, bistate, None);
}

#[pg_guard]
pub unsafe extern "C-unwind" fn insert_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
    token: u32,
) {
    let rel = Relation::of(rel);
    insert_tuple(rel, slot, cid, options, bistate, Some(token));
}

unsafe fn insert_tuple(
    rel: &Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
    token: Option<u32>,
) {
    meta::ensure(rel);
    let may_load = token.is_none() && options & pg_sys::TABLE_INSERT_NO_LOGICAL as i32 == 0;
    let into_row_page = |slot| heap_insert(rel, slot, cid, options, bistate, None);
    if may_load && bulk::insert(rel, &[slot], cid, into_row_page) {
        return;
    }
    heap_insert(rel, slot, cid, options, bistate, token);
}

/// Inserts a row into a row page.
unsafe fn heap_insert(
    rel: &Relation,
    slot: *mut pg_sys::TupleTableSlot,
    cid: pg_sys::CommandId,
    mut options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
    token: Option<u32>,
) {
    with_heap_tuple(rel, slot, |tuple| {
        if let Some(token) = token {
            // HeapTupleHeaderSetSpeculativeToken()
            set_tid(
                &mut (*(*tuple).t_data).t_ctid,
                token,
                pg_sys::SpecTokenOffsetNumber as u16,
            );
            options |= pg_sys::HEAP_INSERT_SPECULATIVE as i32;
        }
        let guard = Physical::enter();
        pg_sys::heap_insert(rel.raw(), tuple, cid, options & !STRIPPED, bistate);
        drop(guard);
        maintenance::fault("insert_placed");
        (*slot).tts_tid = logical_tid(rel, &(*tuple).t_self);
        // The slot may own this tuple.
        (*tuple).t_self = (*slot).tts_tid;
    });
}

/// The slot's heap tuple for the duration of `f`.
unsafe fn with_heap_tuple<R>(
    rel: &Relation,
    slot: *mut pg_sys::TupleTableSlot,
    f: impl FnOnce(pg_sys::HeapTuple) -> R,
) -> R {
    let mut should_free = true;
    let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, true, &mut should_free);
    (*slot).tts_tableOid = rel.id();
    (*tuple).t_tableOid = rel.id();
    let result = f(tuple);
    if should_free {
        pg_sys::pfree(tuple as _);
    }
    result
}

/// The logical TID of a row just put at a physical one.
pub unsafe fn logical_tid(rel: &Relation, physical: &pg_sys::ItemPointerData) -> pg_sys::ItemPointerData {
    let mut tid = *physical;
    set_tid(&mut tid, map::adopt(rel, tid_block(physical)), physical.ip_posid);
    tid
}

#[pg_guard]
pub unsafe extern "C-unwind" fn complete_speculative(
    rel: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    _token: u32,
    succeeded: bool,
) {
    let rel = Relation::of(rel);
    let tid = (*slot).tts_tid;
    // Our own speculative row is not settled: its page cannot have been flushed.
    let Some(p) = map::physical(rel, tid_block(&tid)) else {
        pgrx::error!("speculatively inserted row vanished from relation \"{}\"", rel.name());
    };
    let mut physical = tid;
    set_tid(&mut physical, p, tid.ip_posid);
    let _guard = Physical::enter();
    if succeeded {
        pg_sys::heap_finish_speculative(rel.raw(), &mut physical);
    } else {
        pg_sys::heap_abort_speculative(rel.raw(), &mut physical);
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn multi_insert(
    rel: pg_sys::Relation,
    slots: *mut *mut pg_sys::TupleTableSlot,
    nslots: i32,
    cid: pg_sys::CommandId,
    options: i32,
    bistate: *mut pg_sys::BulkInsertStateData,
) {
    let rel = Relation::of(rel);
    meta::ensure(rel);
    let rows = std::slice::from_raw_parts(slots, nslots as usize);
    let into_row_page = |slot| heap_insert(rel, slot, cid, options, bistate, None);
    if bulk::insert(rel, rows, cid, into_row_page) {
        return;
    }
    let guard = Physical::enter();
    pg_sys::heap_multi_insert(rel.raw(), slots, nslots, cid, options & !STRIPPED, bistate);
    drop(guard);
    let mut last = (pg_sys::InvalidBlockNumber, 0);
    for &slot in rows {
        let p = tid_block(&(*slot).tts_tid);
        if p != last.0 {
            last = (p, map::adopt(rel, p));
        }
        let offset = (*slot).tts_tid.ip_posid;
        set_tid(&mut (*slot).tts_tid, last.1, offset);
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn finish_bulk_insert(rel: pg_sys::Relation, _options: i32) {
    let rel = Relation::of(rel);
    bulk::finish(rel);
}

/// Where a row can be changed by heap's functions.
pub struct Target {
    /// Keeps the page a row page.
    pin: Pin,
    /// Physical TID of the row, or of its stub.
    pub physical: pg_sys::ItemPointerData,
    pub stub: bool,
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

unsafe fn target(
    rel: &Relation,
    tid: &pg_sys::ItemPointerData,
    cid: u32,
    purpose: Purpose,
) -> Result<Target, NoTarget> {
    if !bulk::idle() {
        bulk::publish_for(rel, None);
    }
    loop {
        crate::memory::check_for_interrupts();
        let (p, offset, stub) = match locate(rel, tid_block(tid)) {
            Place::Nowhere => return Err(NoTarget::Gone),
            Place::Hot(p) => (p, tid.ip_posid, false),
            Place::Columnar(manifest, component) => {
                match stub::get_or_create(rel, &manifest.components[component], tid, cid) {
                    stub::Found::Stub { block, offset } => (block, offset, true),
                    stub::Found::Dead => return Err(NoTarget::Gone),
                    stub::Found::Invisible => return Err(NoTarget::Invisible),
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
        let still = if stub {
            stub::is_at(rel, tid, p, offset)
        } else {
            map::physical(rel, tid_block(tid)) == Some(p)
        };
        if !still {
            continue;
        }
        let mut physical = pg_sys::ItemPointerData::default();
        set_tid(&mut physical, p, offset);
        if stub
            && purpose == Purpose::Change
            && rel.is_logically_logged()
            && stub_keys::lacks_identity(rel, tid, &physical, || row_of(rel, tid))
            && stub_keys::renew(rel, &pin, offset)
        {
            continue;
        }
        return Ok(Target { pin, physical, stub });
    }
}

impl NoTarget {
    unsafe fn report(
        self,
        tid: &pg_sys::ItemPointerData,
        tmfd: *mut pg_sys::TM_FailureData,
    ) -> pg_sys::TM_Result::Type {
        (*tmfd).ctid = *tid;
        (*tmfd).xmax = pg_sys::InvalidTransactionId;
        (*tmfd).cmax = pg_sys::InvalidCommandId;
        match self {
            NoTarget::Gone => pg_sys::TM_Result::TM_Deleted,
            NoTarget::Invisible => pg_sys::TM_Result::TM_Invisible,
        }
    }
}

/// Rewrites the successor's TID that heap reported: where the next version is, or the row itself.
unsafe fn fix_failure(
    rel: &Relation,
    tid: &pg_sys::ItemPointerData,
    physical: &pg_sys::ItemPointerData,
    tmfd: *mut pg_sys::TM_FailureData,
) {
    let next = (*tmfd).ctid;
    if next.ip_posid == physical.ip_posid && tid_block(&next) == tid_block(physical) {
        (*tmfd).ctid = *tid;
    } else if !moved_partitions(&next) && next.ip_posid != 0 {
        // The successor is not settled while anyone can ask for it, so its page still has its logical block.
        if let Some(v) = map::logical(rel, tid_block(&next)) {
            set_tid(&mut (*tmfd).ctid, v, next.ip_posid);
        }
    }
}

/// SSI for columnar rows: readers lock logical TIDs (see `columnar::fetch`), which heap's code knows nothing of. Called
/// after the change, so that a reader who saw the row before it has its lock by now.
unsafe fn check_readers(rel: &Relation, tid: &pg_sys::ItemPointerData) {
    let mut tid = *tid;
    pg_sys::CheckForSerializableConflictIn(rel.raw(), &mut tid, tid_block(&tid));
}

/// Whether a referential action's crosscheck snapshot sees the columnar row. Its stub is frozen, so heap cannot tell.
unsafe fn passes_crosscheck(rel: &Relation, tid: &pg_sys::ItemPointerData, crosscheck: pg_sys::Snapshot) -> bool {
    if crosscheck.is_null() {
        return true;
    }
    let crosscheck = Snapshot::of(crosscheck);
    match locate(rel, tid_block(tid)) {
        Place::Columnar(manifest, at) => columnar::origin::visible(rel, &manifest.components[at].origin, crosscheck),
        _ => true,
    }
}

unsafe fn report_updated(tid: &pg_sys::ItemPointerData, tmfd: *mut pg_sys::TM_FailureData) -> pg_sys::TM_Result::Type {
    NoTarget::Gone.report(tid, tmfd);
    pg_sys::TM_Result::TM_Updated
}

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
    let rel = Relation::of(rel);
    let logical = *tid;
    let mut target = match target(rel, &logical, cid, Purpose::Change) {
        Ok(target) => target,
        Err(none) => return none.report(&logical, tmfd),
    };
    if target.stub && !passes_crosscheck(rel, &logical, crosscheck) {
        return report_updated(&logical, tmfd);
    }
    let guard = Physical::enter();
    let result = pg_sys::heap_delete(
        rel.raw(),
        &mut target.physical,
        cid,
        crosscheck,
        wait,
        tmfd,
        changing_partition,
    );
    drop(guard);
    if target.stub && result == pg_sys::TM_Result::TM_Ok {
        check_readers(rel, &logical);
    }
    if result != pg_sys::TM_Result::TM_Ok {
        fix_failure(rel, &logical, &target.physical, tmfd);
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

#[cfg(feature = "pg15")]
type UpdateIndexes = bool;
#[cfg(not(feature = "pg15"))]
type UpdateIndexes = pg_sys::TU_UpdateIndexes::Type;

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
    let rel = Relation::of(rel);
    let logical = *otid;
    set_update_indexes(update_indexes, false);
    let mut target = match target(rel, &logical, cid, Purpose::Change) {
        Ok(target) => target,
        Err(none) => {
            *lockmode = pg_sys::LockTupleMode::LockTupleExclusive;
            return none.report(&logical, tmfd);
        }
    };
    if target.stub && !passes_crosscheck(rel, &logical, crosscheck) {
        *lockmode = pg_sys::LockTupleMode::LockTupleExclusive;
        return report_updated(&logical, tmfd);
    }
    let row = || row_of(rel, &logical);
    let keys = target
        .stub
        .then(|| stub_keys::pose(rel, &logical, &target.physical, Slot::of(slot), row))
        .flatten();
    with_heap_tuple(rel, slot, |tuple| {
        let guard = Physical::enter();
        #[cfg(feature = "pg15")]
        let result = pg_sys::heap_update(
            rel.raw(),
            &mut target.physical,
            tuple,
            cid,
            crosscheck,
            wait,
            tmfd,
            lockmode,
        );
        #[cfg(not(feature = "pg15"))]
        let result = pg_sys::heap_update(
            rel.raw(),
            &mut target.physical,
            tuple,
            cid,
            crosscheck,
            wait,
            tmfd,
            lockmode,
            update_indexes,
        );
        drop((guard, keys));
        if result != pg_sys::TM_Result::TM_Ok {
            fix_failure(rel, &logical, &target.physical, tmfd);
            return result;
        }
        if target.stub {
            check_readers(rel, &logical);
        }
        let physical = (*tuple).t_self;
        let heap_only = (*(*tuple).t_data).t_infomask2 & pg_sys::HEAP_ONLY_TUPLE as u16 != 0;
        maintenance::fault("update_placed");
        if target.stub && heap_only {
            unchain(rel, &target.pin, target.physical.ip_posid, physical.ip_posid);
        }
        #[cfg(feature = "pg15")]
        set_update_indexes(update_indexes, target.stub || !heap_only);
        #[cfg(not(feature = "pg15"))]
        if target.stub {
            set_update_indexes(update_indexes, true);
        }
        (*slot).tts_tid = logical_tid(rel, &physical);
        (*tuple).t_self = (*slot).tts_tid;
        result
    })
}

#[cfg(feature = "pg15")]
unsafe fn set_update_indexes(to: *mut UpdateIndexes, all: bool) {
    *to = all;
}

#[cfg(not(feature = "pg15"))]
unsafe fn set_update_indexes(to: *mut UpdateIndexes, all: bool) {
    use pg_sys::TU_UpdateIndexes::*;
    *to = if all { TU_All } else { TU_None };
}

/// heap_update() on a stub made a heap-only tuple: index entries lead to the columnar row, not to the stub, so the new
/// version must have entries of its own. Takes the HOT marks off both tuples, before our transaction can be seen to
/// have committed.
unsafe fn unchain(rel: &Relation, pin: &Pin, stub: u16, version: u16) {
    let mut change = Change::begin(rel);
    let handle = change.locked(Pin::read(rel, pin.block()).lock());
    let image = change.whole(handle);
    for (offset, mark) in [(stub, pg_sys::HEAP_HOT_UPDATED), (version, pg_sys::HEAP_ONLY_TUPLE)] {
        let tuple = rowpage::heap_tuple_of(rel, *image, pin.block(), offset).expect("the tuples of our own update");
        (*tuple.header().raw()).t_infomask2 &= !(mark as u16);
    }
    change.commit();
}

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
    let rel = Relation::of(rel);
    use pg_sys::TM_Result::*;
    let follow_updates = u32::from(flags) & pg_sys::TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS != 0;
    let find_last = u32::from(flags) & pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION != 0;
    (*tmfd).traversed = false;
    loop {
        let logical = *tid;
        let target = match target(rel, &logical, cid, Purpose::Lock) {
            Ok(target) => target,
            Err(none) => return none.report(&logical, tmfd),
        };
        let mut tuple = pg_sys::HeapTupleData {
            t_self: target.physical,
            ..Default::default()
        };
        let mut buffer = 0;
        let guard = Physical::enter();
        let result = pg_sys::heap_lock_tuple(
            rel.raw(),
            &mut tuple,
            cid,
            mode,
            wait_policy,
            follow_updates,
            &mut buffer,
            tmfd,
        );
        drop(guard);
        let pin = Pin::adopt(buffer);
        // heap_lock_tuple() says nothing more of an invisible tuple.
        if result != TM_Ok && result != TM_Invisible {
            fix_failure(rel, &logical, &target.physical, tmfd);
        }
        if result == TM_Updated && find_last {
            let own = (*tmfd).ctid.ip_posid == logical.ip_posid && tid_block(&(*tmfd).ctid) == tid_block(&logical);
            drop((pin, target));
            if own {
                return TM_Deleted;
            }
            (*tmfd).traversed = true;
            *tid = (*tmfd).ctid;
            match last_version(rel, &mut *tid, (*tmfd).xmax, cid, wait_policy, tmfd) {
                None => continue,
                Some(result) => return result,
            }
        }
        if target.stub {
            slot::store_columnar(slot, row_of(rel, &logical), logical, rel.id());
        } else {
            tuple.t_tableOid = rel.id();
            slot::store_pinned(slot, tuple, logical, pin.into_buffer());
        }
        return result;
    }
}

/// The chain walk of heapam_tuple_lock(): from `tid`, made by `xmin`, to a version that can be locked (None; `tid` is
/// it) or to the result that ends the attempt.
unsafe fn last_version(
    rel: &Relation,
    tid: &mut pg_sys::ItemPointerData,
    mut xmin: pg_sys::TransactionId,
    cid: pg_sys::CommandId,
    wait_policy: pg_sys::LockWaitPolicy::Type,
    tmfd: *mut pg_sys::TM_FailureData,
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
        let own = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_DIRTY);
        let pin = rowpage::read(rel, p);
        let found = {
            let _lock = pin.share();
            heap_tuple(rel, &pin, tid.ip_posid).map(|mut tuple| {
                let visible = tuple.is_visible(rel, pin.buffer(), &own);
                (tuple, visible)
            })
        };
        let Some((tuple, visible)) = found else {
            return Some(TM_Deleted);
        };
        let dirty = &*own.raw();
        if is_stub(tuple.header()) || tuple.header().xmin() != xmin {
            return Some(TM_Deleted);
        }
        if visible {
            if dirty.xmin != pg_sys::InvalidTransactionId {
                ereport!(
                    ERROR,
                    PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                    format!(
                        "t_xmin {} is uncommitted in tuple ({},{}) to be updated in table \"{}\"",
                        dirty.xmin,
                        tid_block(tid),
                        tid.ip_posid,
                        rel.name()
                    )
                );
            }
            if dirty.xmax != pg_sys::InvalidTransactionId {
                let xmax = dirty.xmax;
                drop(pin);
                if let Some(result) = wait_for(rel, xmax, tid, wait_policy) {
                    return Some(result);
                }
                continue;
            }
            if xid::is_current(xmin) {
                let cmin = pg_sys::HeapTupleHeaderGetCmin(tuple.header().raw());
                if cmin >= cid {
                    (*tmfd).xmax = xmin;
                    (*tmfd).cmax = cmin;
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
unsafe fn wait_for(
    rel: &Relation,
    xid: pg_sys::TransactionId,
    tid: &mut pg_sys::ItemPointerData,
    policy: pg_sys::LockWaitPolicy::Type,
) -> Option<pg_sys::TM_Result::Type> {
    use pg_sys::LockWaitPolicy::*;
    if policy == LockWaitBlock {
        pg_sys::XactLockTableWait(xid, rel.raw(), tid, pg_sys::XLTW_Oper::XLTW_FetchUpdated);
        return None;
    }
    #[cfg(not(feature = "pg18"))]
    let ended = pg_sys::ConditionalXactLockTableWait(xid);
    #[cfg(feature = "pg18")]
    let ended = pg_sys::ConditionalXactLockTableWait(xid, policy == LockWaitError && pg_sys::log_lock_failures);
    if ended {
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
