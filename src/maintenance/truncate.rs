//! Gives pages at the end of the file back to the file system, as lazy_truncate_heap() does (vacuumlazy.c): under an
//! AccessExclusiveLock, if that can be had; then nobody is reading what components have given up, and it is free at once.
//! Pages of the maps, of the stub directory and of the manifest move out of the way. A table
//! that holds nothing loses all of its file, metapage included: it is as new then. What other backends remember of the
//! file is invalidated before they get the lock, and also if we fail.

use super::lost;
use crate::columnar::{forget_file, forget_file_everywhere};
use crate::pg::lock::try_lock;
use crate::pg::vacuum;
use crate::pg::{Pin, Relation};
use crate::storage::rowpage::is_empty;
use crate::storage::{manifest, map, meta, space};
use amax_lsm::{Manifest, RangeSet, RetiredPages};
use pgrx::pg_sys;
use std::collections::HashSet;

/// Pages that are worth some trouble.
pub const MANY: u32 = 1000;
/// lazy_truncate_heap() waits as long for its lock, and looks this often (milliseconds).
const LOCK_TIMEOUT: i64 = 5000;
const LOCK_INTERVAL: i64 = 50;

/// Truncates the file if it is worth it. The caller holds the maintenance lock; the relation's lock is kept to the
/// transaction's end. Returns the pages given back.
pub fn truncate(rel: &Relation, indexed: bool) -> u32 {
    let pages = rel.physical_blocks();
    let end = new_end(rel, pages, indexed);
    // should_attempt_truncation()
    let gain = pages - end;
    if gain == 0 || gain < MANY && gain < pages / 16 || !lock(rel, gain >= MANY) {
        return 0;
    }
    free_retired(rel);
    let pages = rel.physical_blocks();
    let end = new_end(rel, pages, indexed);
    if end == 0 {
        forget_file_everywhere(rel);
        vacuum::truncate(rel, 0);
        forget_file(rel);
        return pages;
    }
    if end == pages || !give_up(rel, end, pages) {
        return 0;
    }
    super::fault("truncate_published");
    vacuum::truncate(rel, end);
    pages - end
}

/// Nobody else is here: what components and the stub directory have given up is free.
fn free_retired(rel: &Relation) {
    if !manifest::current(rel).retired_columnar().is_empty() {
        manifest::publish(rel, |manifest| manifest.free_retired_columnar());
        super::fault("truncate_freed");
    }
}

/// Whether nobody else is using the relation. Nobody can until the transaction's end then: the caller has not much to do.
pub fn is_alone(rel: &Relation) -> bool {
    lock(rel, false)
}

/// Small tables are not worth waiting for: most of their VACUUMs find something to give back, and those of busy ones
/// would all wait.
fn lock(rel: &Relation, wait: bool) -> bool {
    for _ in 0..LOCK_TIMEOUT / LOCK_INTERVAL {
        if try_lock(rel, pg_sys::AccessExclusiveLock) {
            return true;
        }
        if !wait {
            return false;
        }
        crate::memory::check_for_interrupts();
        vacuum::pause(LOCK_INTERVAL);
    }
    false
}

/// Where the file could end: behind it there are only free pages, row pages without a row, and pages that can be moved.
fn new_end(rel: &Relation, pages: u32, indexed: bool) -> u32 {
    let current = manifest::current(rel);
    if pages > 0 && holds_nothing(rel, &current, indexed) {
        return 0;
    }
    let mut free = current.free.ranges().clone();
    free.union(&current.retired_columnar());
    let of_manifest = manifest::stored(rel).extents;
    let of_manifest = of_manifest.iter().flat_map(|e| e.start..e.start + e.len);
    let movable: HashSet<u32> = map::walk(rel)
        .0
        .iter()
        .map(|link| link.page)
        .chain(of_manifest)
        .collect();
    let (mut end, mut moved) = (pages, 0);
    // Pages below `end` that are free.
    let mut room = free.len().saturating_sub(space::kept(&current));
    while end > 1 {
        crate::memory::check_for_interrupts();
        let last = end - 1;
        if free.contains(last) {
            if room <= moved {
                break;
            }
            room -= 1;
        } else if movable.contains(&last) {
            if room <= moved {
                break;
            }
            moved += 1;
        } else if !is_empty_row_page(rel, last) {
            break;
        }
        end = last;
    }
    end
}

/// Whether there is no row of any kind, and no index entry.
fn holds_nothing(rel: &Relation, manifest: &Manifest, indexed: bool) -> bool {
    let rows = |r: &amax_lsm::Retired| matches!(r.pages, RetiredPages::Rows(_));
    if manifest.rows() > 0 || manifest.retired.iter().any(rows) {
        return false;
    }
    let blocks = meta::logical_blocks(rel);
    if indexed && !lost::nowhere(rel, blocks).is_empty() {
        return false;
    }
    let unowned = manifest.unowned(blocks);
    let mut row_pages = unowned.blocks().filter_map(|v| map::physical(rel, v));
    row_pages.all(|p| is_empty_row_page(rel, p))
}

fn is_empty_row_page(rel: &Relation, p: u32) -> bool {
    let pin = Pin::read(rel, p);
    let lock = pin.share();
    !lock.is_ours() && is_empty(pin.page())
}

/// Takes the pages from `end` on out of the free pages and the page maps, and moves what is to be kept of them. False
/// when there was no room for the manifest below `end`: pages are as free as before then.
fn give_up(rel: &Relation, end: u32, pages: u32) -> bool {
    let (links, row_pages) = map::walk(rel);
    let mut voided = RangeSet::default();
    for p in row_pages.into_iter().filter(|&p| p >= end) {
        if let Some(v) = map::logical(rel, p) {
            map::forget(rel, v, p);
            voided.insert(v, v + 1);
        }
    }
    let moving: Vec<_> = links.iter().filter(|link| link.page >= end).collect();
    let mut tail = RangeSet::default();
    tail.insert(end, pages);
    let targets = manifest::publish(rel, |manifest| {
        manifest.free.remove(&tail);
        manifest.void.union(&voided);
        let room = manifest.free.take(manifest::pages_needed(manifest) + 1);
        let targets = manifest.free.take(moving.len() as u32);
        room.into_iter().for_each(|e| manifest.free.give(e));
        targets
    });
    if manifest::current(rel).free.ranges().end() > end {
        // The manifest before was stored there.
        manifest::publish(rel, |manifest| manifest.free.remove(&tail));
    }
    let targets: Vec<u32> = targets.iter().flat_map(|e| e.start..e.start + e.len).collect();
    if targets.len() < moving.len() || rel.physical_blocks() > pages {
        // Rare, and for a later VACUUM to find: what was free is lost.
        return false;
    }
    forget_file_everywhere(rel);
    for (link, to) in moving.into_iter().zip(targets) {
        map::relocate(rel, link, to);
    }
    forget_file(rel);
    true
}
