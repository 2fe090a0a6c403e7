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

/// A CopyData message stays far below the protocol's limit, and an interrupt is noticed between two of them.
const CHUNK: usize = 256 * 1024;

unsafe extern "C" {
    fn umask(mask: pg_sys::mode_t) -> pg_sys::mode_t;
    fn fileno(file: *mut pg_sys::FILE) -> c_int;
}

/// Nothing goes through a stdio stream's buffer, so the descriptor below it can be written to directly.
enum Target {
    Client,
    StandardOutput,
    File {
        stream: *mut pg_sys::FILE,
        fd: c_int,
        name: String,
    },
    Program {
        pipe: *mut pg_sys::FILE,
        fd: c_int,
        command: String,
    },
}

/// The destination of a COPY TO.
pub struct Output {
    target: Target,
    bytes: u64,
}

impl Output {
    /// Opens the destination; nothing is written yet.
    ///
    /// # Safety
    /// `statement` is a valid COPY TO whose privileges have been checked.
    pub unsafe fn open(statement: *const pg_sys::CopyStmt) -> Self {
        let name = (*statement).filename;
        let target = if name.is_null() {
            if pg_sys::whereToSendOutput == pg_sys::CommandDest::DestRemote {
                Target::Client
            } else {
                Target::StandardOutput
            }
        } else if (*statement).is_program {
            open_program(name)
        } else {
            open_file(name)
        };
        Self { target, bytes: 0 }
    }

    /// Announces the copy to the client and to pg_stat_progress_copy.
    pub fn begin(&mut self, relation: pg_sys::Oid, columns: u16) {
        let kind = match self.target {
            Target::Client | Target::StandardOutput => pg_sys::PROGRESS_COPY_TYPE_PIPE,
            Target::File { .. } => pg_sys::PROGRESS_COPY_TYPE_FILE,
            Target::Program { .. } => pg_sys::PROGRESS_COPY_TYPE_PROGRAM,
        };
        unsafe {
            pg_sys::pgstat_progress_start_command(pg_sys::ProgressCommandType::PROGRESS_COMMAND_COPY, relation);
            pg_sys::pgstat_progress_update_param(
                pg_sys::PROGRESS_COPY_COMMAND as c_int,
                i64::from(pg_sys::PROGRESS_COPY_COMMAND_TO),
            );
            pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_COPY_TYPE as c_int, i64::from(kind));
        }
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
        match &self.target {
            Target::Client => send(b'c', &[]),
            Target::StandardOutput => {}
            Target::File { stream, name, .. } => {
                if unsafe { pg_sys::FreeFile(*stream) } != 0 {
                    raise_io(&io::Error::last_os_error(), format!("could not close file \"{name}\""));
                }
            }
            Target::Program { pipe, command, .. } => close_program(*pipe, command),
        }
        unsafe { pg_sys::pgstat_progress_end_command() };
    }

    fn write_chunk(&self, chunk: &[u8]) {
        match &self.target {
            Target::Client => send(b'd', chunk),
            Target::StandardOutput => {
                if let Err(error) = io::stdout().write_all(chunk) {
                    raise_io(&error, "could not write to standard output".into());
                }
            }
            Target::File { fd, name, .. } => {
                if let Err(error) = borrow(*fd).write_all(chunk) {
                    raise_io(&error, format!("could not write to COPY file \"{name}\""));
                }
            }
            Target::Program { pipe, fd, command } => {
                if let Err(error) = borrow(*fd).write_all(chunk) {
                    if error.kind() == io::ErrorKind::BrokenPipe {
                        // The program's exit status may say more than "Broken pipe".
                        close_program(*pipe, command);
                    }
                    raise_io(&error, "could not write to COPY program".into());
                }
            }
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
        unsafe {
            pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_COPY_BYTES_PROCESSED as c_int, self.bytes as i64);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One protocol message to the client. A lost connection is noticed by the next interrupt check.
fn send(kind: u8, body: &[u8]) {
    unsafe {
        let mut message = pg_sys::StringInfoData::default();
        pg_sys::pq_beginmessage(&mut message, kind as c_char);
        pg_sys::pq_sendbytes(&mut message, body.as_ptr().cast(), body.len() as c_int);
        pg_sys::pq_endmessage(&mut message);
    }
}

/// The descriptor as a File that does not close it: fd.c owns it.
fn borrow(fd: c_int) -> ManuallyDrop<File> {
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

unsafe fn open_file(name: *const c_char) -> Target {
    let text = CStr::from_ptr(name).to_string_lossy().into_owned();
    if !text.starts_with('/') {
        // A relative path would be inside the data directory.
        fail(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            "relative path not allowed for COPY to file",
        );
    }
    let stream = {
        let _mask = Umask::set(0o022);
        pg_sys::AllocateFile(name, c"w".as_ptr())
    };
    if stream.is_null() {
        raise_io(
            &io::Error::last_os_error(),
            format!("could not open file \"{text}\" for writing"),
        );
    }
    Target::File {
        stream,
        fd: fileno(stream),
        name: text,
    }
}

unsafe fn open_program(command: *const c_char) -> Target {
    let text = CStr::from_ptr(command).to_string_lossy().into_owned();
    let pipe = pg_sys::OpenPipeStream(command, c"w".as_ptr());
    if pipe.is_null() {
        raise_io(
            &io::Error::last_os_error(),
            format!("could not execute command \"{text}\""),
        );
    }
    Target::Program {
        pipe,
        fd: fileno(pipe),
        command: text,
    }
}

fn close_program(pipe: *mut pg_sys::FILE, command: &str) {
    let status = unsafe { pg_sys::ClosePipeStream(pipe) };
    if status == -1 {
        raise_io(
            &io::Error::last_os_error(),
            "could not close pipe to external command".into(),
        );
    }
    if status != 0 {
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
        Self(unsafe { umask(mask) })
    }
}

impl Drop for Umask {
    fn drop(&mut self) {
        unsafe { umask(self.0) };
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
