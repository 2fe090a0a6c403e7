//! Where COPY's bytes go: the client, the server's standard output (single-user mode), a file, a program.
//!
//! Files and pipes are opened through fd.c, which closes them when the transaction aborts.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::{fail, raise};
use super::statement::Destination;
use crate::pg::guard::guarded;

/// A CopyData message stays far below the protocol's limit, and an interrupt is noticed between two of them.
const CHUNK: usize = 256 * 1024;

unsafe extern "C" {
    safe fn umask(mask: pg_sys::mode_t) -> pg_sys::mode_t;
    fn fileno(file: *mut pg_sys::FILE) -> c_int;
    static PqCommMethods: *const CommMethods;
}

/// PQcommMethods of libpq.h, up to what is called here.
#[repr(C)]
struct CommMethods {
    others: [Option<unsafe extern "C-unwind" fn()>; 4],
    putmessage: unsafe extern "C-unwind" fn(kind: c_char, body: *const c_char, length: usize) -> c_int,
}

enum Target {
    Client,
    StandardOutput,
    File { stream: Stream, name: String },
    Program { pipe: Stream, command: String },
    Closed,
}

/// A stream of fd.c's. Nothing goes through its buffer, so the descriptor below it can be written to directly.
struct Stream {
    stream: *mut pg_sys::FILE,
    fd: c_int,
}

impl Stream {
    /// None for null, with errno set.
    ///
    /// # Safety
    /// A stream that fd.c just opened; nobody else closes it but fd.c after an error.
    unsafe fn of(stream: *mut pg_sys::FILE) -> Option<Self> {
        if stream.is_null() {
            return None;
        }
        // SAFETY: an open stream.
        let fd = unsafe { fileno(stream) };
        Some(Self { stream, fd })
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        // SAFETY: open as long as the stream is, which closes it.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(self.fd) });
        (&*file).write_all(bytes)
    }

    fn close_file(self) -> c_int {
        // SAFETY: of AllocateFile(), and open.
        unsafe { pg_sys::FreeFile(self.stream) }
    }

    fn close_pipe(self) -> c_int {
        // SAFETY: of OpenPipeStream(), and open.
        unsafe { pg_sys::ClosePipeStream(self.stream) }
    }
}

