//! Slots (tuptable.h).

use super::handle::handle;
use super::tupdesc::TupleDesc;
use super::tuple::Tuple;
use super::values::Values;
use pgrx::pg_sys;
use std::ops::Deref;

handle! {
    /// A slot that its owner keeps.
    Slot, pg_sys::TupleTableSlot
}

impl Slot {
    pub fn desc(&self) -> &TupleDesc {
        // SAFETY: a slot in use has one.
        unsafe { TupleDesc::of((*self.raw()).tts_tupleDescriptor) }
    }

    /// Attribute `at`, counted from 0 (slot_getattr()).
    pub fn value(&self, at: usize) -> (pg_sys::Datum, bool) {
        assert!(at < self.desc().natts());
        // SAFETY: a slot with a row; its arrays have room for all attributes.
        unsafe {
            let slot = self.raw();
            if usize::from((*slot).tts_nvalid as u16) <= at {
                pg_sys::slot_getsomeattrs_int(slot, at as i32 + 1);
            }
            (*(*slot).tts_values.add(at), *(*slot).tts_isnull.add(at))
        }
    }

    /// All attributes (slot_getallattrs()).
    pub fn values(&self) -> Values<'_> {
        let natts = self.desc().natts();
        // SAFETY: a slot with a row; its arrays have room for all attributes. They stay until the owner changes the slot.
        unsafe {
            let slot = self.raw();
            if usize::from((*slot).tts_nvalid as u16) < natts {
                pg_sys::slot_getsomeattrs_int(slot, natts as i32);
            }
            Values::of((*slot).tts_values, (*slot).tts_isnull, natts)
        }
    }

    pub fn tid(&self) -> pg_sys::ItemPointerData {
        // SAFETY: a field.
        unsafe { (*self.raw()).tts_tid }
    }

    pub fn set_tid(&self, tid: pg_sys::ItemPointerData) {
        // SAFETY: a field.
        unsafe { (*self.raw()).tts_tid = tid }
    }

    pub fn set_table(&self, table: pg_sys::Oid) {
        // SAFETY: a field.
        unsafe { (*self.raw()).tts_tableOid = table }
    }

    /// ExecClearTuple().
    pub fn clear(&self) {
        if !self.is_empty() {
            // SAFETY: a live slot.
            unsafe { super::executor::clear_slot(self.raw()) }
        }
    }

    #[inline]
    fn has(&self, flag: u32) -> bool {
        // SAFETY: a field.
        unsafe { (*self.raw()).tts_flags & flag as u16 != 0 }
    }

    /// Whether it has no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.has(pg_sys::TTS_FLAG_EMPTY)
    }

    /// Has a virtual slot have a row whose attributes are set one by one (ExecStoreVirtualTuple(), of which little is to do
    /// unless the last row was materialized).
    #[inline]
    pub fn begin_row(&self) {
        if self.has(pg_sys::TTS_FLAG_SHOULDFREE) {
            self.clear();
        }
        // SAFETY: fields.
        unsafe {
            (*self.raw()).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
            (*self.raw()).tts_nvalid = (*(*self.raw()).tts_tupleDescriptor).natts as i16;
        }
    }

    /// Sets attribute `at`, counted from 0, of such a row.
    #[inline]
    pub fn set(&self, at: usize, (value, null): (pg_sys::Datum, bool)) {
        assert!(at < self.desc().natts());
        // SAFETY: its arrays have room for all attributes.
        unsafe {
            *(*self.raw()).tts_values.add(at) = value;
            *(*self.raw()).tts_isnull.add(at) = null;
        }
    }

    /// Stores a row of nulls that has this TID (ExecStoreAllNullTuple()).
    pub fn store_nulls(&self, tid: pg_sys::ItemPointerData, table: pg_sys::Oid) {
        // SAFETY: a live slot.
        unsafe { pg_sys::ExecStoreAllNullTuple(self.raw()) };
        self.set_tid(tid);
        self.set_table(table);
    }

    /// The row as a heap tuple, the slot's or a copy, without making the slot's its own (ExecFetchSlotHeapTuple()).
    pub fn formed(&self) -> Tuple<'_> {
        // SAFETY: a slot with a row; what it returns is whole, and stays at least as long as the row.
        unsafe { Tuple::of(*pg_sys::ExecFetchSlotHeapTuple(self.raw(), false, std::ptr::null_mut())) }
    }

    /// Runs `f` with the row as a heap tuple of this table, which may be the slot's own: the TID that `f` gives it stays.
    pub fn with_tuple<R>(&self, table: pg_sys::Oid, f: impl FnOnce(&mut Tuple) -> R) -> R {
        let mut copied = true;
        self.set_table(table);
        // SAFETY: a slot with a row; what it returns is whole, and ours if it is a copy.
        unsafe {
            let of_slot = pg_sys::ExecFetchSlotHeapTuple(self.raw(), true, &mut copied);
            (*of_slot).t_tableOid = table;
            let mut tuple = Tuple::of(*of_slot);
            let result = f(&mut tuple);
            (*of_slot).t_self = *tuple.tid();
            if copied {
                pg_sys::pfree(of_slot.cast());
            }
            result
        }
    }
}

/// A slot of our own, dropped with this.
pub struct Single(*mut pg_sys::TupleTableSlot);

impl Single {
    /// MakeSingleTupleTableSlot(), in the current memory context, which has to outlive it.
    pub fn new(desc: &TupleDesc, ops: &'static pg_sys::TupleTableSlotOps) -> Single {
        // SAFETY: a descriptor, which the slot keeps.
        Single(unsafe { pg_sys::MakeSingleTupleTableSlot(desc.raw(), ops) })
    }
}

impl Deref for Single {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        // SAFETY: it lives until this is dropped.
        unsafe { Slot::of(self.0) }
    }
}

impl Drop for Single {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: made by us. After an error it goes with its memory context.
            unsafe { pg_sys::ExecDropSingleTupleTableSlot(self.0) }
        }
    }
}
