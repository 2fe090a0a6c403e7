//! A temporary file of PostgreSQL's: it goes where those go, counts in temp_file_limit, and is deleted after an error.

use std::io::{self, Read, Write};
use std::ptr::null_mut;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::fail;

/// SEEK_SET of stdio.h.
const FROM_START: i32 = 0;

pub struct Temporary(*mut pg_sys::BufFile);

// SAFETY: a backend has one thread: it goes nowhere.
unsafe impl Send for Temporary {}
// SAFETY: as above.
unsafe impl Sync for Temporary {}

impl Temporary {
    /// It belongs to the resource owner and the memory context of now, and is closed before these go, but after an error.
    pub fn new() -> Self {
        // SAFETY: in a transaction.
        Self(unsafe { pg_sys::BufFileCreateTemp(false) })
    }

    fn open(&self) -> *mut pg_sys::BufFile {
        assert!(!self.0.is_null(), "a file that is closed is not used");
        self.0
    }

    /// Where reading and writing go on.
    pub fn seek(&mut self, to: u64) {
        // SAFETY: an open file.
        if unsafe { pg_sys::BufFileSeek(self.open(), 0, to as pg_sys::off_t, FROM_START) } != 0 {
            unreadable();
        }
    }

    pub fn read_at(&self, from: u64, to: &mut [u8]) {
        let mut file = Self(self.0);
        file.seek(from);
        if file.read_some(to) != to.len() {
            unreadable();
        }
    }

    /// Fewer bytes than there is room for only at the end.
    fn read_some(&mut self, to: &mut [u8]) -> usize {
        // SAFETY: an open file, and room for so many bytes.
        unsafe { pg_sys::BufFileRead(self.open(), to.as_mut_ptr().cast(), to.len()) }
    }

    /// It is deleted, and nobody reads it again. Once is enough.
    pub fn close(&mut self) {
        let file = std::mem::replace(&mut self.0, null_mut());
        if !file.is_null() {
            // SAFETY: an open file.
            unsafe { pg_sys::BufFileClose(file) }
        }
    }
}

/// Errors are PostgreSQL's.
impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: an open file, and so many bytes, which are only read.
        unsafe { pg_sys::BufFileWrite(self.open(), bytes.as_ptr().cast_mut().cast(), bytes.len()) }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Temporary {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Ok(self.read_some(to))
    }
}

fn unreadable() -> ! {
    fail(PgSqlErrorCode::ERRCODE_IO_ERROR, "could not read from a temporary file")
}
