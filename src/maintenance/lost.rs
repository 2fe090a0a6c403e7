//! What loads and flushes leave that fail before they publish: pages that nothing refers to, and logical blocks whose
//! rows nobody will ever find though index entries lead to them.
//!
//! A load in progress looks the same. So they are noted as suspects, and judged by a later VACUUM: once every
//! transaction that was under way has ended (a load has a transaction id before it takes either), what still nothing
//! refers to is free.

use crate::pg::horizon::removable;
use crate::pg::{Pin, Relation, free_space, vacuum::delay_point, xid};
use crate::storage::{census, manifest, map, meta};
use amax_lsm::meta as layout;
use amax_lsm::{Extent, Manifest, RangeSet, Suspects};
use pgrx::pg_sys;
use std::collections::HashSet;

/// Blocks that nobody has rows in and nobody will have: no index entry is right to lead there.
pub fn failed_blocks(rel: &Relation) -> RangeSet {
    let current = manifest::current(rel);
    match &current.suspects {
        Some(suspects) if removable(rel, suspects.safexid) => nowhere(rel, suspects.blocks),
        _ => RangeSet::default(),
    }
}

/// Blocks below `blocks` that hold no rows and are not known to be void.
pub fn nowhere(rel: &Relation, blocks: u32) -> RangeSet {
    let mut nowhere = RangeSet::default();
    for v in manifest::current(rel).unowned(blocks).blocks() {
        if map::physical(rel, v).is_none() {
            nowhere.insert(v, v + 1);
        }
    }
    // A block's page is given up only when the block has a component: those just flushed are seen here.
    let again = manifest::current(rel).unowned(blocks);
    let flushed = nowhere.difference(&again);
    nowhere.difference(&flushed)
}

/// Frees lost pages, notes that the blocks in `voided` have no index entries any more, and looks for new suspects. The
/// caller holds the maintenance lock. Returns the pages freed.
pub fn collect(rel: &Relation, voided: &RangeSet) -> u64 {
    let current = manifest::current(rel);
    let ripe = match &current.suspects {
        Some(suspects) if !removable(rel, suspects.safexid) => return 0,
        suspects => suspects.as_ref(),
    };
    // A census is right while the manifest stays; where loads change it all the time, a later VACUUM has more luck.
    for _ in 0..3 {
        let sequence = meta::read(rel, layout::sequence);
        let pages = rel.physical_blocks();
        let census = census::take(rel, &manifest::current(rel), pages);
        let is_lost = |&page: &u32| ripe.is_some_and(|s| s.pages.contains(page)) && is_ours(rel, page);
        let (mut lost, left): (Vec<u32>, Vec<u32>) = census.unknown().partition(is_lost);
        if !lost.is_empty() {
            // Or one of the stub directory by now.
            let linked: HashSet<u32> = map::walk(rel).0.iter().map(|link| link.page).collect();
            lost.retain(|page| !linked.contains(page));
        }
        let suspects = suspects(rel, &left, voided);
        if ripe.is_none() && suspects.is_none() && voided.is_empty() {
            return 0;
        }
        let unchanged = |meta: &[u8]| Some(layout::sequence(meta)) == sequence;
        let published = manifest::publish_if(rel, unchanged, |manifest: &mut Manifest| {
            for &start in &lost {
                manifest.free.give(Extent { start, len: 1 });
            }
            manifest.void.union(voided);
            manifest.suspects = suspects;
        });
        if published.is_some() {
            return lost.len() as u64;
        }
    }
    0
}

fn suspects(rel: &Relation, unknown: &[u32], voided: &RangeSet) -> Option<Suspects> {
    let mut pages = RangeSet::default();
    for &page in unknown {
        delay_point();
        if is_ours(rel, page) {
            pages.insert(page, page + 1);
        }
    }
    let blocks = meta::logical_blocks(rel);
    let failed = nowhere(rel, blocks).difference(voided);
    (!pages.is_empty() || !failed.is_empty()).then(|| Suspects {
        safexid: xid::next_full(),
        pages,
        blocks,
    })
}

/// Whether a page that nothing refers to was made by us. Others are new or empty row pages; after a crash the free
/// space map may not know of them (lazy_scan_new_or_empty() in vacuumlazy.c).
fn is_ours(rel: &Relation, page: u32) -> bool {
    let pin = Pin::read(rel, page);
    let lock = pin.share();
    if lock.is_ours() {
        return true;
    }
    let free = if pin.page().is_new() {
        pg_sys::BLCKSZ as usize - crate::storage::buffer::PAGE_HEADER
    } else {
        pin.page().heap_free_space()
    };
    drop(lock);
    if free_space::recorded(rel, page) == 0 {
        free_space::record(rel, page, free);
    }
    false
}
