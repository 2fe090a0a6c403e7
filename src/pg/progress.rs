//! What pg_stat_progress_vacuum says of a VACUUM that this process runs, and pg_stat_progress_cluster of a CLUSTER or VACUUM FULL. Whoever works
//! for it says how far he is; where none runs, as in a commit that flushes, nobody hears of it.

use super::Relation;
use pgrx::pg_sys;

/// The view's phases, in our words: row pages are its heap, and making columns of them its vacuuming.
#[derive(Clone, Copy)]
pub enum Phase {
    RowPages = pg_sys::PROGRESS_VACUUM_PHASE_SCAN_HEAP as isize,
    Indexes = pg_sys::PROGRESS_VACUUM_PHASE_VACUUM_INDEX as isize,
    /// Flush, freezing, merge.
    Columns = pg_sys::PROGRESS_VACUUM_PHASE_VACUUM_HEAP as isize,
    IndexCleanup = pg_sys::PROGRESS_VACUUM_PHASE_INDEX_CLEANUP as isize,
    /// Moving components to the front, and giving the file's end back.
    Truncation = pg_sys::PROGRESS_VACUUM_PHASE_TRUNCATE as isize,
    Last = pg_sys::PROGRESS_VACUUM_PHASE_FINAL_CLEANUP as isize,
}

/// Ends on drop, or with the transaction.
pub struct Progress(());

impl Progress {
    /// Of a table of so many pages: row pages, and those of components.
    pub fn of(rel: &Relation, pages: u64) -> Progress {
        // SAFETY: our own entry.
        unsafe { pg_sys::pgstat_progress_start_command(VACUUM, rel.id()) };
        set(pg_sys::PROGRESS_VACUUM_TOTAL_HEAP_BLKS, pages as i64);
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

pub fn phase(phase: Phase) {
    set(pg_sys::PROGRESS_VACUUM_PHASE, phase as i64);
}

/// How many row pages have been looked at.
pub fn looked_at(pages: u64) {
    set(pg_sys::PROGRESS_VACUUM_HEAP_BLKS_SCANNED, pages as i64);
}

/// So many pages more, row pages or those of components, have been written as columns.
pub fn wrote(pages: u64) {
    add(pg_sys::PROGRESS_VACUUM_HEAP_BLKS_VACUUMED, pages as i64);
}

/// Indexes have been vacuumed once more.
pub fn vacuumed_indexes() {
    add(pg_sys::PROGRESS_VACUUM_NUM_INDEX_VACUUMS, 1);
}

/// What CLUSTER does.
#[derive(Clone, Copy)]
pub enum Rewriting {
    Scan = pg_sys::PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP as isize,
    IndexScan = pg_sys::PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP as isize,
    Sort = pg_sys::PROGRESS_CLUSTER_PHASE_SORT_TUPLES as isize,
    Write = pg_sys::PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP as isize,
}

pub fn rewriting(phase: Rewriting) {
    set_of(CLUSTER, pg_sys::PROGRESS_CLUSTER_PHASE, phase as i64);
}

/// How many rows CLUSTER has read, dead ones, too.
pub fn rows_read(rows: u64) {
    set_of(CLUSTER, pg_sys::PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED, rows as i64);
}

/// How many rows CLUSTER has written.
pub fn rows_rewritten(rows: u64) {
    set_of(CLUSTER, pg_sys::PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN, rows as i64);
}

type Command = pg_sys::ProgressCommandType::Type;
const VACUUM: Command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_VACUUM;
const CLUSTER: Command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_CLUSTER;

fn set(what: u32, value: i64) {
    set_of(VACUUM, what, value);
}

fn set_of(command: Command, what: u32, value: i64) {
    if runs(command) {
        // SAFETY: our own entry, of a command that has such a number.
        unsafe { pg_sys::pgstat_progress_update_param(what as i32, value) };
    }
}

fn add(what: u32, value: i64) {
    if runs(VACUUM) {
        // SAFETY: our own entry, which only this process writes.
        let before = unsafe { (*pg_sys::MyBEEntry).st_progress_param[what as usize] };
        set(what, before + value);
    }
}

fn runs(command: Command) -> bool {
    // SAFETY: our own entry, which only this process writes.
    let entry = unsafe { pg_sys::MyBEEntry.as_ref() };
    entry.is_some_and(|entry| entry.st_progress_command == command)
}
