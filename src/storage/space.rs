//! Room where the file cannot grow: the disk is full.
//!
//! Heap needs no space to delete or lock a row; we need a stub, and a page of the stub directory. So a table with
//! components has a *reserve* of free pages, which loads, flushes and merges leave alone: for stubs, and for the next
//! manifest. What stubs take is free again when VACUUM has seen to them; what their directory takes stays until leaves
//! have gone. So it is the directory for which the reserve has as many pages as it may ever need, within bounds.

use super::buffer::{Change, Kind};
use super::rowpage::EMPTY;
use super::{hand, manifest};
use crate::disguise::size::Physical;
use crate::fault::fault;
use crate::pg::xid;
use crate::pg::{Pin, Relation, free_space};
use crate::subtransaction::catch;
use amax_lsm::{Component, Extent, FreeSpace, Manifest};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use std::cell::LazyCell;

/// One page in so many of the components' is kept for stubs and their directory, and no fewer than the whole directory
/// and the stubs of one row in [`STUBS`] need, if those are few ([`FEW`]); else as many as are a small part of the table
/// ([`PART`]), or [`LEAST`], which do not make a small table half as large again; up to a number of pages.
const SHARE: u64 = 32;
const STUBS: u64 = 32;
const FEW: u64 = 80;
const LEAST: u64 = 64;
const PART: u64 = 8;
const MOST: u64 = 256;
/// Stubs of narrow rows that fit a page, at least.
const STUBS_PER_PAGE: u64 = 128;
/// A page of the directory is for no fewer rows, in the mean: what has few rows left in its blocks needs no more.
const ROWS_PER_DIRECTORY_PAGE: u64 = 16;
/// Logical blocks whose rows have their entries on one page of the directory.
pub const BLOCKS_PER_DIRECTORY_PAGE: u32 = 4;

/// The free pages of a manifest that are kept for the next ones, so that they do not lengthen the file.
pub fn for_manifests(manifest: &Manifest) -> u64 {
    2 * u64::from(manifest::pages_needed(manifest))
}

/// The reserve of a table with this manifest.
pub fn kept(manifest: &Manifest) -> u64 {
    kept_with(manifest, 0)
}

fn kept_with(manifest: &Manifest, pages: u64) -> u64 {
    for_manifests(manifest) + for_stubs(manifest, pages)
}

/// With so many more pages, which come with a load: what its rows need is known when VACUUM sees it.
fn for_stubs(manifest: &Manifest, pages: u64) -> u64 {
    let directory = |c: &Component| {
        let pages = c.blocks.len().div_ceil(u64::from(BLOCKS_PER_DIRECTORY_PAGE));
        pages.min(c.rows / ROWS_PER_DIRECTORY_PAGE)
    };
    let directory: u64 = manifest.components.iter().map(directory).sum();
    let stubs = manifest.rows().div_ceil(STUBS * STUBS_PER_PAGE);
    let pages = manifest.pages() + pages;
    let needed = match directory + stubs {
        few @ ..=FEW => few,
        many => many.min(LEAST.max(pages / PART)),
    };
    (pages / SHARE).max(needed).min(MOST)
}

/// Appends what the reserve lacks for `pages` more pages of components; to be published with them.
pub fn reserve_for(rel: &Relation, pages: u64) -> FreeSpace {
    let current = manifest::current(rel);
    let mut appended = FreeSpace::default();
    for _ in current.free.pages()..kept_with(&current, pages) {
        let start = append(rel);
        appended.give(Extent { start, len: 1 });
    }
    if for_stubs(&current, pages) > 0 {
        // Heap's insertion of a stub looks at both maps, and lengthens their files if need be.
        free_space::lengthen(rel);
    }
    appended
}

/// What it means that a file cannot grow.
pub const DISK_FULL: PgSqlErrorCode = PgSqlErrorCode::ERRCODE_DISK_FULL;

/// A page of ours that nothing refers to, for the caller to make something of it: at the end of the file or, when that
/// cannot grow, one of the reserve, of which `kept` pages stay. The caller has no page locked. Whoever fails with it in
/// hand leaves it to VACUUM's search for lost pages.
pub fn page(rel: &Relation, kept: impl Fn(&Manifest) -> u64) -> u32 {
    // PostgreSQL allows no subtransaction while workers read for us; who does that does not change columnar rows.
    if xid::in_parallel_mode() {
        return append(rel);
    }
    match catch(&[DISK_FULL], || append(rel)) {
        Ok(block) => block,
        Err(full) => reserved(rel, kept).unwrap_or_else(|| {
            ErrorReport::new(
                DISK_FULL,
                format!(
                    "no space left for changes of columnar rows of relation \"{}\"",
                    rel.name()
                ),
                "",
            )
            .set_detail(full.message)
            .set_hint("Free some disk space, or change fewer rows at a time and run VACUUM in between.")
            .report(PgLogLevel::ERROR);
            unreachable!("an error was raised")
        }),
    }
}

