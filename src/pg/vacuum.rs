//! What maintenance asks of PostgreSQL: whether to pause, and how far it has come.

use super::relation::Relation;
use pgrx::pg_sys;

/// vacuum_delay_point(): pauses as vacuum_cost_delay asks, and notices interrupts.
pub fn delay_point() {
    // SAFETY: no lock is held that forbids interrupts.
    unsafe {
        pg_sys::vacuum_delay_point(
            #[cfg(feature = "pg18")]
            false,
        )
    }
}

/// Waits for so many milliseconds, or less if somebody sets our latch.
pub fn pause(milliseconds: i64) {
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    let wait = pg_sys::WaitEventTimeout::WAIT_EVENT_VACUUM_TRUNCATE;
    // SAFETY: our own latch.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, milliseconds as _, wait);
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// RelationTruncate(), of the main fork and those that go with it. The caller has an AccessExclusiveLock.
pub fn truncate(rel: &Relation, blocks: u32) {
    // SAFETY: an open relation.
    unsafe { pg_sys::RelationTruncate(rel.raw(), blocks) }
}

/// VACUUM's progress report (pg_stat_progress_vacuum); ends on drop, or with the transaction.
pub struct Progress(());

impl Progress {
    pub fn of(rel: &Relation) -> Progress {
        let command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_VACUUM;
        // SAFETY: our own entry.
        unsafe { pg_sys::pgstat_progress_start_command(command, rel.id()) };
        Progress(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: our own entry.
            unsafe { pg_sys::pgstat_progress_end_command() }
        }
    }
}

/// GetCurrentTimestamp().
pub fn now() -> pg_sys::TimestampTz {
    // SAFETY: looks at the clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// Tells pgstat what a VACUUM has found, which began at `started`.
pub fn report(rel: &Relation, live: i64, recently_dead: i64, started: pg_sys::TimestampTz) {
    #[cfg(not(feature = "pg18"))]
    let _ = started;
    // SAFETY: an entry of shared memory, found by the OID.
    unsafe {
        pg_sys::pgstat_report_vacuum(
            rel.id(),
            false,
            live,
            recently_dead,
            #[cfg(feature = "pg18")]
            started,
        )
    }
}

/// vac_update_relstats(): to pg_class.
pub fn update_stats(
    rel: &Relation,
    pages: u32,
    tuples: f64,
    all_visible: u32,
    has_index: bool,
    frozen: (pg_sys::TransactionId, pg_sys::MultiXactId),
) {
    let null = std::ptr::null_mut;
    // SAFETY: an open relation, which we have locked as VACUUM does.
    unsafe {
        pg_sys::vac_update_relstats(
            rel.raw(),
            pages,
            tuples,
            all_visible,
            #[cfg(feature = "pg18")]
            0,
            has_index,
            frozen.0,
            frozen.1,
            null(),
            null(),
            false,
        )
    }
}

/// Whether this process runs VACUUM (PROC_IN_VACUUM).
pub fn is_running() -> bool {
    // SAFETY: our own process.
    unsafe { (*pg_sys::MyProc).statusFlags & pg_sys::PROC_IN_VACUUM as u8 != 0 }
}

/// Whether a standby is connected, or a base backup is being taken, for all we know.
pub fn has_standby() -> bool {
    // SAFETY: shared memory, read without locks: each process id is one number.
    unsafe {
        let control = pg_sys::WalSndCtl;
        if control.is_null() {
            return false;
        }
        let senders = (*control).walsnds.as_ptr();
        (0..pg_sys::max_wal_senders as usize).any(|at| (*senders.add(at)).pid != 0)
    }
}

/// Whether the table was vacuumed in the last so many milliseconds.
pub fn was_run_within(rel: &Relation, milliseconds: i32) -> bool {
    let table = [Some(pg_sys::Datum::from(rel.id()))];
    // SAFETY: functions of one OID, which return a timestamp or NULL.
    unsafe {
        let times = [
            pgrx::direct_function_call_as_datum(pg_sys::pg_stat_get_last_vacuum_time, &table),
            pgrx::direct_function_call_as_datum(pg_sys::pg_stat_get_last_autovacuum_time, &table),
        ];
        let is_recent = |time: pg_sys::Datum| {
            !pg_sys::TimestampDifferenceExceeds(time.value() as pg_sys::TimestampTz, now(), milliseconds)
        };
        times.into_iter().flatten().any(is_recent)
    }
}
