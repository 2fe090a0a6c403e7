//! What CLUSTER sorts a table by.

use super::relation::Relation;
use super::tupdesc::TupleDesc;
use super::tuple::Tuple;
use pgrx::pg_sys;
use std::ptr::null_mut;

/// A sort of heap tuples by an index (tuplesort.c). An error leaves it to its memory context.
pub struct Sort(*mut pg_sys::Tuplesortstate);

impl Sort {
    pub fn begin(desc: &TupleDesc, index: &Relation) -> Sort {
        // SAFETY: an open index; the descriptor outlives the sort.
        Sort(unsafe {
            let (memory, options) = (pg_sys::maintenance_work_mem, pg_sys::TUPLESORT_NONE as i32);
            pg_sys::tuplesort_begin_cluster(desc.raw(), index.raw(), memory, null_mut(), options)
        })
    }

    /// It is copied.
    pub fn put(&self, tuple: &mut Tuple) {
        // SAFETY: a whole tuple.
        unsafe { pg_sys::tuplesort_putheaptuple(self.0, tuple.raw()) }
    }

    /// Hands out the tuples in order.
    pub fn drain(self, mut f: impl FnMut(&mut Tuple)) {
        // SAFETY: a sort that has begun; each tuple stays until the next is asked for.
        unsafe {
            pg_sys::tuplesort_performsort(self.0);
            while let Some(tuple) = pg_sys::tuplesort_getheaptuple(self.0, true).as_ref() {
                f(&mut Tuple::of(*tuple));
            }
            pg_sys::tuplesort_end(self.0);
        }
    }
}
