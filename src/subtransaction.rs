//! Work that may fail within a transaction that goes on.

use pgrx::pg_sys;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;

/// Runs `f` in a subtransaction, which ends whatever happens (as plpgsql's blocks with EXCEPTION do it,
/// exec_stmt_block()). An error with one of these codes undoes it, and with it go the locks, pins, snapshots and
/// contexts that `f` has taken; what it says is the result. Other errors go on. Nothing that `f` does may need a
/// transaction id, or be undone by aborting: what it has written must be harmless, as after a crash.
///
/// Fit for the time before a commit, too: PostgreSQL runs deferred triggers then, whose functions may have EXCEPTION
/// blocks (BeginInternalSubTransaction() in xact.c), and has not ended any of its own modules when it calls us. There
/// are two subtransactions, one in the other: RollbackAndReleaseCurrentSubTransaction() asserts that what it comes back
/// to is not in the midst of COMMIT or PREPARE TRANSACTION (TBLOCK_END, TBLOCK_PREPARE), and comes back to the outer
/// one; ReleaseCurrentSubTransaction(), which ends that, may come back to anything.
pub fn catch<R>(codes: &'static [PgSqlErrorCode], f: impl FnOnce() -> R) -> Result<R, Caught> {
    let outer = Outer::now();
    // SAFETY: in a transaction, and not in parallel mode.
    unsafe {
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
    }
    outer.resume_context();
    let run = std::panic::AssertUnwindSafe(|| {
        let result = f();
        // SAFETY: begun above.
        unsafe {
            pg_sys::ReleaseCurrentSubTransaction();
            pg_sys::ReleaseCurrentSubTransaction();
        }
        outer.resume();
        Ok(result)
    });
    PgTryBuilder::new(run)
        .catch_others(move |cause| {
            let caught = Caught::of(&cause);
            let progress = Progress::current();
            // SAFETY: begun above. An error of our own has not been to errfinish(): it leaves what locks of pages hold
            // off, and the abort takes the locks alone.
            unsafe {
                pg_sys::InterruptHoldoffCount = 0;
                pg_sys::QueryCancelHoldoffCount = 0;
                pg_sys::RollbackAndReleaseCurrentSubTransaction();
                pg_sys::ReleaseCurrentSubTransaction();
            }
            if let Some(progress) = progress {
                progress.restore();
            }
            outer.resume();
            if codes.contains(&caught.code) {
                Err(caught)
            } else {
                cause.rethrow()
            }
        })
        .execute()
}

/// What a subtransaction changes for good: its end leaves the transaction's own.
#[derive(Clone, Copy)]
struct Outer {
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
}

impl Outer {
    fn now() -> Outer {
        // SAFETY: globals of the backend.
        unsafe {
            Outer {
                context: pg_sys::CurrentMemoryContext,
                owner: pg_sys::CurrentResourceOwner,
            }
        }
    }

    fn resume_context(&self) {
        // SAFETY: it was current, and outlives the subtransaction.
        unsafe { pg_sys::MemoryContextSwitchTo(self.context) };
    }

    fn resume(&self) {
        self.resume_context();
        // SAFETY: as above.
        unsafe { pg_sys::CurrentResourceOwner = self.owner };
    }
}

/// What the views of progress (pg_stat_progress_vacuum and others) show of us: the abort of a subtransaction empties it.
struct Progress {
    command: pg_sys::ProgressCommandType::Type,
    target: pg_sys::Oid,
    parameters: [i64; pg_sys::PGSTAT_NUM_PROGRESS_PARAM as usize],
}

impl Progress {
    fn current() -> Option<Progress> {
        // SAFETY: the session's own entry, which nobody else writes to.
        let entry = unsafe { pg_sys::MyBEEntry.as_ref() }?;
        let command = entry.st_progress_command;
        (command != pg_sys::ProgressCommandType::PROGRESS_COMMAND_INVALID).then_some(Progress {
            command,
            target: entry.st_progress_command_target,
            parameters: entry.st_progress_param,
        })
    }

    fn restore(&self) {
        // SAFETY: the session's own entry.
        unsafe {
            pg_sys::pgstat_progress_start_command(self.command, self.target);
            for (index, &value) in self.parameters.iter().enumerate() {
                pg_sys::pgstat_progress_update_param(index as i32, value);
            }
        }
    }
}

/// An error that undid a subtransaction.
pub struct Caught {
    pub code: PgSqlErrorCode,
    /// With its detail.
    pub message: String,
}

impl Caught {
    fn of(cause: &CaughtError) -> Caught {
        use CaughtError::*;
        let (PostgresError(report) | ErrorReport(report) | RustPanic { ereport: report, .. }) = cause;
        let detail = report.detail().map(|d| format!(" ({d})")).unwrap_or_default();
        Caught {
            code: report.sql_error_code(),
            message: format!("{}{detail}", report.message()),
        }
    }
}
