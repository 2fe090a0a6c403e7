//! The leaves that a session keeps open, for as long as the byte bound of the decode cache allows. What a slot or a
//! scan holds stays valid when the cache lets go of it.

use super::leaf::{OpenLeaf, Place};
use super::shared;
use crate::guc;
use crate::hash::{Quick, QuickMap};
use crate::pg::shm::sessions;
use crate::pg::{Relation, relation::FileId};
use crate::storage::cache;
use crate::storage::manifest::Replaced;
use amax_format::forget_blocks;
use amax_lsm::Component;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::hash::Hasher;
use std::rc::Rc;

#[derive(Default)]
struct Cache {
    leaves: QuickMap<Place, Rc<OpenLeaf>>,
    /// Some of them, each the last one of some files: the next row that an index leads to is often in the same.
    last: [Option<Rc<OpenLeaf>>; LAST],
    /// Uses so far.
    clock: u64,
    /// Segments of shared memory that had been given up when it was last asked.
    gone: u64,
}

const LAST: usize = 8;
/// Sessions that may fill their caches with what they could do without.
const FEW: usize = 4;

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

fn with<R>(f: impl FnOnce(&mut Cache) -> R) -> R {
    CACHE.with(|cache| f(&mut cache.borrow_mut()))
}

impl Cache {
    fn held(&self) -> usize {
        self.leaves.values().map(|leaf| leaf.bytes()).sum()
    }

    fn last(&mut self, file: FileId) -> &mut Option<Rc<OpenLeaf>> {
        &mut self.last[file.2 as usize % LAST]
    }

    /// Another use of a leaf. Blocks of strings are worth keeping for the next row only, and there may be many leaves.
    fn turn_to(&mut self, leaf: &OpenLeaf) {
        if leaf.used.get() != self.clock {
            forget_blocks();
        }
        self.clock += 1;
        leaf.used.set(self.clock);
    }

    /// One of the leaves, another one each time.
    fn any(&self) -> Option<Place> {
        let n = self.leaves.len();
        let mut number = Quick::default();
        number.write_u64(self.clock ^ n as u64);
        self.leaves.keys().nth(number.finish() as usize % n.max(1)).copied()
    }

    /// Lets go of leaves.
    fn retain(&mut self, keep: impl Fn(&OpenLeaf) -> bool) {
        self.last = Default::default();
        self.leaves.retain(|_, leaf| keep(leaf));
    }
}

/// The open leaf with block `v` of a component, if it is where a row of the file was found last.
pub fn find_last(rel: &Relation, component: &Component, v: u32) -> Option<Rc<OpenLeaf>> {
    let file = rel.file();
    with(|cache| {
        let last = cache.last(file).as_ref();
        let leaf = last.filter(|leaf| leaf.place().0 == file && leaf.place().1 == component.id && leaf.has_block(v))?;
        let leaf = leaf.clone();
        cache.turn_to(&leaf);
        Some(leaf)
    })
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
pub(super) fn find(place: Place) -> Option<Rc<OpenLeaf>> {
    with(|cache| {
        let leaf = cache.leaves.get(&place)?.clone();
        cache.turn_to(&leaf);
        *cache.last(place.0) = Some(leaf.clone());
        Some(leaf)
    })
}

/// Keeps a leaf that has been opened, in place of any others: those that have not been used for longest would be just
/// those that a scan of more than there is room for comes to next time.
pub(super) fn keep(leaf: &Rc<OpenLeaf>) {
    with(|cache| {
        cache.turn_to(leaf);
        let bound = guc::decode_cache_bytes();
        let mut held = cache.held();
        while held > bound {
            let Some(place) = cache.any() else {
                break;
            };
            let gone = cache.leaves.remove(&place);
            held -= gone.map_or(0, |leaf| leaf.bytes());
        }
        cache.last = Default::default();
        cache.leaves.insert(leaf.place(), leaf.clone());
    });
}

/// Lets go of a leaf that will not be read again.
pub fn close(leaf: &OpenLeaf) {
    with(|cache| {
        cache.last = Default::default();
        cache.leaves.remove(&leaf.place())
    });
}

/// Drops what is in shared memory that others have given up. Scans do so as they begin.
pub fn drop_stale() {
    let gone = shared::drop_stale();
    with(|cache| {
        if std::mem::replace(&mut cache.gone, gone) != gone {
            cache.retain(|leaf| leaf.segment() > gone);
        }
    });
}

/// Whether there are any.
pub fn has_leaves() -> bool {
    with(|cache| !cache.leaves.is_empty())
}

/// Uses of leaves so far.
pub fn uses() -> u64 {
    with(|cache| cache.clock)
}

/// Lets go of all leaves.
pub fn give_back() {
    with(|cache| cache.retain(|_| false));
    forget_blocks();
}

/// Drops the leaves of some relations.
fn forget(of: impl Fn(pg_sys::Oid) -> bool) {
    with(|cache| cache.retain(|leaf| !of(leaf.relid)));
}

/// Whether so many bytes more need no leaf to go.
pub fn has_room(bytes: usize) -> bool {
    with(|cache| cache.held()) + bytes < guc::decode_cache_bytes()
}

/// The same for what can be done without: all sessions together have no more of that than [`FEW`] would.
pub fn has_room_to_spare(bytes: usize) -> bool {
    let share = guc::decode_cache_bytes() / sessions().div_ceil(FEW);
    with(|cache| cache.held()) + bytes < share
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