fn reserved(rel: &Relation, kept: impl Fn(&Manifest) -> u64) -> Option<u32> {
    let spare = |manifest: &Manifest| manifest.free.pages() > kept(manifest);
    if !spare(&manifest::current(rel)) {
        return None;
    }
    let taken = manifest::publish(rel, |manifest| {
        let pages = u32::from(spare(manifest));
        manifest.free.take(pages)
    });
    taken.first().map(|extent| extent.start)
}

/// Takes back a page that was not needed after all.
pub fn give_back(rel: &Relation, block: u32) {
    let extent = Extent { start: block, len: 1 };
    manifest::publish(rel, |manifest| manifest.free.give(extent));
}

/// Makes row pages of pages that nothing refers to, where heap finds them.
pub fn make_row_pages(rel: &Relation, pages: &[Extent]) {
    for p in pages.iter().flat_map(|e| e.start..e.start + e.len) {
        make_row_page(rel, p);
        free_space::record(rel, p, EMPTY);
    }
    if let (Some(first), Some(last)) = (pages.first(), pages.last()) {
        free_space::vacuum_range(rel, first.start, last.start + last.len);
    }
}

fn make_row_page(rel: &Relation, p: u32) {
    let mut change = Change::begin(rel);
    change.format_rows(Pin::read(rel, p).lock());
    change.commit();
}

/// Candidates of the free space map that are looked at.
const CANDIDATES: u32 = 16;

/// Sees to it that heap finds room for a tuple of so many bytes without lengthening the file itself. A page made for it
/// is returned: our next insertion goes there, and others' find it when that is done, with [`announce`]. Of the reserve it
/// leaves the stub directory what that lacks, `lacking`, or half if that is less: VACUUM makes room for other stubs where
/// some have been.
pub fn for_tuple(rel: &Relation, bytes: usize, lacking: impl FnOnce() -> u64) -> Option<u32> {
    let needed = free_space_needed(rel, bytes);
    let has_room = {
        let _guard = Physical::enter();
        heap_finds(rel, needed)
    };
    if has_room {
        return None;
    }
    let lacking = LazyCell::new(lacking);
    let page = page(rel, |manifest| {
        for_manifests(manifest) + (*lacking).min(for_stubs(manifest, 0) / 2)
    });
    make_row_page(rel, page);
    fault("stub_room");
    rel.set_target_block(page);
    Some(page)
}

/// Tells the free space map of a page that [`for_tuple`] made.
pub fn announce(rel: &Relation, page: u32) {
    // A hint, read without a lock.
    free_space::record(rel, page, Pin::read(rel, page).page().heap_free_space());
    free_space::vacuum_range(rel, page, page + 1);
}

/// RelationGetBufferForTuple() (hio.c), in short.
fn heap_finds(rel: &Relation, needed: usize) -> bool {
    let free = |p: u32| {
        let pin = Pin::read(rel, p);
        // A hint, read without a lock.
        if pin.page().is_new() {
            EMPTY
        } else {
            pin.page().heap_free_space()
        }
    };
    let target = rel.target_block();
    // PostgreSQL forgets it when the file is truncated.
    if target != pg_sys::InvalidBlockNumber && free(target) >= needed {
        return true;
    }
    let blocks = rel.physical_blocks();
    let mut p = free_space::find(rel, needed);
    for _ in 0..CANDIDATES {
        if p >= blocks {
            return false;
        }
        let left = free(p);
        if left >= needed {
            return true;
        }
        p = free_space::find_another(rel, p, left, needed);
    }
    false
}

/// What heap looks for: with what the fill factor leaves free, but on a page that is nearly empty.
pub fn free_space_needed(rel: &Relation, bytes: usize) -> usize {
    let bytes = bytes.next_multiple_of(8);
    let saved = pg_sys::BLCKSZ as usize * (100 - rel.fill_factor()) / 100;
    let nearly_empty = EMPTY - usize::from(amax_lsm::tid::MAX_OFFSET) / 8 * 4;
    (bytes + saved).min(bytes.max(nearly_empty)).min(EMPTY)
}

fn append(rel: &Relation) -> u32 {
    let mut change = Change::begin(rel);
    let (_, start) = change.append(Kind::Blob);
    change.commit();
    let mut appended = FreeSpace::default();
    appended.give(Extent { start, len: 1 });
    hand::take(&appended);
    start
}
