//! Block 0. An empty main fork is a valid empty table: the metapage comes with the first row.

use super::buffer::{Change, Kind};
use super::cache;
use super::damage::corrupt;
use super::rowpage::was_written;
use crate::fault::fault;
use crate::pg::lock::Extension;
use crate::pg::{Pin, Relation, random};
use amax_lsm::meta;
use pgrx::pg_sys;
use pgrx::prelude::*;

pub const BLOCK: u32 = 0;

/// Reads the metapage under its share lock; None when the relation is still empty.
pub fn read<R>(rel: &Relation, f: impl FnOnce(&[u8]) -> R) -> Option<R> {
    Some(read_pinned(rel, &pinned(rel)?, f))
}

/// The metapage; None when the relation is still empty.
pub fn pinned(rel: &Relation) -> Option<Pin> {
    exists(rel).then(|| Pin::read(rel, BLOCK))
}

/// Reads it under its share lock.
pub fn read_pinned<R>(rel: &Relation, pin: &Pin, f: impl FnOnce(&[u8]) -> R) -> R {
    let lock = pin.share();
    // Another version's page need not have its checksum where ours has.
    if let Err(damage) = meta::check(lock.tagged(rel, Kind::Meta)) {
        corrupt(rel, BLOCK, &damage.to_string());
    }
    f(lock.payload(rel, Kind::Meta))
}

/// Logical blocks handed out so far.
pub fn logical_blocks(rel: &Relation) -> u32 {
    read(rel, meta::blocks).unwrap_or(0)
}

/// What tells the rows that the file holds from those of another table, or of the same one before it was emptied, if somebody has asked
/// for it: within it a TID of a columnar row is one row's.
pub fn incarnation(rel: &Relation) -> Option<u128> {
    read(rel, meta::incarnation).flatten()
}

/// The same, from now on.
pub fn give_incarnation(rel: &Relation) -> u128 {
    if let Some(known) = incarnation(rel) {
        return known;
    }
    ensure(rel);
    let new = random::number();
    let mut change = Change::begin(rel);
    let page = change.page(BLOCK, Kind::Meta);
    let page = change.payload_mut(page);
    let given = meta::incarnation(page).unwrap_or_else(|| {
        meta::set_incarnation(page, new);
        new
    });
    change.commit();
    given
}

/// Whether there is a metapage. Once there, it stays as long as the file. A crash may leave its block, but not what was
/// to be on it; then there is nothing on any other block either, since what is written to the file was logged after the
/// metapage.
fn exists(rel: &Relation) -> bool {
    if cache::with(rel, |c| c.has_metapage) {
        return true;
    }
    // Without the page's lock: who has that may be waiting for the extension lock, which our caller may have. A page
    // that is no longer new is complete once it can be locked.
    let is_there = || !Pin::read(rel, BLOCK).page().is_new();
    let blocks = rel.physical_blocks();
    let exists = blocks > 0 && is_there();
    if blocks > 1
        && !exists
        && let Some(used) = first_used(rel, blocks)
    {
        // Or made meanwhile.
        if !is_there() {
            let detail = format!("The metapage is empty, but block {used} is in use.");
            corrupt(rel, BLOCK, &detail);
        }
    }
    cache::with(rel, |c| c.has_metapage = exists);
    exists
}

/// The first block, of those behind the metapage's, that something was ever written to.
fn first_used(rel: &Relation, blocks: u32) -> Option<u32> {
    let known = cache::with(rel, |c| c.unused.min(blocks)).max(BLOCK + 1);
    let used = (known..blocks).find(|&block| {
        crate::memory::check_for_interrupts();
        was_written(Pin::read(rel, block).page())
    });
    cache::with(rel, |c| c.unused = used.unwrap_or(blocks));
    used
}

/// Creates the metapage if there is none.
pub fn ensure(rel: &Relation) {
    if exists(rel) {
        return;
    }
    fault("meta_missed");
    let lock = Extension::take(rel);
    if exists(rel) {
        return;
    }
    let mut change = Change::begin(rel);
    let page = if rel.physical_blocks() > 0 {
        change.format(Pin::read(rel, BLOCK).lock(), Kind::Meta)
    } else {
        // Change::append would take the extension lock again, which is harmless: heavyweight locks are reentrant.
        change.append(Kind::Meta).0
    };
    meta::init(change.payload_mut(page));
    change.commit();
    drop(lock);
}

/// Hands out `count` fresh logical blocks in a row; returns the first. A crash or rollback leaves a gap: never a reuse.
pub fn reserve(rel: &Relation, count: u32) -> u32 {
    ensure(rel);
    let mut change = Change::begin(rel);
    let page = change.page(BLOCK, Kind::Meta);
    let first = hand_out(rel, change.payload_mut(page), count);
    change.commit();
    first
}

/// The same on a metapage that is being changed.
pub fn hand_out(rel: &Relation, page: &mut [u8], count: u32) -> u32 {
    let first = meta::blocks(page);
    let Some(next) = first.checked_add(count).filter(|&n| n < pg_sys::InvalidBlockNumber) else {
        out_of_blocks(rel)
    };
    meta::set_blocks(page, next);
    first
}

pub fn out_of_blocks(rel: &Relation) -> ! {
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("relation \"{}\" has no logical block numbers left", rel.name()),
        "Block numbers are not reused while a table keeps its file; VACUUM FULL starts again from zero."
    );
}
