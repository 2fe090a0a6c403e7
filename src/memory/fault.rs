//! For tests: memory that is refused (`amax.fault_allocation`). Counted are requests of 64 kB and more, from when the
//! setting is set. `N` refuses the Nth, `N+` all from it on: what is served then comes out of the reserve, to which
//! what is given back goes. `/BYTES` behind it counts smaller ones, too; `=BYTES` behind that is what the reserve has,
//! if it is to be less. Without the feature test_hooks there is no setting, and nothing is refused.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// No request is so large.
const OFF: usize = usize::MAX;

/// Requests of so many bytes are counted now.
static LEAST: AtomicUsize = AtomicUsize::new(OFF);
/// Which of them is refused.
static AT: AtomicU64 = AtomicU64::new(0);
/// Whether all behind it are.
static LASTING: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicU64 = AtomicU64::new(0);
/// Bytes of the reserve.
static RESERVE: AtomicUsize = AtomicUsize::new(0);
/// Bytes that it has left.
static LEFT: AtomicUsize = AtomicUsize::new(0);

#[cfg(feature = "test_hooks")]
mod setting;
#[cfg(feature = "test_hooks")]
pub use setting::{assign, check, show};

#[inline]
pub fn is_armed() -> bool {
    cfg!(feature = "test_hooks") && LEAST.load(Relaxed) != OFF
}

/// Whether a request is to fail.
#[inline]
pub fn refuses(size: usize) -> bool {
    cfg!(feature = "test_hooks") && size >= LEAST.load(Relaxed) && count()
}

#[cold]
fn count() -> bool {
    let count = COUNT.fetch_add(1, Relaxed) + 1;
    let at = AT.load(Relaxed);
    count == at || count > at && LASTING.load(Relaxed)
}

/// Takes what is refused out of the reserve.
pub fn take_reserve(size: usize) -> bool {
    let taken = LEFT.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(size));
    taken.is_ok()
}

#[inline]
pub fn freed(size: usize) {
    if cfg!(feature = "test_hooks") && size >= LEAST.load(Relaxed) {
        let more = LEFT.load(Relaxed).saturating_add(size);
        LEFT.store(more.min(RESERVE.load(Relaxed)), Relaxed);
    }
}
