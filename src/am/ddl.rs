//! Files, sizes and estimates.

use crate::columnar::forget_file;
use crate::disguise::size::Physical;
use crate::pg::guard::guarded;
use crate::pg::{Pin, Relation};
use crate::storage::{manifest, meta};
use crate::table::block::{Place, locate};
use crate::table::load;
use amax_lsm::Manifest;
use pgrx::pg_sys;
use pgrx::prelude::*;
/// # Safety
/// As tableam.h calls it.
unsafe fn heap() -> &'static pg_sys::TableAmRoutine {
    // SAFETY: PostgreSQL's arguments stay until we return; heap's callbacks are there.
    unsafe { &*pg_sys::GetHeapamTableAmRoutine() }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn nontransactional_truncate(rel: pg_sys::Relation) {
    // SAFETY: PostgreSQL's arguments stay until we return; heap's callbacks are there.
    unsafe {
        let rel = Relation::of(rel);
        load::discard(rel);
        forget_file(rel);
        pg_sys::RelationTruncate(rel.raw(), 0);
    }
}

#[cfg(feature = "pg15")]
type File = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
type File = pg_sys::RelFileLocator;

/// Copies the file as it is: what our transaction has loaded has to be in it.
///
/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn copy_data(rel: pg_sys::Relation, to: *const File) {
    // SAFETY: PostgreSQL's arguments stay until we return; heap's callbacks are there.
    unsafe {
        let rel = Relation::of(rel);
        load::finish(rel);
        let copy = heap().relation_copy_data.expect("heap copies its files");
        guarded!(copy(rel.raw(), to));
    }
}

/// Bytes of a fork. The main fork's are those of the logical blocks (invariant T2): BRIN, ANALYZE, TABLESAMPLE and TID
/// scans count in them. `pg_relation_size()` asks the file system instead.
///
/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn size(rel: pg_sys::Relation, fork: pg_sys::ForkNumber::Type) -> u64 {
    // SAFETY: PostgreSQL's arguments stay until we return; heap's callbacks are there.
    unsafe {
        let rel = Relation::of(rel);
        if fork != pg_sys::ForkNumber::MAIN_FORKNUM {
            let size = heap().relation_size.expect("heap has a size");
            return guarded!(size(rel.raw(), fork));
        }
        let blocks = if Physical::is_active() {
            rel.physical_blocks()
        } else {
            let blocks = meta::logical_blocks(rel);
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            super::prefetch::of_analyze(rel, blocks);
            blocks
        };
        u64::from(blocks) * u64::from(pg_sys::BLCKSZ)
    }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn toast_am(_rel: pg_sys::Relation) -> pg_sys::Oid {
    pg_sys::HEAP_TABLE_AM_OID
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn estimate_size(
    rel: pg_sys::Relation,
    attr_widths: *mut i32,
    pages: *mut pg_sys::BlockNumber,
    tuples: *mut f64,
    allvisfrac: *mut f64,
) {
    // SAFETY: PostgreSQL's arguments stay until we return; heap's callbacks are there.
    unsafe {
        let rel = Relation::of(rel);
        // heapam_handler.c's HEAP_OVERHEAD_BYTES_PER_TUPLE and HEAP_USABLE_BYTES_PER_PAGE.
        const OVERHEAD: usize = 24 + 4;
        const USABLE: usize = pg_sys::BLCKSZ as usize - 24;
        pg_sys::table_block_relation_estimate_size(rel.raw(), attr_widths, pages, tuples, allvisfrac, OVERHEAD, USABLE);
        let manifest = manifest::current(rel);
        if manifest.components.is_empty() {
            return;
        }
        // Logical blocks say little about what reading components costs. Under the plain executor, decoding rows takes
        // about what reading heap pages with the same rows would, so they count as so many pages.
        let width = pg_sys::get_rel_data_width(rel.raw(), attr_widths) as usize;
        let per_page = (USABLE / (width + OVERHEAD)).max(1) as f64;
        let columnar_rows = manifest.rows() as f64;
        let columnar_blocks: u64 = manifest.components.iter().map(|c| c.blocks.len()).sum();
        let row_pages = u64::from(meta::logical_blocks(rel)).saturating_sub(columnar_blocks) as f64;
        *tuples = rows(rel, &manifest, per_page, *tuples);
        // An index-only scan reads no page of heap's size for columnar rows, as of pages that are all visible. What
        // looking them up takes is counted with custom scans (query/fetch/charge.rs).
        *allvisfrac = (columnar_rows / (*tuples).max(columnar_rows)).max(*allvisfrac);
        *pages = (row_pages + (columnar_rows / per_page).ceil()) as pg_sys::BlockNumber;
    }
}

/// Rows of a table with components, of which PostgreSQL expects so many `by_blocks`, as many for each as when they were
/// counted. Blocks have as many rows as a load could fill them with, or as their row pages have: so those may be far too many
/// where rows have been changed since. Then it is those that were counted, and those of the blocks that have come.
fn rows(rel: &Relation, manifest: &Manifest, per_page: f64, by_blocks: f64) -> f64 {
    let is_counted = rel.tuples() >= 0.0;
    let (mut rows, from) = match is_counted {
        true => (f64::from(rel.tuples()), rel.pages()),
        false => (0.0, 0),
    };
    let blocks = meta::logical_blocks(rel);
    let mut new_pages = u64::from(blocks.saturating_sub(from)).saturating_sub(manifest.void.count(from, blocks));
    for component in &manifest.components {
        let since = component.blocks.count(from, blocks);
        rows += component.rows as f64 * since as f64 / component.blocks.len().max(1) as f64;
        new_pages = new_pages.saturating_sub(since);
    }
    if new_pages > 0 {
        let of_page = is_counted.then(|| rows_of_page(rel, blocks)).flatten();
        rows += new_pages as f64 * of_page.unwrap_or(per_page);
    }
    match is_counted {
        true if from > blocks => by_blocks,
        true => rows.min(by_blocks),
        false => rows,
    }
}

/// Blocks that are looked at for how many rows a row page has.
const LOOKED_AT: u32 = 4;

/// How many rows there are on a row page: as many as the fullest of the last ones has. None if those are columnar.
fn rows_of_page(rel: &Relation, blocks: u32) -> Option<f64> {
    let last = blocks.saturating_sub(LOOKED_AT)..blocks;
    let rows = last.filter_map(|v| match locate(rel, v) {
        // A hint, read without a lock.
        Place::Hot(p) => Some(Pin::read(rel, p).page().max_offset()),
        _ => None,
    });
    rows.max().filter(|&rows| rows > 0).map(f64::from)
}
