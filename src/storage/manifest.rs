//! Reading the manifest, and replacing it by one change of the metapage (invariant S5).

use super::buffer::{Change, Kind, word};
use super::damage::corrupt;
use super::meta::BLOCK as META;
use super::{blob, cache, hand, meta};
use crate::pg::{Pin, Relation, xid};
use amax_lsm::{Blob, Component, Damaged, Directory, FreeSpace, Manifest, meta as layout};
use pgrx::prelude::*;
use std::rc::Rc;

/// The current manifest.
pub fn current(rel: &Relation) -> Rc<Manifest> {
    current_and(rel, |_| ()).0
}

/// The same, with what `also` finds in the metapage, if there is one.
pub fn current_and<R>(rel: &Relation, also: impl FnOnce(&[u8]) -> R) -> (Rc<Manifest>, Option<R>) {
    // The metapage's lock keeps the manifest from being replaced while it is read: VACUUM has no snapshot that would
    // hold its pages.
    meta::read(rel, |page| (of_metapage(rel, page), Some(also(page)))).unwrap_or_default()
}

/// The same if it is what this backend remembers, by a look at the metapage that needs no lock.
pub fn known(rel: &Relation, metapage: &Pin) -> Option<Rc<Manifest>> {
    // The lower half of the number: it does not come round while a backend remembers a manifest.
    let sequence = word(metapage, layout::SEQUENCE);
    cache::with(rel, |c| match &c.manifest {
        Some((s, manifest)) if *s as u32 == sequence => Some(manifest.clone()),
        _ => None,
    })
}

/// The same, given the metapage.
pub fn of_pinned(rel: &Relation, metapage: &Pin) -> Rc<Manifest> {
    meta::read_pinned(rel, metapage, |page| of_metapage(rel, page))
}

fn of_metapage(rel: &Relation, page: &[u8]) -> Rc<Manifest> {
    let sequence = layout::sequence(page);
    if let Some(known) = cache::with(rel, |c| match &c.manifest {
        Some((s, manifest)) if *s == sequence => Some(manifest.clone()),
        _ => None,
    }) {
        return known;
    }
    let manifest = Rc::new(load(rel, page));
    cache::with(rel, |c| {
        c.directories
            .retain(|id, _| manifest.components.iter().any(|m| m.id == *id));
        c.manifest = Some((sequence, manifest.clone()));
    });
    manifest
}

fn load(rel: &Relation, metapage: &[u8]) -> Manifest {
    layout::manifest(metapage)
        .and_then(|pointer| {
            if pointer.len == 0 {
                Ok(Manifest::default())
            } else {
                Manifest::decode(&blob::read_all(rel, &pointer), layout::version(metapage))
            }
        })
        .unwrap_or_else(|damage| corrupt(rel, META, &format!("manifest: {damage}")))
}

/// What was being read of a component may be something else by now: the component has been replaced, and its pages
/// given to others. So it is on a standby only, whose snapshots keep no page of the primary's from being used again;
/// see [`confirm`].
#[derive(Debug)]
pub struct Replaced;

/// Whether our transaction began on a standby. It may be none any more, but what the transaction holds was read when it
/// was.
pub fn on_standby() -> bool {
    xid::began_on_standby()
}

/// Called after something was read of a component: it was right if the component is still there, since its pages are
/// given up by the very change that replaces it, and replay makes changes one after the other.
pub fn confirm(rel: &Relation, component: u64) -> Result<(), Replaced> {
    let there = || current(rel).components.iter().any(|known| known.id == component);
    if !on_standby() || there() {
        Ok(())
    } else {
        Err(Replaced)
    }
}

/// Reads a page that a map leads to, and that may be given up for something else: on a standby that can happen between
/// the look at the map and the look at the page. Giving a page to others takes several changes of the manifest, so what
/// was read without one in between is right; `f` says None of a page that is not what it should be.
pub fn read_stable<R>(rel: &Relation, f: impl Fn() -> Option<R>) -> Option<R> {
    if !on_standby() {
        return f();
    }
    let changes = || meta::read(rel, layout::sequence);
    loop {
        let before = changes();
        let result = f();
        if changes() == before {
            return result;
        }
        crate::memory::check_for_interrupts();
    }
}

/// The same for who cannot look again.
pub fn cancel_replaced() -> ! {
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        "canceling statement due to conflict with recovery",
        "A component that the query was reading has been merged into another."
    );
}

/// Changes the manifest: `f` gets the newest one under the metapage's lock, so changes by different backends do not
/// lose each other. The old manifest's pages are free then: it is only read under the metapage's lock.
pub fn publish<R>(rel: &Relation, f: impl FnOnce(&mut Manifest) -> R) -> R {
    publish_if(rel, |_| true, f).expect("there is no condition")
}

/// Hands out `count` fresh logical blocks in a row to a load into a table with unique keys, and notes in the same change
/// whose they are: a check that an index entry leads there has to wait for that transaction. Returns the first.
pub fn reserve_for_load(rel: &Relation, xid: u64, count: u32) -> u32 {
    let reserve = |page: &mut [u8], manifest: &mut Manifest| {
        let first = meta::hand_out(rel, page, count);
        manifest.load(xid, first, first + count, |xid| xid::in_progress(xid).is_some());
        first
    };
    publish_with(rel, |_| true, reserve).expect("there is no condition")
}

