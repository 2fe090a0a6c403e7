//! Heap tuples in a temporary file, headers included, in the order they came.

use crate::pg::Tuple;
use pgrx::pg_sys;

pub struct Spool {
    /// Made with the first tuple. An error leaves it to the resource owner.
    file: *mut pg_sys::BufFile,
    /// Of what is kept of the file, whatever the current one is.
    context: pg_sys::MemoryContext,
    tuples: u64,
}

impl Spool {
    /// In the current memory context.
    pub fn new() -> Spool {
        // SAFETY: a global of the backend.
        let context = unsafe { pg_sys::CurrentMemoryContext };
        Spool {
            file: std::ptr::null_mut(),
            context,
            tuples: 0,
        }
    }

    /// All tuples so far; those that follow start another file.
    pub fn take(&mut self) -> Spool {
        let next = Spool {
            file: std::ptr::null_mut(),
            context: self.context,
            tuples: 0,
        };
        std::mem::replace(self, next)
    }

    pub fn is_empty(&self) -> bool {
        self.tuples == 0
    }

    pub fn put(&mut self, tuple: &mut Tuple) {
        // SAFETY: a file of ours, made in a context that lasts as long; a whole tuple.
        unsafe {
            if self.file.is_null() {
                let old = pg_sys::MemoryContextSwitchTo(self.context);
                self.file = pg_sys::BufFileCreateTemp(false);
                pg_sys::MemoryContextSwitchTo(old);
            }
            let tuple = tuple.raw();
            pg_sys::BufFileWrite(self.file, tuple.cast(), size_of::<pg_sys::HeapTupleData>());
            pg_sys::BufFileWrite(self.file, (*tuple).t_data.cast(), (*tuple).t_len as usize);
        }
        self.tuples += 1;
    }

    /// Hands out the tuples, and ends the file.
    pub fn drain(self, mut f: impl FnMut(&mut Tuple)) {
        if self.is_empty() {
            return;
        }
        // SAFETY: a file of ours.
        if unsafe { pg_sys::BufFileSeek(self.file, 0, 0, 0) } != 0 {
            pgrx::error!("could not rewind a temporary file");
        }
        // Words, for a tuple header has to be aligned.
        let mut data: Vec<u64> = Vec::new();
        for _ in 0..self.tuples {
            crate::memory::check_for_interrupts();
            let mut tuple = pg_sys::HeapTupleData::default();
            self.read((&raw mut tuple).cast(), size_of::<pg_sys::HeapTupleData>());
            let len = tuple.t_len as usize;
            data.resize(len.div_ceil(8), 0);
            self.read(data.as_mut_ptr().cast(), len);
            tuple.t_data = data.as_mut_ptr().cast();
            // SAFETY: whole, as it was put.
            f(&mut unsafe { Tuple::of(tuple) });
        }
        // SAFETY: a file of ours.
        unsafe { pg_sys::BufFileClose(self.file) }
    }

    /// Into room for so many bytes.
    fn read(&self, into: *mut std::ffi::c_void, len: usize) {
        // SAFETY: a file of ours; both callers have the room.
        if unsafe { pg_sys::BufFileRead(self.file, into, len) } != len {
            pgrx::error!("could not read from a temporary file");
        }
    }
}
