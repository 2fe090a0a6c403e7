//! Where PostgreSQL tells us that a statement begins, or that a statement, a subtransaction or a transaction has ended.

use super::bulk;
use crate::maintenance::inline;
use crate::memory;
use crate::storage::map;
use pgrx::pg_sys;
use pgrx::prelude::*;

static mut NEXT_START: pg_sys::ExecutorStart_hook_type = None;
static mut NEXT_FINISH: pg_sys::ExecutorFinish_hook_type = None;

#[pg_guard]
unsafe extern "C-unwind" fn executor_start(query: *mut pg_sys::QueryDesc, flags: i32) {
    if (*(*query).plannedstmt).parallelModeNeeded && !bulk::idle() {
        bulk::finish_for_workers((*query).snapshot);
    }
    match NEXT_START {
        Some(next) => next(query, flags),
        None => pg_sys::standard_ExecutorStart(query, flags),
    }
    #[cfg(not(feature = "pg18"))]
    super::prefetch::of_plan((*query).planstate);
}

/// INSERT ... SELECT has no other end: what it loaded is published before its AFTER triggers fire.
#[pg_guard]
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // A query that a function runs meanwhile only to read has no command id of its own (it says 0).
    let writes = (*query).operation != pg_sys::CmdType::CMD_SELECT
        || (*(*query).plannedstmt).hasModifyingCTE;
    if writes && !bulk::idle() {
        bulk::finish_command((*(*query).estate).es_output_cid);
    }
    match NEXT_FINISH {
        Some(next) => next(query),
        None => pg_sys::standard_ExecutorFinish(query),
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn transaction(
    event: pg_sys::XactEvent::Type,
    _arg: *mut std::ffi::c_void,
) {
    use pg_sys::XactEvent::*;
    if memory::is_ending() {
        return;
    }
    match event {
        XACT_EVENT_PRE_COMMIT => {
            bulk::finish_transaction(None);
            inline::at_commit();
        }
        XACT_EVENT_PRE_PREPARE => bulk::finish_transaction(None),
        XACT_EVENT_ABORT => {
            bulk::forget(None);
            drop(map::take_grown());
            memory::settle();
        }
        XACT_EVENT_COMMIT | XACT_EVENT_PREPARE => memory::settle(),
        // What has grown in a transaction that is prepared is looked at by the next one that commits here, COMMIT PREPARED perhaps.
        _ => {}
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn subtransaction(
    event: pg_sys::SubXactEvent::Type,
    own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _arg: *mut std::ffi::c_void,
) {
    use pg_sys::SubXactEvent::*;
    if memory::is_ending() {
        return;
    }
    match event {
        SUBXACT_EVENT_PRE_COMMIT_SUB => bulk::finish_transaction(Some(own)),
        SUBXACT_EVENT_ABORT_SUB => {
            bulk::forget(Some(own));
            memory::settle();
        }
        _ => {}
    }
}

pub fn init() {
    unsafe {
        NEXT_START = pg_sys::ExecutorStart_hook;
        pg_sys::ExecutorStart_hook = Some(executor_start);
        NEXT_FINISH = pg_sys::ExecutorFinish_hook;
        pg_sys::ExecutorFinish_hook = Some(executor_finish);
        pg_sys::RegisterXactCallback(Some(transaction), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction), std::ptr::null_mut());
    }
}
