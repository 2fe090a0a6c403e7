//! On a server that counts CHECK_FOR_INTERRUPTS() (`count_interrupts` in scripts/lib/source.sh) ours count, too.

use pgrx::pg_sys;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Cancels the query when the countdown comes to 0.
pub fn count() {
    static COUNTDOWN: OnceLock<Option<&AtomicI32>> = OnceLock::new();
    // SAFETY: looks a name up in all that is loaded.
    let find = || unsafe { dlsym(null_mut(), c"interrupt_countdown".as_ptr()) };
    // SAFETY: an int of the server's, if it has one.
    let found = COUNTDOWN.get_or_init(|| unsafe { find().cast::<AtomicI32>().as_ref() });
    let Some(countdown) = found else {
        return;
    };
    let left = countdown.load(Relaxed);
    if left > 0 {
        countdown.store(left - 1, Relaxed);
        if left == 1 {
            // SAFETY: flags, as a signal's handler sets them.
            unsafe { (pg_sys::QueryCancelPending, pg_sys::InterruptPending) = (1, 1) };
        }
    }
}
