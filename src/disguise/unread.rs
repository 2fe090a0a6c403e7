//! A table as one that nobody has read.

use crate::pg::Relation;
use crate::pg::stats::count_inserts;
use pgrx::pg_sys;

/// No relation has it; pinned ones are catalogs.
const NOBODYS: pg_sys::Oid = pg_sys::Oid::from_u32(u32::MAX);

/// While this lives, the relation is one on which nobody can have a predicate lock.
pub struct Unread<'a> {
    rel: &'a Relation,
    id: pg_sys::Oid,
}

impl<'a> Unread<'a> {
    pub fn enter(rel: &'a Relation) -> Unread<'a> {
        // Statistics go by the entry that the relation has then.
        count_inserts(rel, 0);
        // SAFETY: a field of our relcache entry, which nothing else reads meanwhile.
        let id = unsafe { std::mem::replace(&mut (*rel.raw()).rd_id, NOBODYS) };
        Unread { rel, id }
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (*self.rel.raw()).rd_id = self.id }
    }
}
