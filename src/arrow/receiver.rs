//! A DestReceiver that hands the executor's rows to an encoder.

use pgrx::{pg_guard, pg_sys};

/// Takes rows and groups them into batches.
pub trait RowSink {
    /// Takes one row of as many values as the result has columns; true when the batch is full.
    ///
    /// # Safety
    /// `values` and `nulls` point to that many elements, valid for the columns' types. CurrentMemoryContext is
    /// reset after the call.
    unsafe fn push(&mut self, values: *const pg_sys::Datum, nulls: *const bool) -> bool;

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
pub struct Receiver {
    base: pg_sys::DestReceiver,
    sink: *mut dyn RowSink,
    when_full: WhenFull,
    suspended: bool,
    /// Detoasted and converted values of one row live here.
    row_context: pg_sys::MemoryContext,
}

impl Receiver {
    /// # Safety
    /// `sink` outlives the receiver and is not touched while the executor runs; CurrentMemoryContext outlives both.
    pub unsafe fn new(sink: *mut dyn RowSink, when_full: WhenFull) -> Box<Self> {
        Box::new(Self {
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
            row_context: pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"Arrow row".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            ),
        })
    }

    /// The pointer to give to CreateQueryDesc.
    pub fn as_dest(&mut self) -> *mut pg_sys::DestReceiver {
        (self as *mut Self).cast()
    }

    /// Whether the last run ended with a full batch rather than with the last row; clears the mark.
    pub fn take_suspended(&mut self) -> bool {
        std::mem::take(&mut self.suspended)
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(slot: *mut pg_sys::TupleTableSlot, dest: *mut pg_sys::DestReceiver) -> bool {
    crate::memory::check_for_interrupts();
    let receiver = &mut *dest.cast::<Receiver>();
    let attributes = (*(*slot).tts_tupleDescriptor).natts;
    if i32::from((*slot).tts_nvalid) < attributes {
        pg_sys::slot_getsomeattrs_int(slot, attributes);
    }
    // An error need not restore the context: the error's handler sets its own.
    let caller = pg_sys::CurrentMemoryContext;
    pg_sys::CurrentMemoryContext = receiver.row_context;
    let full = (*receiver.sink).push((*slot).tts_values, (*slot).tts_isnull);
    pg_sys::CurrentMemoryContext = caller;
    if !(*receiver.row_context).isReset {
        pg_sys::MemoryContextReset(receiver.row_context);
    }
    if full {
        match receiver.when_full {
            WhenFull::Write => (*receiver.sink).batch(),
            WhenFull::Suspend => receiver.suspended = true,
        }
    }
    !receiver.suspended
}

#[pg_guard]
unsafe extern "C-unwind" fn startup(
    _dest: *mut pg_sys::DestReceiver,
    _operation: ::core::ffi::c_int,
    _desc: pg_sys::TupleDesc,
) {
}

#[pg_guard]
unsafe extern "C-unwind" fn nothing(_dest: *mut pg_sys::DestReceiver) {}
