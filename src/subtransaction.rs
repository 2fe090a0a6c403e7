//! Work that may fail within a transaction that goes on.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

/// Runs `f` in a subtransaction, which ends whatever happens (as plpgsql's blocks with EXCEPTION do it, exec_stmt_block()). An error with this
/// code undoes it, and with it go the locks, pins, snapshots and contexts that `f` has taken; its message is the result. Other errors go on.
/// Nothing that `f` does may need a transaction id, or be undone by aborting: what it has written must be harmless, as after a crash.
///
/// Fit for the time before a commit, too: PostgreSQL runs deferred triggers then, whose functions may have EXCEPTION blocks
/// (BeginInternalSubTransaction() in xact.c), and has not ended any of its own modules when it calls us.
pub unsafe fn catch<R>(code: PgSqlErrorCode, f: impl FnOnce() -> R) -> Result<R, String> {
    let context = pg_sys::CurrentMemoryContext;
    let owner = pg_sys::CurrentResourceOwner;
    pg_sys::BeginInternalSubTransaction(std::ptr::null());
    pg_sys::MemoryContextSwitchTo(context);
    let back = move || {
        pg_sys::MemoryContextSwitchTo(context);
        pg_sys::CurrentResourceOwner = owner;
    };
    let undo = move || {
        // An error of our own has not been to errfinish(): it leaves what locks of pages hold off, and the abort takes the locks alone.
        pg_sys::InterruptHoldoffCount = 0;
        pg_sys::QueryCancelHoldoffCount = 0;
        pg_sys::RollbackAndReleaseCurrentSubTransaction();
        back();
    };
    let run = std::panic::AssertUnwindSafe(|| {
        let result = f();
        pg_sys::ReleaseCurrentSubTransaction();
        back();
        Ok(result)
    });
    PgTryBuilder::new(run)
        .catch_when(code, move |cause| {
            let message = message(&cause);
            undo();
            Err(message)
        })
        .catch_others(move |cause| {
            undo();
            cause.rethrow()
        })
        .execute()
}

fn message(cause: &CaughtError) -> String {
    use CaughtError::*;
    match cause {
        PostgresError(report)
        | ErrorReport(report)
        | RustPanic {
            ereport: report, ..
        } => {
            let detail = report
                .detail()
                .map(|d| format!(" ({d})"))
                .unwrap_or_default();
            format!("{}{detail}", report.message())
        }
    }
}
