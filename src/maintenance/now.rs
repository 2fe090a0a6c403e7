//! `amax.flush(table)`: what VACUUM would make columnar, and what it would leave for it is too little, now.

use super::keep_up;
use super::vacuum::flush_all;
use crate::pg::lock::{is_locked_by_us, try_lock};
use crate::pg::relation::Opened;
use crate::pg::snapshot::Active;
use crate::pg::xid;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// The same before something is made of columnar rows, for a user whose table it is, if nothing is in the way.
pub fn flush_for_owner(table: pg_sys::Oid) {
    let rel = Opened::with_lock(table, pg_sys::AccessShareLock);
    if !(rel.is_ours() && rel.is_users()) || is_locked_by_us(&rel, pg_sys::AccessExclusiveLock) {
        return;
    }
    if try_lock(&rel, pg_sys::ShareUpdateExclusiveLock) {
        rel.require_unused(c"flush");
        let _snapshot = Active::of_transaction();
        flush_all(&rel);
    }
}

/// Makes all rows columnar that may be: those that everybody sees and nobody is changing. Returns how many.
#[pg_extern]
fn flush(table: pg_sys::Oid) -> i64 {
    xid::require_writable(c"amax.flush()");
    let rel = Opened::with_lock(table, pg_sys::ShareUpdateExclusiveLock);
    rel.require_owner();
    rel.require_ours();
    rel.require_unused(c"flush");
    if is_locked_by_us(&rel, pg_sys::AccessExclusiveLock) {
        // Others' rows would be written as the table is after changes that may yet be rolled back.
        ErrorReport::new(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "cannot flush table \"{}\" in the transaction that has changed it",
                rel.name()
            ),
            "",
        )
        .set_hint("Commit first.")
        .report(PgLogLevel::ERROR);
    }
    let _snapshot = Active::of_transaction();
    let rows = flush_all(&rel);
    keep_up(&rel);
    rows as i64
}
