//! What both ends of COPY share: files and programs through fd.c, which closes them when the transaction aborts, and
//! messages to the client.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::{fail, raise};
use crate::pg::guard::guarded;

unsafe extern "C" {
    fn fileno(file: *mut pg_sys::FILE) -> c_int;
    static PqCommMethods: *const CommMethods;
}

/// PQcommMethods of libpq.h, up to what is called here.
#[repr(C)]
struct CommMethods {
    comm_reset: Option<unsafe extern "C-unwind" fn()>,
    flush: unsafe extern "C-unwind" fn() -> c_int,
    flush_if_writable: unsafe extern "C-unwind" fn() -> c_int,
    is_send_pending: Option<unsafe extern "C-unwind" fn()>,
    putmessage: unsafe extern "C-unwind" fn(kind: c_char, body: *const c_char, length: usize) -> c_int,
    putmessage_noblock: unsafe extern "C-unwind" fn(kind: c_char, body: *const c_char, length: usize),
}

/// A stream of fd.c's. Nothing goes through its buffer, so the descriptor below it can be written to directly.
pub struct Stream {
    stream: *mut pg_sys::FILE,
    fd: c_int,
}

// SAFETY: a backend has one thread: it goes nowhere. Parquet's readers and writers ask for it.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// None if there is no such file, or none that may be opened so; errno says why.
    pub fn file(path: &CStr, mode: &CStr) -> Option<Self> {
        // SAFETY: it opens the stream, which is ours.
        unsafe { Self::of(pg_sys::AllocateFile(path.as_ptr(), mode.as_ptr())) }
    }

    /// To or from a program that runs beside.
    pub fn program(command: &CStr, mode: &CStr) -> Self {
        // SAFETY: it opens the stream, which is ours.
        match unsafe { Self::of(pg_sys::OpenPipeStream(command.as_ptr(), mode.as_ptr())) } {
            Some(pipe) => pipe,
            None => raise_io(
                &io::Error::last_os_error(),
                format!("could not execute command \"{}\"", command.to_string_lossy()),
                None,
            ),
        }
    }

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

    fn descriptor(&self) -> ManuallyDrop<File> {
        // SAFETY: open as long as the stream is, which closes it.
        ManuallyDrop::new(unsafe { File::from_raw_fd(self.fd) })
    }

    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&*self.descriptor()).write_all(bytes)
    }

    pub fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        (&*self.descriptor()).read(to)
    }

    /// Fills all of it with what a file has from there on.
    pub fn read_exact_at(&self, to: &mut [u8], from: u64) -> io::Result<()> {
        self.descriptor().read_exact_at(to, from)
    }

    /// The bytes of a file that can be read anywhere; None for a pipe or a device.
    pub fn size(&self) -> Option<u64> {
        let metadata = self.descriptor().metadata().ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    pub fn is_directory(&self) -> bool {
        self.descriptor().metadata().is_ok_and(|metadata| metadata.is_dir())
    }

    fn close(self) -> c_int {
        // SAFETY: of AllocateFile(), and open.
        unsafe { pg_sys::FreeFile(self.stream) }
    }

    fn close_pipe(self) -> c_int {
        // SAFETY: of OpenPipeStream(), and open.
        unsafe { pg_sys::ClosePipeStream(self.stream) }
    }
}

/// Begins to tell pg_stat_progress_copy of a relation, if there is one, in this direction.
pub fn begin_progress(relation: pg_sys::Oid, direction: u32) {
    let command = pg_sys::ProgressCommandType::PROGRESS_COMMAND_COPY;
    // SAFETY: our own entry.
    unsafe { pg_sys::pgstat_progress_start_command(command, relation) };
    progress(pg_sys::PROGRESS_COPY_COMMAND, direction.into());
}

/// There is no more to tell.
pub fn end_progress() {
    // SAFETY: our own entry.
    unsafe { pg_sys::pgstat_progress_end_command() };
}

/// Tells pg_stat_progress_copy.
pub fn progress(parameter: u32, value: i64) {
    // SAFETY: our own entry, and a parameter of COPY's.
    unsafe { pg_sys::pgstat_progress_update_param(parameter as c_int, value) }
}

/// One protocol message to the client. A lost connection is noticed by the next interrupt check.
pub fn send(kind: u8, body: &[u8]) {
    // SAFETY: what pq_endmessage() of pqformat.c calls; the body is copied.
    unsafe {
        guarded!(((*PqCommMethods).putmessage)(
            kind as c_char,
            body.as_ptr().cast(),
            body.len()
        ));
    }
}

/// The same, and nothing is sent: the memory in which PostgreSQL collects messages, 8 kB at first, grows (pqcomm.c).
pub fn send_later(kind: u8, body: &[u8]) {
    // SAFETY: what pq_putmessage_noblock() is; the body is copied.
    unsafe {
        guarded!(((*PqCommMethods).putmessage_noblock)(
            kind as c_char,
            body.as_ptr().cast(),
            body.len()
        ));
    }
}

/// Lets the client have what has been sent.
pub fn flush() {
    // SAFETY: what pq_flush() is. A lost connection is noticed when it is read from.
    unsafe {
        guarded!(((*PqCommMethods).flush)());
    }
}

/// Lets the client have of it what it takes without waiting.
pub fn flush_if_writable() {
    // SAFETY: what pq_flush_if_writable() is. A lost connection is noticed by the next interrupt check.
    unsafe {
        guarded!(((*PqCommMethods).flush_if_writable)());
    }
}

/// A path that COPY takes from a statement.
pub fn require_absolute(name: &str, message: &'static str) {
    if !name.starts_with('/') {
        // A relative path would be inside the data directory.
        fail(PgSqlErrorCode::ERRCODE_INVALID_NAME, message);
    }
}

/// Closes a file, and reports if that fails.
pub fn close_file(stream: Stream, name: &str) {
    if stream.close() != 0 {
        raise_io(
            &io::Error::last_os_error(),
            format!("could not close file \"{name}\""),
            None,
        );
    }
}

/// Ends a program, and reports one that failed.
pub fn close_program(pipe: Stream, command: &str) {
    let status = pipe.close_pipe();
    if status == -1 {
        raise_io(
            &io::Error::last_os_error(),
            "could not close pipe to external command".into(),
            None,
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

/// Raises `message: reason` with the SQLSTATE that errcode_for_file_access would choose.
///
/// `elsewhere`: what to say of a file that the server does not find, or may not open.
pub fn raise_io(error: &io::Error, message: String, elsewhere: Option<&str>) -> ! {
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
        elsewhere.filter(|_| hint).map(str::to_owned),
    )
}
