//! A DestReceiver that hands the executor's rows to an encoder.

use pgrx::{pg_guard, pg_sys};

use crate::pg::memory::Context;
use crate::pg::{Slot, TupleDesc, Values};

/// Takes rows and groups them into batches.
pub trait RowSink {
    /// Rows of these columns follow.
    fn begin(&mut self, desc: &TupleDesc);

    /// Takes a row of the columns that [`RowSink::begin`] has been told of; true when the batch is full.
    /// CurrentMemoryContext is reset after the call.
    fn push(&mut self, row: Values) -> bool;

    /// Writes out a full batch.
    fn batch(&mut self);
}

/// What happens when a batch is full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Write it and go on.
    Write,
    /// Leave it in the sink and stop the executor after this row; it can be run again to continue.
    Suspend,
}

/// `base` is first: the executor sees only the DestReceiver (tcop/dest.h).
#[repr(C)]
pub struct Receiver<'a> {
    base: pg_sys::DestReceiver,
    sink: &'a mut dyn RowSink,
    when_full: WhenFull,
    suspended: bool,
    /// Detoasted and converted values of one row live here.
    row: &'a mut Context,
}

impl<'a> Receiver<'a> {
    pub fn new(sink: &'a mut dyn RowSink, row: &'a mut Context, when_full: WhenFull) -> Self {
        Self {
            base: pg_sys::DestReceiver {
                receiveSlot: Some(receive),
                rStartup: Some(startup),
                rShutdown: Some(nothing),
                rDestroy: Some(nothing),
                mydest: pg_sys::CommandDest::DestNone,
            },
            sink,
            when_full,
            suspended: false,
            row,
        }
    }

    /// The pointer to give to the executor.
    pub fn as_dest(&mut self) -> *mut pg_sys::DestReceiver {
        (&raw mut *self).cast()
    }

    /// Whether the run ended with a full batch rather than with the last row.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Takes the row in the slot. False to stop.
    fn take(&mut self, slot: &Slot) -> bool {
        crate::memory::check_for_interrupts();
        let row = slot.values();
        let full = self.row.within(|| self.sink.push(row));
        self.row.reset();
        if full {
            match self.when_full {
                WhenFull::Write => self.sink.batch(),
                WhenFull::Suspend => self.suspended = true,
            }
        }
        !self.suspended
    }
}

/// # Safety
/// As the executor calls it: with a slot that has a row, and a [`Receiver`].
#[pg_guard]
unsafe extern "C-unwind" fn receive(slot: *mut pg_sys::TupleTableSlot, dest: *mut pg_sys::DestReceiver) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*dest.cast::<Receiver>()).take(Slot::of(slot)) }
}

/// # Safety
/// As the executor calls it: with a [`Receiver`], and the descriptor of the rows that follow.
#[pg_guard]
unsafe extern "C-unwind" fn startup(
    dest: *mut pg_sys::DestReceiver,
    _operation: ::core::ffi::c_int,
    desc: pg_sys::TupleDesc,
) {
    // SAFETY: as the caller promises.
    unsafe { (*dest.cast::<Receiver>()).sink.begin(TupleDesc::of(desc)) }
}

/// # Safety
/// None.
#[pg_guard]
unsafe extern "C-unwind" fn nothing(_dest: *mut pg_sys::DestReceiver) {}
