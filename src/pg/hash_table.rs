//! The table of a hash join (hashjoin.h), which PostgreSQL builds from the inner side before it asks for more than one row of the
//! outer side.

use super::state::HashJoinState;
use super::{Slot, TupleDesc};
use pgrx::pg_sys;

/// Of a hash join that has built it.
pub struct HashTable<'a>(&'a pg_sys::HashJoinTableData);

impl HashJoinState {
    /// None as long as there is none.
    pub fn table(&self) -> Option<HashTable<'_>> {
        // SAFETY: a field of the struct, which changes only while the join runs.
        unsafe { (*self.raw()).hj_HashTable.as_ref() }.map(HashTable)
    }

    /// What its rows are made of.
    pub fn inner_desc(&self) -> &TupleDesc {
        // SAFETY: every hash join has that slot.
        unsafe { TupleDesc::of((*(*self.raw()).hj_HashTupleSlot).tts_tupleDescriptor) }
    }
}

impl HashTable<'_> {
    /// Whether all its rows are in memory. One that workers share is there for a process as long as that probes its only
    /// batch.
    pub fn is_whole(&self) -> bool {
        self.0.nbatch == 1 && (self.0.parallel_state.is_null() || self.0.curbatch == 0)
    }

    pub fn rows(&self) -> f64 {
        self.0.totalTuples
    }

    /// Has each of its rows in a slot for minimal tuples, one after the other, and calls `see`.
    pub fn for_each(&self, slot: &Slot, mut see: impl FnMut()) {
        for bucket in 0..self.0.nbuckets as usize {
            // SAFETY: a table that is complete, which has such a bucket; its tuples stay.
            unsafe {
                let mut tuple = self.first(bucket);
                while !tuple.is_null() {
                    // HJTUPLE_MINTUPLE() (hashjoin.h).
                    let header = size_of::<pg_sys::HashJoinTupleData>().next_multiple_of(8);
                    let content = (tuple as *mut u8).add(header) as pg_sys::MinimalTuple;
                    pg_sys::ExecStoreMinimalTuple(content, slot.raw(), false);
                    see();
                    tuple = self.next(tuple);
                }
            }
        }
        slot.clear();
    }

    /// The first tuple of a bucket, as ExecParallelHashFirstTuple() of nodeHash.c finds it in a table that workers share.
    ///
    /// # Safety
    /// A complete table that has such a bucket.
    unsafe fn first(&self, bucket: usize) -> *mut pg_sys::HashJoinTupleData {
        // SAFETY: as the caller promises. Nobody inserts while there is a process that probes.
        unsafe {
            match self.0.parallel_state.is_null() {
                true => *self.0.buckets.unshared.add(bucket),
                false => self.shared((*self.0.buckets.shared.add(bucket)).value),
            }
        }
    }

    /// The next one in its bucket.
    ///
    /// # Safety
    /// A tuple of the table.
    unsafe fn next(&self, tuple: *mut pg_sys::HashJoinTupleData) -> *mut pg_sys::HashJoinTupleData {
        // SAFETY: as the caller promises.
        unsafe {
            match self.0.parallel_state.is_null() {
                true => (*tuple).next.unshared,
                false => self.shared((*tuple).next.shared),
            }
        }
    }

    /// Where a tuple in the workers' shared memory is; null for none.
    ///
    /// # Safety
    /// A tuple of the table, which workers share.
    unsafe fn shared(&self, at: pg_sys::dsa_pointer) -> *mut pg_sys::HashJoinTupleData {
        // SAFETY: as the caller promises; the area is mapped while the table is.
        unsafe { pg_sys::dsa_get_address(self.0.area, at).cast() }
    }
}
