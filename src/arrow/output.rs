//! Where COPY's bytes go: the client, the server's standard output (single-user mode), a file, a program.

use std::ffi::CStr;
use std::io::{self, Write};

use pgrx::pg_sys;

use super::endpoint::{
    Stream, begin_progress, close_file, close_program, end_progress, flush, flush_if_writable, progress, raise_io,
    require_absolute, send, send_later,
};
use super::statement::Destination;

/// Of a CopyData message. An interrupt is noticed between two of them, and what clients allocate for one is memory that they have had for another.
const CHUNK: usize = 64 * 1024;

/// Bytes that may wait for the client, which takes them while the next batch is made: a batch, as it is by default.
const WAITING: usize = 16 * 1024 * 1024;

unsafe extern "C" {
    safe fn umask(mask: pg_sys::mode_t) -> pg_sys::mode_t;
}

enum Target {
    Client,
    StandardOutput,
    File { stream: Stream, name: String },
    Program { pipe: Stream, command: String },
    Closed,
}

/// The destination of a COPY TO.
pub struct Output {
    target: Target,
    bytes: u64,
    /// Bytes for the client since it last had all of them.
    waiting: usize,
}

impl Output {
    /// Opens the destination, for which the privileges have been checked; nothing is written yet.
    pub fn open(destination: Destination) -> Self {
        // SAFETY: a global of the backend.
        let is_remote = unsafe { pg_sys::whereToSendOutput == pg_sys::CommandDest::DestRemote };
        let target = match destination {
            Destination::Client if is_remote => Target::Client,
            Destination::Client => Target::StandardOutput,
            Destination::Program(command) => open_program(command),
            Destination::File(name) => open_file(name),
        };
        Self {
            target,
            bytes: 0,
            waiting: 0,
        }
    }

    /// Announces the copy to the client and to pg_stat_progress_copy.
    pub fn begin(&mut self, relation: pg_sys::Oid, columns: u16) {
        let kind = match self.target {
            Target::Client | Target::StandardOutput | Target::Closed => pg_sys::PROGRESS_COPY_TYPE_PIPE,
            Target::File { .. } => pg_sys::PROGRESS_COPY_TYPE_FILE,
            Target::Program { .. } => pg_sys::PROGRESS_COPY_TYPE_PROGRAM,
        };
        begin_progress(relation, pg_sys::PROGRESS_COPY_COMMAND_TO);
        progress(pg_sys::PROGRESS_COPY_TYPE, i64::from(kind));
        if matches!(self.target, Target::Client) {
            // CopyOutResponse: overall format and each column's format are binary.
            let mut body = vec![1];
            body.extend(columns.to_be_bytes());
            for _ in 0..columns {
                body.extend(1u16.to_be_bytes());
            }
            send(b'H', &body);
        }
    }

    /// Ends the copy, and reports a program that failed.
    pub fn close(&mut self) {
        match std::mem::replace(&mut self.target, Target::Closed) {
            Target::Client => send(b'c', &[]),
            Target::StandardOutput | Target::Closed => {}
            Target::File { stream, name } => close_file(stream, &name),
            Target::Program { pipe, command } => close_program(pipe, &command),
        }
        end_progress();
    }

    /// Lets the client have what its socket takes now.
    pub fn offer(&mut self) {
        if matches!(self.target, Target::Client) {
            flush_if_writable();
        }
    }

    fn write_chunk(&mut self, chunk: &[u8]) {
        match &self.target {
            Target::Client => {
                if self.waiting + chunk.len() > WAITING {
                    flush();
                    self.waiting = 0;
                }
                self.waiting += chunk.len();
                send_later(b'd', chunk);
            }
            Target::StandardOutput => {
                if let Err(error) = io::stdout().write_all(chunk) {
                    raise_io(&error, "could not write to standard output".into(), None);
                }
            }
            Target::File { stream, name } => {
                if let Err(error) = stream.write_all(chunk) {
                    raise_io(&error, format!("could not write to COPY file \"{name}\""), None);
                }
            }
            Target::Program { pipe, .. } => {
                if let Err(error) = pipe.write_all(chunk) {
                    self.end_program(&error);
                    raise_io(&error, "could not write to COPY program".into(), None);
                }
            }
            Target::Closed => unreachable!("an output that is closed is not written to"),
        }
    }
}

impl Output {
    /// After an error: the program's exit status may say more than "Broken pipe".
    fn end_program(&mut self, error: &io::Error) {
        if error.kind() == io::ErrorKind::BrokenPipe
            && let Target::Program { pipe, command } = std::mem::replace(&mut self.target, Target::Closed)
        {
            close_program(pipe, &command);
        }
    }
}

impl Write for Output {
    /// Takes all of `bytes`, or raises a PostgreSQL error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // After an error, buffers on top of us write what they still have when they are dropped: nobody waits for it, and an error
        // within an error would end the server.
        if std::thread::panicking() {
            return Err(io::Error::other("the copy has failed"));
        }
        for chunk in bytes.chunks(CHUNK) {
            crate::memory::check_for_interrupts();
            self.write_chunk(chunk);
        }
        if bytes.len() >= CHUNK {
            self.offer();
        }
        self.bytes += bytes.len() as u64;
        progress(pg_sys::PROGRESS_COPY_BYTES_PROCESSED, self.bytes as i64);
        Ok(bytes.len())
    }

    /// Waits until the client has all.
    fn flush(&mut self) -> io::Result<()> {
        if matches!(self.target, Target::Client) && !std::thread::panicking() {
            flush();
            self.waiting = 0;
        }
        Ok(())
    }
}

fn open_file(path: &CStr) -> Target {
    let name = path.to_string_lossy().into_owned();
    require_absolute(&name, "relative path not allowed for COPY to file");
    let mask = Umask::set(0o022);
    let stream = Stream::file(path, c"w");
    let error = io::Error::last_os_error();
    drop(mask);
    match stream {
        Some(stream) => Target::File { stream, name },
        None => raise_io(
            &error,
            format!("could not open file \"{name}\" for writing"),
            Some(
                "COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side \
                 facility such as psql's \\copy.",
            ),
        ),
    }
}

fn open_program(line: &CStr) -> Target {
    Target::Program {
        pipe: Stream::program(line, c"w"),
        command: line.to_string_lossy().into_owned(),
    }
}

/// Sets the process's umask until dropped, also by an error.
struct Umask(pg_sys::mode_t);

impl Umask {
    fn set(mask: pg_sys::mode_t) -> Self {
        Self(umask(mask))
    }
}

impl Drop for Umask {
    fn drop(&mut self) {
        umask(self.0);
    }
}
