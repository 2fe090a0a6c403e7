//! The end of a session that has no memory left to go on with.

use super::reserve;
use pgrx::prelude::*;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static ENDING: AtomicBool = AtomicBool::new(false);

/// Whether the session ends in the midst of anything: what Rust has in hand may be half done, and is not to be looked
/// at.
pub fn is_ending() -> bool {
    ENDING.load(Relaxed)
}

/// ereport(FATAL): this never returns, so nothing unwinds.
#[cold]
#[expect(ffi_unwind_calls, reason = "an error of level FATAL ends the process")]
pub fn end_session(bytes: usize) -> ! {
    unsafe extern "C-unwind" {
        fn errstart(level: c_int, domain: *const c_char) -> bool;
        fn errcode(code: c_int) -> c_int;
        fn errmsg(format: *const c_char, ...) -> c_int;
        fn errdetail(format: *const c_char, ...) -> c_int;
        fn errhint(format: *const c_char, ...) -> c_int;
        fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
    }
    ENDING.store(true, Relaxed);
    // For what is done on the way out.
    reserve::give_all();
    let detail = c"Failed on request of %zu bytes, and the reserve is used up.";
    // SAFETY: declared as in elog.h, and called in the order of ereport(). The formats end with a zero, and the one that
    // has a directive is given a size_t. Whatever runs on the way out finds `is_ending`.
    unsafe {
        if errstart(PgLogLevel::FATAL as c_int, std::ptr::null()) {
            errcode(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int);
            errmsg(c"out of memory".as_ptr());
            errdetail(detail.as_ptr(), bytes);
            errhint(c"The session ends, so that others are not touched.".as_ptr());
            errfinish(c"memory/ending.rs".as_ptr(), line!() as c_int, c"end_session".as_ptr());
        }
        pg_sys::proc_exit(1);
    }
    // Since 18 the bindings do not know that it does not return.
    #[allow(unreachable_code)]
    {
        unreachable!("proc_exit() has returned")
    }
}
