//! An error for want of memory takes memory itself: pgrx copies it wherever it passes from C to Rust, into the memory
//! context of the day, and makes it anew on the way back. A copy that is refused is one more error, and the sixth is one
//! too many for PostgreSQL ("ERRORDATA_STACK_SIZE exceeded", a PANIC). So the reserve is given up for the first: by a
//! callback at the bottom of PostgreSQL's stack of error contexts, which is called before the error leaves its place.

use super::reserve;
use pgrx::pg_sys;
use std::ffi::c_void;
use std::ptr::{addr_of_mut, null_mut};

static mut BOTTOM: pg_sys::ErrorContextCallback = pg_sys::ErrorContextCallback {
    previous: null_mut(),
    callback: Some(callback),
    arg: null_mut(),
};

/// # Safety
/// As errfinish() calls it: with an error at hand.
// Unguarded: it cannot panic.
unsafe extern "C-unwind" fn callback(_: *mut c_void) {
    // SAFETY: as the caller promises; returns a number of the error.
    if unsafe { pg_sys::geterrcode() } == pgrx::PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as i32 {
        reserve::give_all();
    }
}

/// Puts the callback where it belongs, if it is not there: a statement that fails empties the stack.
pub fn watch() {
    let bottom = addr_of_mut!(BOTTOM);
    let mut last = addr_of_mut!(pg_sys::error_context_stack);
    loop {
        // SAFETY: of a list whose elements are there as long as they are in it.
        let element = unsafe { *last };
        if element == bottom {
            return;
        }
        if element.is_null() {
            break;
        }
        // SAFETY: as above.
        last = unsafe { addr_of_mut!((*element).previous) };
    }
    // SAFETY: ours is there for ever. Whoever takes an element away makes what was below it the stack.
    unsafe { *last = bottom }
}
