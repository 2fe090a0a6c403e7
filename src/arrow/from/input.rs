//! Where COPY FROM's bytes come from: the client, the server's standard input (single-user mode), a file, a program.

use std::ffi::{CStr, c_int};
use std::io::{self, Read};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::super::endpoint::{self, Stream, close_file, close_program, raise_io, require_absolute};
use super::super::error::{fail, raise};
use super::super::statement::Destination;
use crate::pg::guard::guarded;

unsafe extern "C-unwind" {
    fn pq_startmsgread();
    fn pq_getbyte() -> c_int;
    fn pq_getmessage(message: pg_sys::StringInfo, longest: c_int) -> c_int;
}

/// Limits of a message (libpq.h): of those with data, which is that of one allocation, and of others.
const LARGE: c_int = 0x3fff_fffe;
const SMALL: c_int = 10_000;

/// The source of a COPY FROM.
pub enum Input {
    Client(Messages),
    Stdin,
    File { stream: Stream, name: String },
    Program { pipe: Stream, command: String },
    Closed,
}

impl Input {
    /// Opens the source, for which the privileges have been checked, and lets a client begin, which is told of so many columns.
    pub fn open(source: Destination, columns: usize) -> Self {
        // SAFETY: a global of the backend.
        let is_remote = unsafe { pg_sys::whereToSendOutput == pg_sys::CommandDest::DestRemote };
        match source {
            Destination::Client if is_remote => Self::Client(Messages::begin(columns)),
            Destination::Client => Self::Stdin,
            Destination::Program(command) => Self::Program {
                pipe: Stream::program(command, c"r"),
                command: command.to_string_lossy().into_owned(),
            },
            Destination::File(name) => open_file(name),
        }
    }
}

impl Read for Input {
    /// Raises PostgreSQL's errors, and returns none.
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            crate::memory::check_for_interrupts();
            let (read, failed) = match self {
                Self::Client(messages) => return Ok(messages.read(to)),
                Self::Stdin => (io::stdin().read(to), "could not read from standard input".to_owned()),
                Self::File { stream, name } => (stream.read(to), format!("could not read from COPY file \"{name}\"")),
                Self::Program { pipe, .. } => (pipe.read(to), "could not read from COPY program".to_owned()),
                Self::Closed => return Ok(0),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => raise_io(&error, failed, None),
                Ok(0) if !to.is_empty() => {
                    // A program ends by the signal that cancels us, too.
                    crate::memory::check_for_interrupts();
                    self.close();
                }
                Ok(read) => return Ok(read),
            }
        }
    }
}

impl Input {
    /// At its end, where a program may say that it failed.
    fn close(&mut self) {
        match std::mem::replace(self, Self::Closed) {
            Self::File { stream, name } => close_file(stream, &name),
            Self::Program { pipe, command } => close_program(pipe, &command),
            Self::Client(_) | Self::Stdin | Self::Closed => {}
        }
    }
}

fn open_file(path: &CStr) -> Input {
    let name = path.to_string_lossy().into_owned();
    require_absolute(&name, "relative path not allowed for COPY from file");
    let Some(stream) = Stream::file(path, c"r") else {
        raise_io(
            &io::Error::last_os_error(),
            format!("could not open file \"{name}\" for reading"),
            Some(
                "COPY FROM instructs the PostgreSQL server process to read a file. You may want a client-side \
                 facility such as psql's \\copy.",
            ),
        )
    };
    if stream.is_directory() {
        fail(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{name}\" is a directory"),
        );
    }
    Input::File { stream, name }
}

/// CopyData messages from the client (CopyGetData() in copyfromparse.c).
pub struct Messages {
    message: pg_sys::StringInfo,
    at: usize,
    ended: bool,
}

impl Messages {
    fn begin(columns: usize) -> Self {
        // CopyInResponse: overall format and each column's format are binary.
        let columns = u16::try_from(columns).unwrap_or(u16::MAX);
        let mut body = vec![1];
        body.extend(columns.to_be_bytes());
        for _ in 0..columns {
            body.extend(1u16.to_be_bytes());
        }
        endpoint::send(b'G', &body);
        endpoint::flush();
        Self {
            // SAFETY: allocated in the statement's memory context.
            message: unsafe { pg_sys::makeStringInfo() },
            at: 0,
            ended: false,
        }
    }

    fn read(&mut self, to: &mut [u8]) -> usize {
        while !self.ended && self.rest().is_empty() {
            self.receive();
        }
        let rest = self.rest();
        let count = rest.len().min(to.len());
        to[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        count
    }

    fn rest(&self) -> &[u8] {
        // SAFETY: a string of so many bytes, which the next message replaces.
        let all =
            unsafe { std::slice::from_raw_parts((*self.message).data.cast::<u8>(), (*self.message).len as usize) };
        &all[self.at..]
    }

    /// The next message that says something.
    fn receive(&mut self) {
        self.at = 0;
        // SAFETY: as CopyGetData() does: cancelling waits until a message is whole. After an error PostgreSQL counts anew.
        let kind = unsafe {
            pg_sys::QueryCancelHoldoffCount += 1;
            guarded!(pq_startmsgread());
            let kind = guarded!(pq_getbyte());
            let longest = match u8::try_from(kind) {
                Err(_) => lost(),
                Ok(b'd') => LARGE,
                Ok(b'c' | b'f' | b'H' | b'S') => SMALL,
                Ok(kind) => fail(
                    PgSqlErrorCode::ERRCODE_PROTOCOL_VIOLATION,
                    format!("unexpected message type 0x{kind:02X} during COPY from stdin"),
                ),
            };
            if guarded!(pq_getmessage(self.message, longest)) != 0 {
                lost();
            }
            pg_sys::QueryCancelHoldoffCount -= 1;
            kind as u8
        };
        match kind {
            b'd' => return,
            b'c' => self.ended = true,
            b'f' => {
                let reason = CStr::from_bytes_until_nul(self.rest())
                    .map(CStr::to_bytes)
                    .unwrap_or_default();
                let reason = crate::encoding::shown(reason);
                fail(
                    PgSqlErrorCode::ERRCODE_QUERY_CANCELED,
                    format!("COPY from stdin failed: {reason}"),
                )
            }
            // Flush and Sync, which clients may send.
            _ => {}
        }
        self.at = self.rest().len();
    }
}

fn lost() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE,
        "unexpected EOF on client connection with an open transaction",
        None,
        None,
    )
}
