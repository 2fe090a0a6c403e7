//! What is read here and there, as Parquet has to be: a file as it is; what comes from a client or a program, or is none, as a
//! temporary file of PostgreSQL's, which goes where those go, and counts as one of them.

use std::io::{self, Read};
use std::sync::Arc;

use amax_arrow::ReadAt;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::super::endpoint::{Stream, close_file, raise_io};
use super::super::error::fail;
use super::input::Input;

/// So much is taken at once.
const PIECE: usize = 64 * 1024;
/// SEEK_SET of stdio.h.
const FROM_START: i32 = 0;

pub enum Random {
    File { stream: Stream, name: String, size: u64 },
    Temporary { file: Temporary, size: u64 },
}

/// A temporary file, which PostgreSQL deletes after an error.
pub struct Temporary(*mut pg_sys::BufFile);

// SAFETY: a backend has one thread: it goes nowhere.
unsafe impl Send for Temporary {}
// SAFETY: as above.
unsafe impl Sync for Temporary {}

impl Random {
    /// Takes all of an input that is not a file.
    pub fn of(input: Input) -> Self {
        let mut input = match input {
            Input::File { stream, name } => match stream.size() {
                Some(size) => return Self::File { stream, name, size },
                None => Input::File { stream, name },
            },
            input => input,
        };
        // SAFETY: it belongs to the statement's resource owner and memory context.
        let file = Temporary(unsafe { pg_sys::BufFileCreateTemp(false) });
        let (mut piece, mut size) = (vec![0; PIECE], 0);
        loop {
            let read = input.read(&mut piece).expect("an input raises its errors");
            if read == 0 {
                return Self::Temporary { file, size };
            }
            // SAFETY: an open file, and so many bytes.
            unsafe { pg_sys::BufFileWrite(file.0, piece.as_mut_ptr().cast(), read) };
            size += read as u64;
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } | Self::Temporary { size, .. } => *size,
        }
    }

    fn read_at(&self, from: u64, to: &mut [u8]) {
        crate::memory::check_for_interrupts();
        match self {
            Self::File { stream, name, .. } => {
                if let Err(error) = stream.read_exact_at(to, from) {
                    raise_io(&error, format!("could not read from COPY file \"{name}\""), None);
                }
            }
            Self::Temporary { file, .. } => file.read_at(from, to),
        }
    }

    pub fn close(self) {
        match self {
            Self::File { stream, name, .. } => close_file(stream, &name),
            // SAFETY: an open file, which nobody reads again.
            Self::Temporary { file, .. } => unsafe { pg_sys::BufFileClose(file.0) },
        }
    }
}

impl Temporary {
    fn read_at(&self, from: u64, to: &mut [u8]) {
        // SAFETY: an open file, and room for so many bytes.
        let read = unsafe {
            match pg_sys::BufFileSeek(self.0, 0, from as pg_sys::off_t, FROM_START) {
                0 => pg_sys::BufFileRead(self.0, to.as_mut_ptr().cast(), to.len()),
                _ => 0,
            }
        };
        if read != to.len() {
            fail(
                PgSqlErrorCode::ERRCODE_IO_ERROR,
                "could not read from a temporary file of COPY",
            );
        }
    }
}

/// What Parquet's readers share.
pub struct Handle(pub Arc<Random>);

impl ReadAt for Handle {
    fn size(&self) -> u64 {
        self.0.size()
    }

    /// Raises PostgreSQL's errors, and returns none.
    fn read_at(&self, from: u64, to: &mut [u8]) -> io::Result<()> {
        self.0.read_at(from, to);
        Ok(())
    }

    fn pause(&self) {
        crate::memory::check_for_interrupts();
    }
}
