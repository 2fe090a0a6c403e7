//! Heap tuples in a temporary file, headers included, in the order they came.

use pgrx::pg_sys;

pub struct Spool {
    /// Made with the first tuple. An error leaves it to the resource owner.
    file: *mut pg_sys::BufFile,
    /// Of what is kept of the file, whatever the current one is.
    context: pg_sys::MemoryContext,
    tuples: u64,
}

impl Spool {
    pub fn new(context: pg_sys::MemoryContext) -> Spool {
        Spool {
            file: std::ptr::null_mut(),
            context,
            tuples: 0,
        }
    }

    /// All tuples so far; those that follow start another file.
    pub fn take(&mut self) -> Spool {
        let context = self.context;
        std::mem::replace(self, Spool::new(context))
    }

    pub fn is_empty(&self) -> bool {
        self.tuples == 0
    }

    pub unsafe fn put(&mut self, tuple: &pg_sys::HeapTupleData) {
        if self.file.is_null() {
            let old = pg_sys::MemoryContextSwitchTo(self.context);
            self.file = pg_sys::BufFileCreateTemp(false);
            pg_sys::MemoryContextSwitchTo(old);
        }
        let (size, data) = (std::mem::size_of_val(tuple), tuple.t_data.cast());
        pg_sys::BufFileWrite(self.file, (&raw const *tuple).cast_mut().cast(), size);
        pg_sys::BufFileWrite(self.file, data, tuple.t_len as usize);
        self.tuples += 1;
    }

    /// Hands out the tuples, and ends the file.
    pub unsafe fn drain(self, mut f: impl FnMut(&mut pg_sys::HeapTupleData)) {
        if self.is_empty() {
            return;
        }
        if pg_sys::BufFileSeek(self.file, 0, 0, 0) != 0 {
            pgrx::error!("could not rewind a temporary file");
        }
        // Words, for a tuple header has to be aligned.
        let mut data: Vec<u64> = Vec::new();
        for _ in 0..self.tuples {
            crate::memory::check_for_interrupts();
            let mut tuple = pg_sys::HeapTupleData::default();
            self.read((&raw mut tuple).cast(), std::mem::size_of_val(&tuple));
            let len = tuple.t_len as usize;
            data.resize(len.div_ceil(8), 0);
            self.read(data.as_mut_ptr().cast(), len);
            tuple.t_data = data.as_mut_ptr().cast();
            f(&mut tuple);
        }
        pg_sys::BufFileClose(self.file);
    }

    unsafe fn read(&self, into: *mut std::ffi::c_void, len: usize) {
        if pg_sys::BufFileRead(self.file, into, len) != len {
            pgrx::error!("could not read from a temporary file");
        }
    }
}
