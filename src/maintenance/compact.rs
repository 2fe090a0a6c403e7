//! Compaction: where much of a file is free, what lies behind moves into it, so that the end of the file can be given
//! back. Row pages come and go before the components that are made of them, and merges write behind what they read.
//!
//! Leaves move as they are, and the directory is written anew: a component with another id takes the place of the old
//! one, whose readers go on with its pages, which are retired like others.

use super::{reclaim, truncate};
use crate::columnar::write::Leaves;
use crate::counters::Written;
use crate::pg::{Pin, Relation, free_space, vacuum::delay_point};
use crate::storage::buffer::{Change, Kind};
use crate::storage::rowpage::is_empty;
use crate::storage::space;
use crate::storage::{blob, census, manifest, map};
use amax_lsm::{Blob, Component, Directory, Extent, FreeSpace, Manifest, RangeSet, RetiredPages};

/// A file of which more than this share is free is compacted.
const SPARE: u32 = 5;
/// So much more than what is in use the compacted file has room for: what comes next.
const ROOM: u32 = 8;

/// Moves what can be moved out of the file's end, if much of the file is free. The caller holds the maintenance lock, and
/// is the table's only VACUUM. Returns how many pages moved.
pub fn compact(rel: &Relation) -> u64 {
    if !has_spare(rel, 0) {
        return 0;
    }
    let current = manifest::current(rel);
    let mut rows = RowPages::of(rel, &current);
    let other = 1 + map::walk(rel).0.len() as u64;
    // Row pages that were flushed are of no use to anybody who comes from now on.
    let small = current.pages() < u64::from(truncate::MANY);
    let given_up = if small { current.retired_rows() } else { 0 };
    if !has_spare(rel, rows.used.len().saturating_sub(given_up) + other) {
        return 0;
    }
    take_back(rel, &rows.empty);
    if small && truncate::is_alone(rel) && reclaim::reclaim_all(rel) > 0 {
        rows = RowPages::of(rel, &manifest::current(rel));
    }
    let used = (current.pages() + space::kept(&current) + rows.used.len() + other) as u32;
    let end = (used + used / ROOM).max(rows.used.end());
    move_down(rel, end)
}

/// Whether the table has components, and much of the file is free, if so many pages are of use beside theirs and the
/// reserve.
pub fn has_spare(rel: &Relation, others: u64) -> bool {
    let (pages, manifest) = (rel.physical_blocks(), manifest::current(rel));
    let used = manifest.pages() + space::kept(&manifest) + others;
    let spare = u64::from(pages).saturating_sub(used);
    manifest.pages() > 0 && spare > u64::from(pages / SPARE)
}

/// Physical pages of rows, and others that have to stay where they are.
struct RowPages {
    used: RangeSet,
    empty: Vec<u32>,
}

impl RowPages {
    fn of(rel: &Relation, manifest: &Manifest) -> RowPages {
        let mut found = RowPages {
            used: RangeSet::default(),
            empty: Vec::new(),
        };
        // Those without a logical block are nowhere noted, nor are pages that somebody has in hand.
        let census = census::take(rel, manifest, rel.physical_blocks());
        let unknown: Vec<u32> = census.unknown().collect();
        for p in map::walk(rel).1.into_iter().chain(unknown) {
            delay_point();
            let pin = Pin::read(rel, p);
            let lock = pin.share();
            if !lock.is_ours() && is_empty(pin.page()) {
                found.empty.push(p);
            } else {
                found.used.insert(p, p + 1);
            }
        }
        found
    }
}

/// Makes free pages of row pages without rows, but for those that somebody has pinned. Blocks that they had are void: an
/// empty page has no index entries.
fn take_back(rel: &Relation, empty: &[u32]) {
    let mut free = FreeSpace::default();
    let mut voided = RangeSet::default();
    for &p in empty {
        delay_point();
        let pin = Pin::read(rel, p);
        let Some(lock) = pin.try_cleanup() else {
            continue;
        };
        if lock.is_ours() || pin.page().is_new() || !is_empty(pin.page()) {
            continue;
        }
        if let Some(v) = map::logical(rel, p) {
            map::forget(rel, v, p);
            voided.insert(v, v + 1);
        }
        super::fault("compact_unmapped");
        // As a whole: not all that was done to a page without rows need have been logged (hio.c).
        lock.keep();
        let mut change = Change::begin(rel);
        change.format(pin.locked(), Kind::Blob);
        change.commit();
        free_space::record(rel, p, 0);
        free.give(Extent { start: p, len: 1 });
    }
    super::fault("compact_emptied");
    if free.pages() > 0 {
        manifest::publish(rel, |manifest| {
            manifest.free.give_all(&free);
            manifest.void.union(&voided);
        });
    }
}

/// Moves the parts of settled components that lie behind `end` to free pages before it, as far as there are.
fn move_down(rel: &Relation, end: u32) -> u64 {
    let mut moved = 0;
    for component in &manifest::current(rel).components {
        let directory = manifest::directory(rel, component);
        let needed = needed(component, &directory, end);
        let current = manifest::current(rel);
        let mut behind = current.free.clone();
        let below = behind.take_below(end, 0).pages();
        // What is kept may be behind: what this moves out of is free before the end of the file goes.
        let kept = space::kept(&current).saturating_sub(behind.pages());
        if !component.is_settled() || needed == 0 || below < needed + kept {
            continue;
        }
        move_component(rel, component, &directory, end, kept as u32);
        moved += needed;
    }
    moved
}

/// Pages that moving this component takes.
fn needed(component: &Component, directory: &Directory, end: u32) -> u64 {
    let blobs = directory
        .leaves
        .iter()
        .flat_map(|leaf| std::iter::once(&leaf.image).chain(leaf.xids.blob()));
    let behind: u64 = blobs.filter(|blob| blob.end() > end).map(Blob::pages).sum();
    if behind > 0 || component.directory.end() > end {
        behind + component.directory.pages() + 1
    } else {
        0
    }
}

fn move_component(rel: &Relation, component: &Component, directory: &Directory, end: u32, kept: u32) {
    let free = manifest::take_free_below(rel, end, kept);
    let mut leaves = Leaves::new(Some(free));
    let mut given_up: Vec<Extent> = component.directory.extents.clone();
    for entry in &directory.leaves {
        delay_point();
        let mut entry = entry.clone();
        let blobs = std::iter::once(&mut entry.image).chain(entry.xids.blob_mut());
        for blob in blobs.filter(|blob| blob.end() > end) {
            let copy = leaves.write_bytes(rel, &blob::read_all(rel, blob));
            given_up.extend(std::mem::replace(blob, copy).extents);
        }
        leaves.add(entry);
        super::fault("compact_leaf");
    }
    let (mut moved, free, _) = leaves.finish(rel, Some(Written::Move), component.blocks.clone(), component.origin);
    super::fault("compact_written");
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&free);
        moved.rows = component.rows;
        manifest.replace(component.id, moved);
        manifest.retire(RetiredPages::Columnar(given_up));
    });
    super::fault("compact_published");
}
