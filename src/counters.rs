//! What has been done with tables since the server started, counted in memory that all processes share. What was rolled back counts, too, as
//! in PostgreSQL's own statistics; temporary tables do not. Nothing here raises an error.

use crate::pg::Relation;
use crate::pg::shm::{InShared, Kept, Segment};
use amax_cache::counters::{COUNTS, Counters, Table};
use pgrx::pg_sys;
use std::cell::{Cell, OnceCell};

/// What is counted of a table.
#[derive(Clone, Copy)]
pub enum Count {
    Loads,
    LoadedRows,
    LoadedBytes,
    LastLoad,
    Flushes,
    FlushedRows,
    FlushedBytes,
    LastFlush,
    Merges,
    MergedRows,
    MergedBytes,
    LastMerge,
    /// Bytes that were written again as they are.
    MovedBytes,
    LeavesRead,
    LeavesSkipped,
    /// Of leaves, those that were found in shared memory.
    ColumnsFound,
    ColumnsDecoded,
}

/// How a component was written.
#[derive(Clone, Copy)]
pub enum Written {
    Load,
    Flush,
    Merge,
    /// As it was, elsewhere, or in part.
    Move,
}

/// The last number is that of the form of the counters.
const NAME: &str = concat!("amax ", env!("CARGO_PKG_VERSION"), " counters 1");

// SAFETY: numbers alone.
unsafe impl InShared for Counters {}

thread_local! {
    /// None if there can be none in this server.
    static COUNTERS: OnceCell<Option<Kept<Counters>>> = const { OnceCell::new() };
    /// There was no memory for a segment: not tried again.
    static FULL: Cell<bool> = const { Cell::new(false) };
}

fn with<R>(f: impl FnOnce(&Kept<Counters>) -> Option<R>) -> Option<R> {
    // SAFETY: a flag of the process.
    if !unsafe { pg_sys::IsUnderPostmaster } {
        return None;
    }
    COUNTERS.with(|counters| {
        let counters = counters.get_or_init(|| Kept::find(NAME, c"amax_counters"));
        counters.as_ref().and_then(f)
    })
}

/// Of a table of this database.
fn key(table: pg_sys::Oid) -> u64 {
    // SAFETY: a global of the backend.
    let database = unsafe { pg_sys::MyDatabaseId };
    u64::from(database.to_u32()) << 32 | u64::from(table.to_u32())
}

/// The statement's start, as PostgreSQL has times: in microseconds from 2000 on.
fn now() -> u64 {
    // SAFETY: it reads a global.
    unsafe { pg_sys::GetCurrentStatementStartTimestamp() }.max(1) as u64
}

fn create(bytes: usize) -> Option<Segment> {
    if FULL.get() {
        return None;
    }
    let made = Segment::create(bytes);
    FULL.set(made.is_none());
    made
}

/// Counts more of a table that is not temporary.
pub fn count(table: pg_sys::Oid, counts: &[(Count, u64)]) {
    let (key, now) = (key(table), now());
    let add = |table: &Table| {
        table.touch(now);
        for &(count, more) in counts {
            match count {
                Count::LastLoad | Count::LastFlush | Count::LastMerge => table.advance(count as usize, more),
                _ => table.add(count as usize, more),
            }
        }
    };
    with(|counters| {
        let known = counters.read(|counters| counters.find(key).map(add).is_some());
        match known {
            Some(true) => Some(()),
            _ => counters.write(create, |counters| add(counters.claim(key, now))),
        }
    });
}

/// Counts a component that has been written.
pub fn wrote(rel: &Relation, how: Written, rows: u64, pages: u64) {
    if rel.is_temporary() {
        return;
    }
    let bytes = pages * u64::from(pg_sys::BLCKSZ);
    let counts = match how {
        Written::Load => [Count::Loads, Count::LoadedRows, Count::LoadedBytes, Count::LastLoad],
        Written::Flush => [
            Count::Flushes,
            Count::FlushedRows,
            Count::FlushedBytes,
            Count::LastFlush,
        ],
        Written::Merge => [Count::Merges, Count::MergedRows, Count::MergedBytes, Count::LastMerge],
        Written::Move => return count(rel.id(), &[(Count::MovedBytes, bytes)]),
    };
    let [times, all_rows, all_bytes, last] = counts;
    count(
        rel.id(),
        &[(times, 1), (all_rows, rows), (all_bytes, bytes), (last, now())],
    );
}

/// The counts of a table.
pub type Counts = [u64; COUNTS];

/// By table of this database its counts.
pub fn of_tables() -> Vec<(pg_sys::Oid, Counts)> {
    let database = key(pg_sys::InvalidOid) >> 32;
    let counts = |table: &Table| {
        (
            pg_sys::Oid::from(table.key() as u32),
            std::array::from_fn(|count| table.get(count)),
        )
    };
    let of_this = |table: &&Table| table.key() >> 32 == database;
    // Memory is asked for before the lock is taken, which an error would leave behind.
    let mut found = Vec::with_capacity(amax_cache::counters::TABLES);
    with(|counters| counters.read(|counters| found.extend(counters.tables().filter(of_this).map(counts))));
    found
}

/// Counts of all tables of all databases together, and since when, as [`now`] has it; 0: never.
pub fn of_all(counts: [Count; 2]) -> ([u64; 2], u64) {
    let read = |counters: &Counters| (counts.map(|count| counters.total(count as usize)), counters.since());
    with(|counters| counters.read(read)).unwrap_or_default()
}

/// Forgets all counts.
pub fn clear() {
    with(|counters| counters.write(|_| None, |counters| counters.clear(now())));
}
