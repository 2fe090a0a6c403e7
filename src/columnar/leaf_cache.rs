//! The leaves that a session keeps open, for as long as the byte bound of the decode cache allows. What a slot or a
//! scan holds stays valid when the cache lets go of it.

use super::leaf::{OpenLeaf, Place};
use super::shared;
use crate::guc;
use crate::hash::QuickMap;
use crate::pg::Relation;
use crate::storage::cache;
use crate::storage::manifest::Replaced;
use amax_format::forget_blocks;
use amax_lsm::Component;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Default)]
struct Cache {
    leaves: QuickMap<Place, Cached>,
    /// Uses so far.
    clock: u64,
}

struct Cached {
    leaf: Rc<OpenLeaf>,
    /// Its last one.
    used: u64,
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

fn with<R>(f: impl FnOnce(&mut Cache) -> R) -> R {
    CACHE.with(|cache| f(&mut cache.borrow_mut()))
}

impl Cache {
    fn held(&self) -> usize {
        self.leaves.values().map(|c| c.leaf.bytes()).sum()
    }
}

/// Another use, of a leaf whose last one was this. Blocks of strings are worth keeping for the next row only, and there may
/// be many leaves.
fn turn_to(clock: &mut u64, used: Option<u64>) {
    if used != Some(*clock) {
        forget_blocks();
    }
    *clock += 1;
}

/// Leaf `at` of a component.
pub fn open(rel: &Relation, component: &Component, at: usize) -> Result<Rc<OpenLeaf>, Replaced> {
    let place = (rel.file(), component.id, at);
    if let Some(leaf) = find(place) {
        return Ok(leaf);
    }
    drop_stale();
    let leaf = Rc::new(OpenLeaf::of(rel, component, place)?);
    keep(&leaf);
    Ok(leaf)
}

/// An open leaf.
fn find(place: Place) -> Option<Rc<OpenLeaf>> {
    with(|cache| {
        let Cache { leaves, clock } = cache;
        let cached = leaves.get_mut(&place)?;
        turn_to(clock, Some(cached.used));
        cached.used = *clock;
        Some(cached.leaf.clone())
    })
}

/// Keeps a leaf that has been opened, in place of those that have not been used for longest.
fn keep(leaf: &Rc<OpenLeaf>) {
    with(|cache| {
        turn_to(&mut cache.clock, None);
        let bound = guc::decode_cache_bytes();
        let mut held = cache.held();
        while held > bound {
            let oldest = cache.leaves.iter().min_by_key(|(_, cached)| cached.used);
            let Some((&place, _)) = oldest else {
                break;
            };
            let gone = cache.leaves.remove(&place);
            held -= gone.map_or(0, |cached| cached.leaf.bytes());
        }
        let cached = Cached {
            leaf: leaf.clone(),
            used: cache.clock,
        };
        cache.leaves.insert(leaf.place(), cached);
    });
}

/// Lets go of a leaf that will not be read again.
pub fn close(leaf: &OpenLeaf) {
    with(|cache| cache.leaves.remove(&leaf.place()));
}

/// Drops what is in shared memory that others have given up. Scans do so as they begin.
pub fn drop_stale() {
    let gone = shared::drop_stale();
    with(|cache| cache.leaves.retain(|_, c| c.leaf.segment() > gone));
}

/// Drops the leaves of some relations.
fn forget(of: impl Fn(pg_sys::Oid) -> bool) {
    with(|cache| cache.leaves.retain(|_, c| !of(c.leaf.relid)));
}

/// Whether so many bytes more need no leaf to go.
pub fn has_room(bytes: usize) -> bool {
    with(|cache| cache.held()) + bytes < guc::decode_cache_bytes()
}

/// See [`cache::invalidate`].
pub fn invalidate(relid: pg_sys::Oid) {
    cache::invalidate(relid);
    forget(|leaf_of| relid == pg_sys::InvalidOid || leaf_of == relid);
}

/// `cache::forget()`, of the leaves as well: nothing remembered of the file holds.
pub fn forget_file(rel: &Relation) {
    cache::forget(rel);
    let relid = rel.id();
    forget(|leaf_of| leaf_of == relid);
}

/// `cache::forget_everywhere()`, of the leaves as well.
pub fn forget_file_everywhere(rel: &Relation) {
    cache::forget_everywhere(rel);
    forget_file(rel);
}
