//! A timeout of ours (timeout.c) that reaches a session which waits for its client.

use pgrx::pg_sys;
use std::cell::OnceCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Of timeout.h, of which there are no bindings: the first number of others' timeouts.
#[cfg(any(feature = "pg15", feature = "pg16"))]
const USER_TIMEOUT: c_int = 12;
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
const USER_TIMEOUT: c_int = 13;

// What goes wrong in these ends the process.
unsafe extern "C" {
    fn RegisterTimeout(id: c_int, handler: unsafe extern "C" fn()) -> c_int;
    fn enable_timeout_after(id: c_int, milliseconds: c_int);
    fn get_timeout_active(id: c_int) -> bool;
}

static PASSED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static TIMEOUT: OnceCell<c_int> = const { OnceCell::new() };
}

/// Has [`take`] say so in so many milliseconds. A session that waits for its client then has a transaction of nothing
/// (ProcessCatchupInterrupt()), as if it had fallen behind with others' changes of catalogs.
pub fn set(milliseconds: i32) {
    // SAFETY: timeouts are there in every backend, and the handler does what one may.
    unsafe {
        let id = TIMEOUT.with(|timeout| *timeout.get_or_init(|| RegisterTimeout(USER_TIMEOUT, passed)));
        enable_timeout_after(id, milliseconds);
    }
}

/// Whether it is set, and has not passed. An error unsets all timeouts.
pub fn is_set() -> bool {
    let id = TIMEOUT.with(|timeout| timeout.get().copied());
    // SAFETY: a timeout that there is.
    id.is_some_and(|id| unsafe { get_timeout_active(id) })
}

/// A signal's handler; the latch has been set before.
// Unguarded: it sets two flags.
unsafe extern "C" fn passed() {
    PASSED.store(true, Ordering::Relaxed);
    // SAFETY: a flag for signal handlers.
    unsafe { pg_sys::catchupInterruptPending = 1 };
}

/// Whether it has passed since this was asked.
pub fn take() -> bool {
    PASSED.load(Ordering::Relaxed) && PASSED.swap(false, Ordering::Relaxed)
}

/// Whether this process serves a client.
pub fn serves_client() -> bool {
    // SAFETY: a word of the process.
    unsafe { pg_sys::MyBackendType == pg_sys::BackendType::B_BACKEND }
}
