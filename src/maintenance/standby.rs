//! What standbys are spared: the lock that giving back the end of a file takes is a conflict for their queries.

use pgrx::pg_sys;

/// A VACUUM so long ago (milliseconds) is not one of a series.
const LONG: i32 = 60_000;

/// Whether a table that has not grown since its last VACUUM may be taken for one that does not grow: at once where no
/// standby is connected, else after a minute without VACUUM.
pub unsafe fn may_call_idle(rel: pg_sys::Relation) -> bool {
    !are_connected() || !vacuumed_lately(rel)
}

/// Or a base backup is being taken, for all we know.
unsafe fn are_connected() -> bool {
    let control = pg_sys::WalSndCtl;
    if control.is_null() {
        return false;
    }
    let senders = (*control).walsnds.as_ptr();
    // Without their locks: each is one number.
    (0..pg_sys::max_wal_senders as usize).any(|at| (*senders.add(at)).pid != 0)
}

unsafe fn vacuumed_lately(rel: pg_sys::Relation) -> bool {
    let table = [Some(pg_sys::Datum::from((*rel).rd_id))];
    let times = [
        pgrx::direct_function_call_as_datum(pg_sys::pg_stat_get_last_vacuum_time, &table),
        pgrx::direct_function_call_as_datum(pg_sys::pg_stat_get_last_autovacuum_time, &table),
    ];
    let now = pg_sys::GetCurrentTimestamp();
    let lately =
        |time: pg_sys::Datum| !pg_sys::TimestampDifferenceExceeds(time.value() as pg_sys::TimestampTz, now, LONG);
    times.into_iter().flatten().any(lately)
}
