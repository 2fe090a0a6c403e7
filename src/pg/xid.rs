//! Transaction ids (transam.h, procarray.c).

use super::plain;
use super::relation::Relation;
use pgrx::pg_sys;
use std::ffi::CStr;

/// Raises an error where a command may not write: in a transaction or a process that only reads, or on a standby.
pub fn require_writable(command: &CStr) {
    // SAFETY: these look at the state of our transaction.
    unsafe {
        pg_sys::PreventCommandIfReadOnly(command.as_ptr());
        pg_sys::PreventCommandIfParallelMode(command.as_ptr());
        pg_sys::PreventCommandDuringRecovery(command.as_ptr());
    }
}

/// Whether our transaction, or a part of it that has not been rolled back, has this id.
pub fn is_current(xid: pg_sys::TransactionId) -> bool {
    // SAFETY: looks at the state of our transaction.
    unsafe { plain::TransactionIdIsCurrentTransactionId(xid) }
}

/// The full id of our transaction, or of the part of it that a savepoint has begun, if it has one: what it inserts has.
pub fn current() -> Option<u64> {
    // SAFETY: looks at the state of our transaction.
    let current = unsafe { plain::GetCurrentFullTransactionIdIfAny() }.value;
    (current as u32 != pg_sys::InvalidTransactionId.into_inner()).then_some(current)
}

/// TransactionIdPrecedes().
pub fn precedes(a: pg_sys::TransactionId, b: pg_sys::TransactionId) -> bool {
    amax_lsm::xids::precedes(a.into_inner(), b.into_inner())
}

/// Whether everyone sees what it did, given that it committed: it is no id any more, or older than all that may not.
pub fn is_older(xid: pg_sys::TransactionId, oldest_xmin: pg_sys::TransactionId) -> bool {
    !pg_sys::TransactionIdIsNormal(xid) || precedes(xid, oldest_xmin)
}

/// GetOldestNonRemovableTransactionId().
pub fn oldest_xmin(rel: &Relation) -> pg_sys::TransactionId {
    // SAFETY: an open relation.
    unsafe { pg_sys::GetOldestNonRemovableTransactionId(rel.raw()) }
}

/// ReadNextFullTransactionId().
pub fn next_full() -> u64 {
    // SAFETY: reads shared memory under its lock.
    unsafe { pg_sys::ReadNextFullTransactionId().value }
}

/// TransactionIdIsInProgress(): the 32-bit id if the transaction with this full one goes on, ours too.
pub fn in_progress(full: u64) -> Option<pg_sys::TransactionId> {
    // None does for so long, and half of the 32-bit ids is in the future.
    if next_full().wrapping_sub(full) >= 1 << 31 {
        return None;
    }
    let xid = pg_sys::TransactionId::from(full as u32);
    // SAFETY: looks the transaction up.
    unsafe { pg_sys::TransactionIdIsInProgress(xid) }.then_some(xid)
}

/// The next id of a command in our transaction; from now on the current one is used.
pub fn current_command() -> pg_sys::CommandId {
    // SAFETY: looks at the state of our transaction.
    unsafe { pg_sys::GetCurrentCommandId(true) }
}

/// Whether our transaction began on a standby.
pub fn began_on_standby() -> bool {
    // SAFETY: looks at the state of our transaction.
    unsafe { plain::TransactionStartedDuringRecovery() }
}

/// Whether workers read for us, so that we may not have a subtransaction.
pub fn in_parallel_mode() -> bool {
    // SAFETY: looks at the state of our transaction.
    unsafe { pg_sys::IsInParallelMode() }
}

/// MultiXactIdPrecedes().
pub fn multi_precedes(a: pg_sys::MultiXactId, b: pg_sys::MultiXactId) -> bool {
    // SAFETY: it compares two numbers.
    unsafe { pg_sys::MultiXactIdPrecedes(a, b) }
}

/// TransactionIdDidCommit().
pub fn did_commit(xid: pg_sys::TransactionId) -> bool {
    // SAFETY: looks the transaction up.
    unsafe { pg_sys::TransactionIdDidCommit(xid) }
}

/// XactLockTableWait(): until the transaction has ended, on behalf of the row at this TID.
pub fn wait(
    rel: &Relation,
    xid: pg_sys::TransactionId,
    mut tid: pg_sys::ItemPointerData,
    why: pg_sys::XLTW_Oper::Type,
) {
    // SAFETY: an open relation.
    unsafe { pg_sys::XactLockTableWait(xid, rel.raw(), &mut tid, why) }
}

/// Whether the transaction has ended (ConditionalXactLockTableWait()); since 18 a failure may be logged.
pub fn has_ended(xid: pg_sys::TransactionId, log: bool) -> bool {
    #[cfg(not(feature = "pg18"))]
    let _ = log;
    // SAFETY: a lock is about a number.
    unsafe {
        pg_sys::ConditionalXactLockTableWait(
            xid,
            #[cfg(feature = "pg18")]
            (log && pg_sys::log_lock_failures),
        )
    }
}

/// Our transaction's id, assigned if it has none yet.
pub fn assign() -> pg_sys::TransactionId {
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetCurrentTransactionId() }
}

pub fn current_subtransaction() -> pg_sys::SubTransactionId {
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetCurrentSubTransactionId() }
}
