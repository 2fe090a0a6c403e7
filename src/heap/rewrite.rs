//! Heap's rewrite module (rewriteheap.c), which writes row versions to a new file along with their update chains.

use crate::disguise::size::Physical;
use crate::pg::{Relation, Tuple};
use pgrx::pg_sys;

pub struct Rewrite(pg_sys::RewriteState);

impl Rewrite {
    /// Both relations have to outlive it. An error leaves it to its memory context.
    pub fn begin(
        old: &Relation,
        new: &Relation,
        oldest_xmin: pg_sys::TransactionId,
        xid: pg_sys::TransactionId,
        multi: pg_sys::MultiXactId,
    ) -> Rewrite {
        let _size = Physical::enter();
        // SAFETY: open relations.
        Rewrite(unsafe { pg_sys::begin_heap_rewrite(old.raw(), new.raw(), oldest_xmin, xid, multi) })
    }

    /// Writes `new`, formed of `old`.
    pub fn add(&self, old: &mut Tuple, new: &mut Tuple) {
        // SAFETY: whole tuples, and a rewrite that has begun.
        unsafe { pg_sys::rewrite_heap_tuple(self.0, old.raw(), new.raw()) }
    }

    pub fn end(self) {
        // SAFETY: a rewrite that has begun.
        unsafe { pg_sys::end_heap_rewrite(self.0) }
    }
}
