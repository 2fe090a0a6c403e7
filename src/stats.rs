//! SQL functions behind `amax.stats`, statistics of paths as the planner is told of them, and behind what is counted of tables and of the
//! shared cache.

use crate::columnar::shared;
use crate::counters::{self, Count, Counts};
use crate::encoding::plain;
use crate::guc;
use crate::inspect::open_column;
use crate::pg::relation::may_be_read_whole;
use crate::query::statistics::{Shown, of_paths};
use pgrx::AnyElement;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// `amax.path_statistics(table, attribute)`: a row per expression over a path of a document column.
#[pg_extern]
fn path_statistics(
    table: pg_sys::Oid,
    attribute: i16,
) -> TableIterator<'static, (name!(expression, String), name!(statistics, AnyElement))> {
    let opened = open_column(table, attribute);
    let row = |shown: Shown| (plain(shown.expression.clone()), shown.statistics().to_value());
    TableIterator::new(of_paths(&opened, attribute).into_iter().map(row))
}

/// `amax.table_counters()`: what has been done with each table of the database that anything was counted of. How many leaves conditions
/// have had skipped tells of their values: of a table only to whom may read all of its rows.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn table_counters() -> TableIterator<
    'static,
    (
        name!(relid, pg_sys::Oid),
        name!(loads, i64),
        name!(loaded_rows, i64),
        name!(loaded_bytes, i64),
        name!(last_load, Option<TimestampWithTimeZone>),
        name!(flushes, i64),
        name!(flushed_rows, i64),
        name!(flushed_bytes, i64),
        name!(last_flush, Option<TimestampWithTimeZone>),
        name!(merges, i64),
        name!(merged_rows, i64),
        name!(merged_bytes, i64),
        name!(last_merge, Option<TimestampWithTimeZone>),
        name!(moved_bytes, i64),
        name!(leaves_read, Option<i64>),
        name!(leaves_skipped, Option<i64>),
        name!(columns_found, Option<i64>),
        name!(columns_decoded, Option<i64>),
    ),
> {
    let row = |(table, counts): (pg_sys::Oid, Counts)| {
        let count = |count: Count| counts[count as usize] as i64;
        let is_told = may_be_read_whole(table);
        let told = |of: Count| is_told.then(|| count(of));
        (
            table,
            count(Count::Loads),
            count(Count::LoadedRows),
            count(Count::LoadedBytes),
            time(counts[Count::LastLoad as usize]),
            count(Count::Flushes),
            count(Count::FlushedRows),
            count(Count::FlushedBytes),
            time(counts[Count::LastFlush as usize]),
            count(Count::Merges),
            count(Count::MergedRows),
            count(Count::MergedBytes),
            time(counts[Count::LastMerge as usize]),
            count(Count::MovedBytes),
            told(Count::LeavesRead),
            told(Count::LeavesSkipped),
            told(Count::ColumnsFound),
            told(Count::ColumnsDecoded),
        )
    };
    TableIterator::new(counters::of_tables().into_iter().map(row))
}

/// `amax.cache_counters()`: what is in the shared cache, how often columns were found there, and since when that is counted.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn cache_counters() -> TableIterator<
    'static,
    (
        name!(bytes, i64),
        name!(max_bytes, i64),
        name!(columns, i64),
        name!(segments, i64),
        name!(segments_evicted, i64),
        name!(columns_found, i64),
        name!(columns_decoded, i64),
        name!(stats_reset, Option<TimestampWithTimeZone>),
    ),
> {
    let (segments, bytes, columns, evicted) = shared::state();
    let ([found, decoded], since) = counters::of_all([Count::ColumnsFound, Count::ColumnsDecoded]);
    TableIterator::once((
        bytes as i64,
        guc::shared_cache_bytes() as i64,
        columns as i64,
        segments as i64,
        evicted as i64,
        found as i64,
        decoded as i64,
        time(since),
    ))
}

/// `amax.reset_counters()`: all of them, of all databases.
#[pg_extern]
fn reset_counters() {
    counters::clear();
}

/// Of PostgreSQL's number; 0: none.
fn time(number: u64) -> Option<TimestampWithTimeZone> {
    (number > 0).then(|| TimestampWithTimeZone::try_from(number as i64).ok())?
}
