//! Slots (tuptable.h).

use super::handle::handle;
use super::tupdesc::TupleDesc;
use super::values::Values;
use pgrx::pg_sys;

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
}
