//! Inline flush: the memory component stays bounded between VACUUMs. A transaction that has added row pages flushes, when it commits, what
//! others have settled: its own rows are not.
//!
//! Nothing here waits for anybody, and nothing depends on it being done. Temporary tables are left to VACUUM: their horizon does not know
//! of our own cursors.

use super::vacuum::conflict_older;
use super::{flush, reclaim, MaintenanceLock};
use crate::guc;
use crate::options::Options;
use crate::storage::cache::file_id;
use crate::storage::map::{self, Grown};
use crate::storage::{manifest, meta};
use pgrx::pg_sys;

/// Row pages a table must have at least.
const LEAST: u64 = 64;

/// Before our transaction commits, outside of any statement.
pub unsafe fn at_commit() {
    for grown in map::take_grown() {
        // VACUUM flushes for itself.
        let vacuum = (*pg_sys::MyProc).statusFlags & pg_sys::PROC_IN_VACUUM as u8 != 0;
        if !guc::flush_inline() || vacuum {
            continue;
        }
        let rel = pg_sys::RelationIdGetRelation(grown.relid);
        if rel.is_null() {
            continue;
        }
        let temporary = (*(*rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as i8;
        if !temporary && file_id(rel) == grown.file && is_due(rel, &grown) {
            flush_if_free(rel);
        }
        pg_sys::RelationClose(rel);
    }
}

/// Whether it is worth a look: others have left many row pages. The more there are, the fewer look, so that a snapshot which keeps them
/// from being settled does not make everyone look at all of them again and again.
fn is_due(rel: pg_sys::Relation, grown: &Grown) -> bool {
    let threshold = Options::of(rel).flush_threshold.max(0) as u64;
    let row_pages = manifest::current(rel)
        .unowned(meta::logical_blocks(rel))
        .len();
    let of_others = row_pages.saturating_sub(grown.pages.into());
    of_others >= (2 * threshold).max(LEAST) && 1 << grown.zeros >= row_pages / 8
}

unsafe fn flush_if_free(rel: pg_sys::Relation) {
    let Some(_lock) = MaintenanceLock::try_take(rel) else {
        return;
    };
    // For what is out of line, and to keep the pages that are read.
    pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
    let oldest_xmin = pg_sys::GetOldestNonRemovableTransactionId(rel);
    flush::flush(rel, oldest_xmin, || conflict_older(rel, oldest_xmin));
    reclaim::reclaim(rel);
    pg_sys::PopActiveSnapshot();
}