/// The same if the metapage is as `holds` says.
pub fn publish_if<R>(
    rel: &Relation,
    holds: impl FnOnce(&[u8]) -> bool,
    f: impl FnOnce(&mut Manifest) -> R,
) -> Option<R> {
    publish_with(rel, holds, |_, manifest| f(manifest))
}

/// The same with the rest of the metapage to be changed, too.
fn publish_with<R>(
    rel: &Relation,
    holds: impl FnOnce(&[u8]) -> bool,
    f: impl FnOnce(&mut [u8], &mut Manifest) -> R,
) -> Option<R> {
    meta::ensure(rel);
    let mut change = Change::begin(rel);
    let page = change.page(META, Kind::Meta);
    if !holds(change.payload(page)) {
        return None;
    }
    crate::fault::fault("manifest_locked");
    let old = layout::manifest(change.payload(page));
    let mut manifest = load(rel, change.payload(page));
    manifest.stamp(xid::next_full());
    let result = f(change.payload_mut(page), &mut manifest);
    // Pages for the new one come out of its own free space, but not those of the old one, which is to be found after a
    // crash: take them before writing down what is left. If they are scattered, the metapage has no room for all of
    // their places: those appended lie in a row.
    let pages = pages_needed(&manifest);
    let taken = manifest.free.take_few(pages, layout::MAX_EXTENTS / 2);
    let mut reserved = FreeSpace::default();
    taken.into_iter().for_each(|extent| reserved.give(extent));
    for extent in old.expect("loaded above").extents {
        manifest.free.give(extent);
    }
    manifest.trust_free();
    let mut blob = blob::write(rel, &mut reserved, &manifest.encode());
    // A page taken in vain stays with this manifest and is free when it goes.
    blob.extents.extend(reserved.take(u32::MAX));
    if !layout::set_manifest(change.payload_mut(page), &blob) {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("manifest of relation \"{}\" is too large or too scattered", rel.name())
        );
    }
    change.commit();
    hand::empty();
    Some(result)
}

/// Pages that writing this manifest down may take, with the pages of the one before among the free ones.
pub fn pages_needed(manifest: &Manifest) -> u32 {
    let old = layout::MAX_EXTENTS * 10;
    (manifest.encode().len() + old).div_ceil(super::buffer::PAYLOAD) as u32
}

/// Takes the free pages, but for those that `kept` says, for somebody under the maintenance lock to write to; what is
/// left is given back when that is published. An error in between leaves them to VACUUM's search for lost pages (but
/// see `hand`).
pub fn take_free(rel: &Relation, kept: fn(&Manifest) -> u64) -> FreeSpace {
    let manifest = current(rel);
    if manifest.free.pages() <= kept(&manifest) {
        return FreeSpace::default();
    }
    let taken = publish(rel, |manifest| {
        let kept = manifest.free.take(kept(manifest) as u32);
        let taken = std::mem::take(&mut manifest.free);
        kept.into_iter().for_each(|e| manifest.free.give(e));
        taken
    });
    hand::take(&taken);
    taken
}

/// The same of those below `end`, but for `kept` of them.
pub fn take_free_below(rel: &Relation, end: u32, kept: u32) -> FreeSpace {
    let taken = publish(rel, |manifest| manifest.free.take_below(end, kept));
    hand::take(&taken);
    taken
}

/// The pages that the manifest is stored in.
pub fn stored(rel: &Relation) -> Blob {
    let stored = meta::read(rel, layout::manifest).and_then(Result::ok);
    stored.unwrap_or_default()
}

/// Makes known since when what was given up is of no use to new snapshots, so that a reclaim may find it due.
pub fn stamp(rel: &Relation) {
    if current(rel).wants_stamp() {
        publish(rel, |_| ());
    }
}

/// The directory of a component.
pub fn directory(rel: &Relation, component: &Component) -> Rc<Directory> {
    read_directory(rel, component).unwrap_or_else(|Replaced| cancel_replaced())
}

/// The same for who can look again.
pub fn read_directory(rel: &Relation, component: &Component) -> Result<Rc<Directory>, Replaced> {
    if let Some(known) = cache::with(rel, |c| c.directories.get(&component.id).cloned()) {
        return Ok(known);
    }
    let blob = &component.directory;
    let directory = read_blob(rel, component.id, blob, "directory", Directory::decode)?;
    let directory = Rc::new(directory);
    cache::with(rel, |c| c.directories.insert(component.id, directory.clone()));
    Ok(directory)
}

/// Reads something of a component, `what`, that has a checksum.
pub fn read_blob<R>(
    rel: &Relation,
    component: u64,
    blob: &Blob,
    what: &str,
    decode: impl FnOnce(&[u8]) -> Result<R, Damaged>,
) -> Result<R, Replaced> {
    let decoded = decode(&blob::read_checked(rel, blob, 0, blob.len as usize));
    confirm(rel, component)?;
    Ok(decoded.unwrap_or_else(|damage| {
        let block = blob.page(0).unwrap_or(0);
        corrupt(rel, block, &format!("{what} of component {component}: {damage}"))
    }))
}
