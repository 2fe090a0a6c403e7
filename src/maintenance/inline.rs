//! Inline flush: the memory component stays bounded between VACUUMs, and so does the number of components. A
//! transaction that has added row pages flushes, when it commits, what others have settled: its own rows are not; so does one
//! that has added rows with large values, when there is a leaf's worth of them, and where it is less asks autovacuum to
//! come, which counts rows by number alone. Then
//! it merges components that are less than a leaf, takes pages that it has emptied out of the stub directory, and makes
//! row pages of what has become free, so that the file does not grow with the rows that pass through it.
//!
//! Nothing here waits for anybody, and nothing depends on it being done: when there is no memory or no space for it,
//! the rows stay where they are. Temporary tables are left to VACUUM: their horizon does not know of our own cursors.

use super::attempt::{REFUSED, attempt, fill_reserve};
use super::{MaintenanceLock, flush, keep_up, merge, reclaim, requests};
use crate::columnar::{most_bytes, stub};
use crate::guc;
use crate::options::Options;
use crate::pg::lock::{RelationLock, is_locked_by_us, is_waited_for};
use crate::pg::progress::{self, Phase, Progress};
use crate::pg::relation::Borrowed;
use crate::pg::snapshot::{Active, forget_catalog};
use crate::pg::vacuum;
use crate::pg::{Relation, stats, xid};
use crate::storage::map::{self, Grown};
use crate::storage::space::DISK_FULL;
use crate::storage::{manifest, meta};
use crate::subtransaction::catch;
use amax_lsm::Key;
use pgrx::prelude::*;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Row pages a table must have at least.
const LEAST: u64 = 64;

/// Before our transaction commits, outside of any statement.
pub fn at_commit() {
    for grown in map::take_grown() {
        // VACUUM flushes for itself.
        let looks = looks(&grown, LEAST) || looks_at_bytes(&grown, LEAST);
        if !guc::flush_inline() || vacuum::is_running() || requests::is_worker() || !looks {
            continue;
        }
        // A savepoint that was rolled back, or PREPARE TRANSACTION, took our lock with it.
        let Some(_lock) = RelationLock::try_take(grown.relid, pg_sys::RowExclusiveLock) else {
            continue;
        };
        if let Some(rel) = Borrowed::find(grown.relid)
            && may_flush(&rel)
            && rel.file() == grown.file
            && is_due(&rel, &grown)
            // The worker could not have its lock beside one of ours before we have committed.
            && (is_locked_by_us(&rel, pg_sys::ShareLock) || !requests::ask(grown.relid))
        {
            try_flush(&rel, By::Commit);
        }
    }
}

/// What a commit has found to be due and left to us, the background worker. It may be no more.
pub fn at_request(table: pg_sys::Oid) {
    let Some(_lock) = RelationLock::try_take(table, pg_sys::RowExclusiveLock) else {
        return;
    };
    let is_due = |rel: &Borrowed| rel.is_ours() && may_flush(rel) && meta::logical_blocks(rel) > 0;
    let Some(rel) = Borrowed::find(table).filter(is_due) else {
        return;
    };
    let current = manifest::current(&rel);
    let row_pages = current.unowned(meta::logical_blocks(&rel)).len();
    let _progress = Progress::of(&rel, row_pages + current.pages());
    progress::phase(Phase::Columns);
    if let Some(rows) = try_flush(&rel, By::Worker) {
        merge_all(&rel, rows);
    }
}

/// Merges what VACUUM would, now that so many rows were flushed, unless a VACUUM or the like is under way, or until somebody waits for
/// what it would have waited for.
fn merge_all(rel: &Relation, flushed: u64) {
    let vacuums = pg_sys::ShareUpdateExclusiveLock;
    let (Some(_lock), Some(_vacuum)) = (
        MaintenanceLock::try_take(rel),
        RelationLock::try_take(rel.id(), vacuums),
    ) else {
        return;
    };
    let chosen = attempt(rel, || merge::choose(rel, flushed)).unwrap_or_default();
    for chosen in chosen {
        forget_catalog();
        if is_waited_for(rel, vacuums) || attempt(rel, || merge::merge(rel, &chosen)).is_err() {
            break;
        }
    }
    forget_catalog();
    // What is left is VACUUM's to do.
    let _ = attempt(rel, || reclaim::reclaim(rel));
    let _ = attempt(rel, || keep_up(rel));
}

/// Not after changes to the table's columns that may yet be rolled back: others' rows would be written as if they were
/// there.
fn may_flush(rel: &Relation) -> bool {
    !rel.is_temporary() && !is_locked_by_us(rel, pg_sys::AccessExclusiveLock)
}

/// Whether a transaction looks at a table of so many row pages. The more there are, the fewer look, so that a snapshot
/// which keeps them from being settled does not make everyone look at all of them again and again.
fn looks(grown: &Grown, row_pages: u64) -> bool {
    1 << grown.zeros >= row_pages / 8
}

