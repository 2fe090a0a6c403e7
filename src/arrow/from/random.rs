//! What is read here and there, as Parquet has to be: a file as it is; what comes from a client or a program, or is none, as a
//! temporary file of PostgreSQL's, which goes where those go, and counts as one of them.

use std::io::{self, Read, Write};
use std::sync::Arc;

use amax_arrow::ReadAt;

use super::super::endpoint::{Stream, close_file, raise_io};
use super::super::temporary::Temporary;
use super::input::Input;

/// So much is taken at once.
const PIECE: usize = 64 * 1024;

pub enum Random {
    File { stream: Stream, name: String, size: u64 },
    Temporary { file: Temporary, size: u64 },
}

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
        // Of the statement's resource owner and memory context.
        let mut file = Temporary::new();
        let (mut piece, mut size) = (vec![0; PIECE], 0);
        loop {
            let read = input.read(&mut piece).expect("an input raises its errors");
            if read == 0 {
                return Self::Temporary { file, size };
            }
            file.write_all(&piece[..read])
                .expect("a temporary file raises its errors");
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
            Self::Temporary { mut file, .. } => file.close(),
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
