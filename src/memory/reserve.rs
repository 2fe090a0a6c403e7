//! Address space that is set aside, so that there is some to be had when the system refuses more: limits on a process
//! (ulimit -v) and on all of them (vm.overcommit_memory = 2) count what is mapped. No page of it is ever touched.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a huge page.
pub const HUGE: usize = 2 << 20;
/// Bytes that may be taken between two places where an error can be raised.
pub const BYTES: usize = 32 << 20;
/// malloc extends its heap by no less, and aligns what is large to huge pages.
const LEAST: usize = 2 * HUGE;

/// Where it begins; 0: nowhere.
static START: AtomicUsize = AtomicUsize::new(0);
/// Bytes left of it, from there on.
static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Sets aside what is missing, if the system lets it.
pub fn fill() {
    if LEFT.load(Relaxed) == BYTES {
        return;
    }
    give_all();
    let (anywhere, access) = (std::ptr::null_mut(), ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping, which nobody uses.
    let mapped = unsafe { mmap_anonymous(anywhere, BYTES, access, MapFlags::PRIVATE) };
    if let Ok(start) = mapped {
        START.store(start as usize, Relaxed);
        LEFT.store(BYTES, Relaxed);
    }
}

/// Gives the system so much that it can serve a request; false if there is too little left.
pub fn give(bytes: usize) -> bool {
    let left = LEFT.load(Relaxed);
    let wanted = bytes.saturating_add(LEAST).next_multiple_of(LEAST);
    if wanted > left {
        return false;
    }
    unmap(left - wanted, left);
    true
}

pub fn give_all() {
    unmap(0, LEFT.load(Relaxed));
}

fn unmap(from: usize, to: usize) {
    if from < to {
        LEFT.store(from, Relaxed);
        let start = START.load(Relaxed) + from;
        // SAFETY: mapped by `fill`, and used by nobody.
        let _ = unsafe { munmap(start as *mut _, to - from) };
    }
}