/// The destination of a COPY TO.
pub struct Output {
    target: Target,
    bytes: u64,
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
        Self { target, bytes: 0 }
    }

    /// Announces the copy to the client and to pg_stat_progress_copy.
    pub fn begin(&mut self, relation: pg_sys::Oid, columns: u16) {
        let kind = match self.target {
            Target::Client | Target::StandardOutput | Target::Closed => pg_sys::PROGRESS_COPY_TYPE_PIPE,
            Target::File { .. } => pg_sys::PROGRESS_COPY_TYPE_FILE,
            Target::Program { .. } => pg_sys::PROGRESS_COPY_TYPE_PROGRAM,
        };
        let command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_COPY;
        // SAFETY: our own entry.
        unsafe { pg_sys::pgstat_progress_start_command(command, relation) };
        progress(
            pg_sys::PROGRESS_COPY_COMMAND,
            i64::from(pg_sys::PROGRESS_COPY_COMMAND_TO),
        );
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
            Target::File { stream, name } => {
                if stream.close_file() != 0 {
                    raise_io(&io::Error::last_os_error(), format!("could not close file \"{name}\""));
                }
            }
            Target::Program { pipe, command } => close_program(pipe, &command),
        }
        // SAFETY: our own entry.
        unsafe { pg_sys::pgstat_progress_end_command() };
    }

    fn write_chunk(&mut self, chunk: &[u8]) {
        match &self.target {
            Target::Client => send(b'd', chunk),
            Target::StandardOutput => {
                if let Err(error) = io::stdout().write_all(chunk) {
                    raise_io(&error, "could not write to standard output".into());
                }
            }
            Target::File { stream, name } => {
                if let Err(error) = stream.write_all(chunk) {
                    raise_io(&error, format!("could not write to COPY file \"{name}\""));
                }
            }
            Target::Program { pipe, .. } => {
                if let Err(error) = pipe.write_all(chunk) {
                    self.end_program(&error);
                    raise_io(&error, "could not write to COPY program".into());
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
        for chunk in bytes.chunks(CHUNK) {
            crate::memory::check_for_interrupts();
            self.write_chunk(chunk);
        }
        self.bytes += bytes.len() as u64;
        progress(pg_sys::PROGRESS_COPY_BYTES_PROCESSED, self.bytes as i64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells pg_stat_progress_copy.
fn progress(parameter: u32, value: i64) {
    // SAFETY: our own entry, and a parameter of COPY's.
    unsafe { pg_sys::pgstat_progress_update_param(parameter as c_int, value) }
}

/// One protocol message to the client. A lost connection is noticed by the next interrupt check.
fn send(kind: u8, body: &[u8]) {
    // SAFETY: what pq_endmessage() of pqformat.c calls; the body is copied.
    unsafe {
        guarded!(((*PqCommMethods).putmessage)(
            kind as c_char,
            body.as_ptr().cast(),
            body.len()
        ));
    }
}

fn open_file(path: &CStr) -> Target {
    let name = path.to_string_lossy().into_owned();
    if !name.starts_with('/') {
        // A relative path would be inside the data directory.
        fail(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            "relative path not allowed for COPY to file",
        );
    }
    let mask = Umask::set(0o022);
    // SAFETY: it opens the stream, which is ours.
    let stream = unsafe { Stream::of(pg_sys::AllocateFile(path.as_ptr(), c"w".as_ptr())) };
    let error = io::Error::last_os_error();
    drop(mask);
    match stream {
        Some(stream) => Target::File { stream, name },
        None => raise_io(&error, format!("could not open file \"{name}\" for writing")),
    }
}

fn open_program(line: &CStr) -> Target {
    let command = line.to_string_lossy().into_owned();
    // SAFETY: it opens the stream, which is ours.
    match unsafe { Stream::of(pg_sys::OpenPipeStream(line.as_ptr(), c"w".as_ptr())) } {
        Some(pipe) => Target::Program { pipe, command },
        None => raise_io(
            &io::Error::last_os_error(),
            format!("could not execute command \"{command}\""),
        ),
    }
}

fn close_program(pipe: Stream, command: &str) {
    let status = pipe.close_pipe();
    if status == -1 {
        raise_io(
            &io::Error::last_os_error(),
            "could not close pipe to external command".into(),
        );
    }
    if status != 0 {
        // SAFETY: it returns a palloc'd string.
        let reason = unsafe { CStr::from_ptr(pg_sys::wait_result_to_str(status)) };
        raise(
            PgSqlErrorCode::ERRCODE_EXTERNAL_ROUTINE_EXCEPTION,
            format!("program \"{command}\" failed"),
            Some(reason.to_string_lossy().into_owned()),
            None,
        );
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

/// Raises `message: reason` with the SQLSTATE that errcode_for_file_access would choose.
fn raise_io(error: &io::Error, message: String) -> ! {
    use io::ErrorKind;
    let (code, hint) = match error.kind() {
        ErrorKind::NotFound => (PgSqlErrorCode::ERRCODE_UNDEFINED_FILE, true),
        ErrorKind::PermissionDenied => (PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE, true),
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => (PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, false),
        ErrorKind::StorageFull => (PgSqlErrorCode::ERRCODE_DISK_FULL, false),
        _ => (PgSqlErrorCode::ERRCODE_IO_ERROR, false),
    };
    let reason = match error.raw_os_error() {
        // SAFETY: it returns a string that stays until the next call.
        Some(errno) => unsafe { CStr::from_ptr(pg_sys::pg_strerror(errno)) }
            .to_string_lossy()
            .into_owned(),
        None => error.to_string(),
    };
    raise(
        code,
        format!("{message}: {reason}"),
        None,
        hint.then(|| {
            "COPY TO instructs the PostgreSQL server process to write a file. You may want a client-side \
             facility such as psql's \\copy."
                .into()
        }),
    )
}
