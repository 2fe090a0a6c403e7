//! The table of a hash join (hashjoin.h), which PostgreSQL builds from the inner side before it asks for more than one row of the
//! outer side.

use super::state::HashJoinState;
use super::{Slot, TupleDesc};
use pgrx::prelude::*;

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
    /// Whether all its rows can be seen: before the join goes on to a second batch. One that workers share is there for a process as long as
    /// that probes its only batch.
    pub fn is_readable(&self) -> bool {
        self.0.curbatch == 0 && (self.0.parallel_state.is_null() || self.0.nbatch == 1)
    }

    pub fn rows(&self) -> f64 {
        self.0.totalTuples
    }

    /// Has each of its rows in a slot for minimal tuples, one after the other, and calls `see`.
    pub fn for_each(&self, slot: &Slot, mut see: impl FnMut()) {
        for bucket in 0..self.0.nbuckets as usize {
            // SAFETY: a table that is complete, which has such a bucket; its tuples stay.
            unsafe { self.for_each_from(self.first(bucket), slot, &mut see) };
        }
        // Those of values that the outer side has often, where there are several batches.
        for at in 0..self.0.nSkewBuckets as usize {
            // SAFETY: as above.
            unsafe {
                let number = *self.0.skewBucketNums.add(at) as usize;
                self.for_each_from((**self.0.skewBucket.add(number)).tuples, slot, &mut see);
            }
        }
        for batch in 1..self.0.nbatch as usize {
            // SAFETY: as above; a table of more than one batch has a file, or none, for each.
            unsafe { for_each_in(*self.0.innerBatchFile.add(batch), slot, &mut see) }
        }
        slot.clear();
    }

    /// Of a tuple and those behind it.
    ///
    /// # Safety
    /// A tuple of a complete table, or null.
    unsafe fn for_each_from(&self, mut tuple: *mut pg_sys::HashJoinTupleData, slot: &Slot, see: &mut impl FnMut()) {
        while !tuple.is_null() {
            // SAFETY: as the caller promises; HJTUPLE_MINTUPLE() (hashjoin.h).
            unsafe {
                let header = size_of::<pg_sys::HashJoinTupleData>().next_multiple_of(8);
                let content = (tuple as *mut u8).add(header) as pg_sys::MinimalTuple;
                pg_sys::ExecStoreMinimalTuple(content, slot.raw(), false);
                see();
                tuple = self.next(tuple);
            }
        }
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

/// Of the tuples of a batch that waits in a file, each behind its hash (ExecHashJoinSaveTuple() of nodeHashjoin.c). The file is at its end then, where
/// the join goes on writing; it reads it from the start.
///
/// # Safety
/// A file of a hash table's inner side, or null.
unsafe fn for_each_in(file: *mut pg_sys::BufFile, slot: &Slot, see: &mut impl FnMut()) {
    const HEADER: usize = 2 * size_of::<u32>();
    // SAFETY: as the caller promises.
    let read = |into: *mut u8, bytes: usize| unsafe { pg_sys::BufFileRead(file, into.cast(), bytes) };
    if file.is_null() {
        return;
    }
    // SAFETY: as above.
    if unsafe { pg_sys::BufFileSeek(file, 0, 0, 0) } != 0 {
        unreadable();
    }
    // Eight bytes each, as tuples are aligned. A tuple begins with its length.
    let mut tuple: Vec<u64> = Vec::new();
    let mut header = [0_u32; 2];
    loop {
        match read(header.as_mut_ptr().cast(), HEADER) {
            0 => break,
            HEADER => {}
            _ => unreadable(),
        }
        let len = header[1] as usize;
        if len < size_of::<pg_sys::MinimalTupleData>() {
            unreadable();
        }
        tuple.resize(len.div_ceil(8), 0);
        let start = tuple.as_mut_ptr().cast::<u8>();
        let rest = len - size_of::<u32>();
        // SAFETY: it has that many bytes, and the slot is done with it before it changes.
        unsafe {
            start.cast::<u32>().write(header[1]);
            if read(start.add(size_of::<u32>()), rest) != rest {
                unreadable();
            }
            pg_sys::ExecStoreMinimalTuple(start.cast(), slot.raw(), false);
        }
        see();
    }
    slot.clear();
}

fn unreadable() -> ! {
    pgrx::ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_IO_ERROR,
        "could not read from hash-join temporary file"
    );
}
