//! What maintenance asks of PostgreSQL: whether to pause, and how far it has come.

use super::relation::Relation;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::ffi::CStr;

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

/// Those of VACUUM without options: ages are the settings'.
pub fn plain_parameters() -> pg_sys::VacuumParams {
    // SAFETY: a struct of numbers.
    let mut params: pg_sys::VacuumParams = unsafe { std::mem::zeroed() };
    (params.freeze_min_age, params.freeze_table_age) = (-1, -1);
    (params.multixact_freeze_min_age, params.multixact_freeze_table_age) = (-1, -1);
    params
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

/// Whether transaction ids are so old that VACUUM has to do without what is not needed for freezing them
/// (vacuum_failsafe_age, vacuum_multixact_failsafe_age).
pub fn failsafe_due((xid, multi): (pg_sys::TransactionId, pg_sys::MultiXactId)) -> bool {
    #[cfg(feature = "pg15")]
    // SAFETY: compares with the next ids.
    unsafe {
        pg_sys::vacuum_xid_failsafe_check(xid, multi)
    }
    #[cfg(not(feature = "pg15"))]
    // SAFETY: as above; a struct of numbers, of which these are looked at.
    unsafe {
        let mut cutoffs: pg_sys::VacuumCutoffs = std::mem::zeroed();
        (cutoffs.relfrozenxid, cutoffs.relminmxid) = (xid, multi);
        pg_sys::vacuum_xid_failsafe_check(&cutoffs)
    }
}

/// lazy_check_wraparound_failsafe(): says so, and VACUUM pauses no more.
pub fn begin_failsafe(rel: &Relation, index_scans: u32) {
    // SAFETY: names of the relation's database and schema, as palloc'd strings; globals of the backend.
    let (database, schema) = unsafe {
        pg_sys::VacuumCostActive = false;
        pg_sys::VacuumCostBalance = 0;
        #[cfg(not(feature = "pg15"))]
        {
            pg_sys::VacuumFailsafeActive = true;
        }
        let name = |name| CStr::from_ptr(name).to_string_lossy().into_owned();
        (
            name(pg_sys::get_database_name(pg_sys::MyDatabaseId)),
            name(pg_sys::get_namespace_name(rel.schema())),
        )
    };
    ErrorReport::new(
        PgSqlErrorCode::ERRCODE_WARNING,
        format!(
            "bypassing nonessential maintenance of table \"{database}.{schema}.{}\" as a failsafe after {index_scans} index scans",
            rel.name()
        ),
        "",
    )
    .set_detail("The table's relfrozenxid or relminmxid is too far in the past.")
    .set_hint(
        "Consider increasing configuration parameter \"maintenance_work_mem\" or \"autovacuum_work_mem\".\n\
         You might also need to consider other ways for VACUUM to keep up with the allocation of transaction IDs.",
    )
    .report(PgLogLevel::WARNING);
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