/// Whether it is worth a look: others have left many row pages.
fn is_due(rel: &Relation, grown: &Grown) -> bool {
    let threshold = Options::of(rel).flush_threshold.max(0) as u64;
    let row_pages = manifest::current(rel).unowned(meta::logical_blocks(rel)).len();
    let of_others = row_pages.saturating_sub(grown.pages.into());
    of_others >= (2 * threshold).max(LEAST) && looks(grown, row_pages)
        || looks_at_bytes(grown, row_pages.max(LEAST)) && is_leaf_full(rel, grown)
}

/// Whether a transaction has added so many bytes in large rows that it looks at a table of so many row pages: one that has
/// as many bytes always, of those with fewer some do. ANALYZE always does: what it reports to PostgreSQL takes the place
/// of what autovacuum was told before.
fn looks_at_bytes(grown: &Grown, row_pages: u64) -> bool {
    let chosen = xid::current().unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let enough = row_pages * u64::from(pg_sys::BLCKSZ);
    grown.analyzed
        || grown.large_bytes > 0 && (u128::from(chosen) * u128::from(enough)) >> 32 < grown.large_bytes as u128
}

/// Whether others have left as much in row pages as makes a leaf, values out of line included. That comes seldom enough to be worth a
/// commit's time; for less autovacuum comes, and is told if PostgreSQL would not send it for so few rows.
fn is_leaf_full(rel: &Relation, grown: &Grown) -> bool {
    let page = pg_sys::BLCKSZ as usize;
    let options = Options::of(rel);
    let leaf = options.leaf_bytes.max(2 * options.flush_threshold as usize * page);
    let waiting = flush::Waiting::of(rel, leaf + grown.large_bytes);
    if waiting.large == 0 {
        return false;
    }
    let bytes = (waiting.pages + waiting.large).saturating_sub(grown.large_bytes);
    if bytes < leaf && bytes >= flush::due_for_vacuum(rel) {
        stats::call_autovacuum(rel, rel.tuples().into());
    }
    bytes >= leaf
}

/// Who flushes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Commit,
    /// The background worker, whose settings are not those of who found that it is due, and which may come twice.
    Worker,
}

/// After a flush that found no memory or no space, this session leaves the next ones to others.
const REST: Duration = Duration::from_secs(60);

thread_local! {
    static RESTS_UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Whether the last flush found no memory or no space.
pub fn was_refused() -> bool {
    RESTS_UNTIL.get().is_some()
}

/// The commit does not depend on it. How many rows have been flushed; None if nobody has tried to.
fn try_flush(rel: &Relation, by: By) -> Option<u64> {
    if RESTS_UNTIL.get().is_some_and(|end| Instant::now() < end) {
        return None;
    }
    RESTS_UNTIL.set(None);
    let _lock = MaintenanceLock::try_take(rel)?;
    match attempt(rel, || flush_others(rel, by)) {
        Ok(rows) => Some(rows),
        Err(cause) => {
            RESTS_UNTIL.set(Some(Instant::now() + REST));
            if cause.code == DISK_FULL {
                // The file was lengthened as far as it goes: that is for rows now.
                let _ = catch(REFUSED, || reclaim::give_to_rows(rel, u64::MAX));
            }
            let message = format!("rows of relation \"{}\" stay in row pages", rel.name());
            ereport!(LOG, cause.code, message, cause.message);
            None
        }
    }
}

fn flush_others(rel: &Relation, by: By) -> u64 {
    // For what is out of line, and to keep the pages that are read.
    let _snapshot = Active::of_transaction();
    let options = Options::of(rel);
    let limits = flush::Limits {
        oldest_xmin: xid::oldest_xmin(rel),
        // Larger rows would keep the commit waiting.
        most: options.leaf_bytes.min(most_bytes()),
        least: match by {
            By::Commit => options.flush_threshold as usize,
            By::Worker => LEAST as usize / 2,
        },
        pruned: false,
    };
    let flushed = flush::flush(rel, limits);
    let left_directory = tidy_if_alone(rel, &flushed.released);
    reclaim::reclaim(rel);
    manifest::stamp(rel);
    reclaim::give_to_rows(rel, flushed.pages + left_directory);
    fill_reserve(rel);
    flushed.rows
}

/// Unless a VACUUM or the like is under way: it has components and pages of the stub directory in hand that no snapshot
/// keeps from being given up. Returns how many pages left the directory, now that these rows have no stubs.
fn tidy_if_alone(rel: &Relation, released: &[Key]) -> u64 {
    let Some(_lock) = RelationLock::try_take(rel.id(), pg_sys::ShareUpdateExclusiveLock) else {
        return 0;
    };
    merge::merge_small(rel);
    let groups: BTreeSet<u32> = released.iter().map(|&row| stub::group_of(row)).collect();
    reclaim::shrink_directory(rel, groups)
}
