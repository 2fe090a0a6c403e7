//! A table of heap's: heap's build of an index refuses others.

use super::size::{Logical, Physical};
use crate::pg::Relation;
use pgrx::pg_sys;

/// The callbacks that a relation has.
#[derive(Clone, Copy)]
pub struct Routine(*const pg_sys::TableAmRoutine);

impl Routine {
    pub fn of(rel: &Relation) -> Routine {
        // SAFETY: a field of our relcache entry.
        Routine(unsafe { (*rel.raw()).rd_tableam })
    }

    fn give(self, rel: &Relation) {
        // SAFETY: a field of our relcache entry, and callbacks that are never changed.
        unsafe { (*rel.raw()).rd_tableam = self.0 }
    }
}

/// While this lives, the relation is heap's, and its size physical.
pub struct AsHeap<'a> {
    rel: &'a Relation,
    own: Routine,
    _size: Physical,
}

impl<'a> AsHeap<'a> {
    pub fn enter(rel: &'a Relation) -> AsHeap<'a> {
        let own = Routine::of(rel);
        // SAFETY: heap's callbacks, which are always there.
        Routine(unsafe { pg_sys::GetHeapamTableAmRoutine() }).give(rel);
        AsHeap {
            rel,
            own,
            _size: Physical::enter(),
        }
    }
}

impl Drop for AsHeap<'_> {
    fn drop(&mut self) {
        self.own.give(self.rel);
    }
}

/// While this lives, a relation that is [`AsHeap`] is itself again, for what heap calls back: that may run anything, which
/// has the relation opened and built anew.
pub struct AsItself<'a> {
    rel: &'a Relation,
    heap: Routine,
    _size: Logical,
}

impl<'a> AsItself<'a> {
    pub fn enter(rel: &'a Relation, own: Routine) -> AsItself<'a> {
        let heap = Routine::of(rel);
        own.give(rel);
        AsItself {
            rel,
            heap,
            _size: Logical::enter(),
        }
    }
}

impl Drop for AsItself<'_> {
    fn drop(&mut self) {
        self.heap.give(self.rel);
    }
}
