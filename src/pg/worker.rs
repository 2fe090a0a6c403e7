//! Background workers that are started when they are needed (bgworker.c).

use pgrx::bgworkers::BackgroundWorkerBuilder;
use pgrx::pg_sys;
use std::ffi::CStr;

unsafe extern "C-unwind" {
    // Handlers of PostgreSQL's, which are only pointed to.
    fn die(signal: i32);
    fn SignalHandlerForConfigReload(signal: i32);
}

/// Has the postmaster start one that runs `function` of this library with this argument; false if there can be no more.
pub fn start(name: &str, function: &str, argument: pg_sys::Datum) -> bool {
    let worker = BackgroundWorkerBuilder::new(name)
        .set_library("amax")
        .set_function(function)
        .set_argument(Some(argument))
        .enable_spi_access();
    worker.load_dynamic().is_ok()
}

/// In a worker, first of all: it belongs to a database, as the superuser that PostgreSQL was set up with, and ends when it is told to.
pub fn join(database: pg_sys::Oid) {
    #[cfg(not(feature = "pg18"))]
    use pg_sys::pqsignal;
    #[cfg(feature = "pg18")]
    use pg_sys::pqsignal_be as pqsignal;
    // SAFETY: as in worker_spi.c, in the order of there.
    unsafe {
        pqsignal(pg_sys::SIGTERM as i32, Some(die));
        pqsignal(pg_sys::SIGHUP as i32, Some(SignalHandlerForConfigReload));
        pg_sys::BackgroundWorkerUnblockSignals();
        pg_sys::BackgroundWorkerInitializeConnectionByOid(database, pg_sys::InvalidOid, 0);
    }
    // As AutoVacWorkerMain() of autovacuum.c: what people set for their own statements.
    set(c"default_transaction_isolation", c"read committed");
    set(c"zero_damaged_pages", c"off");
    set(c"statement_timeout", c"0");
    set(c"lock_timeout", c"0");
    set(c"idle_in_transaction_session_timeout", c"0");
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    set(c"transaction_timeout", c"0");
}

/// A setting that is not the server's.
fn set(name: &CStr, value: &CStr) {
    let (context, source) = (pg_sys::GucContext::PGC_SUSET, pg_sys::GucSource::PGC_S_OVERRIDE);
    // SAFETY: there is such a setting.
    unsafe { pg_sys::SetConfigOption(name.as_ptr(), value.as_ptr(), context, source) }
}

/// Runs `f` in a transaction of its own, which begins without a snapshot.
pub fn in_transaction(f: impl FnOnce()) {
    // SAFETY: there is none.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::StartTransactionCommand();
    }
    f();
    // SAFETY: begun above.
    unsafe { pg_sys::CommitTransactionCommand() }
}

/// Has PostgreSQL's statistics know of what was done.
pub fn report() {
    // SAFETY: outside of a transaction.
    unsafe { pg_sys::pgstat_report_stat(true) };
}

/// Waits until it is woken, for so many milliseconds at most; whether it was woken. An error ends it, as does the server's end.
pub fn wait(milliseconds: i64) -> bool {
    let wait = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: this process's latch and flags.
    unsafe {
        let woken = pg_sys::WaitLatch(pg_sys::MyLatch, wait as i32, milliseconds, pg_sys::PG_WAIT_EXTENSION);
        pg_sys::ResetLatch(pg_sys::MyLatch);
        pgrx::check_for_interrupts!();
        if pg_sys::ConfigReloadPending != 0 {
            pg_sys::ConfigReloadPending = 0;
            pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
        }
        woken & pg_sys::WL_LATCH_SET as i32 != 0
    }
}

/// Wakes a process of the server; false if there is none with this number.
pub fn wake(process: i32) -> bool {
    // SAFETY: an entry of shared memory; whoever has it by now is woken for nothing.
    unsafe {
        let found = pg_sys::BackendPidGetProc(process);
        if found.is_null() {
            return false;
        }
        pg_sys::SetLatch(&raw mut (*found).procLatch);
    }
    true
}

/// What pg_stat_activity says of this process. None: it waits.
pub fn says(activity: Option<&CStr>) {
    use pg_sys::BackendState::{STATE_IDLE, STATE_RUNNING};
    // SAFETY: the string is copied.
    unsafe {
        match activity {
            Some(activity) => pg_sys::pgstat_report_activity(STATE_RUNNING, activity.as_ptr()),
            None => pg_sys::pgstat_report_activity(STATE_IDLE, std::ptr::null()),
        }
    }
}

/// Has a function run when this process ends, while it still knows shared memory.
pub fn at_exit(function: unsafe extern "C-unwind" fn(i32, pg_sys::Datum)) {
    // SAFETY: it is there as long as the process.
    unsafe { pg_sys::before_shmem_exit(Some(function), pg_sys::Datum::null()) }
}
