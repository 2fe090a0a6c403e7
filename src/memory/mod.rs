//! Memory of Rust's side: how malloc deals with vectors, and what happens when there is no more. See README.md.

mod allocator;
mod cgroup;
#[cfg(feature = "test_hooks")]
mod countdown;
mod ending;
mod errors;
pub mod fault;
mod reserve;

pub use ending::is_ending;

use pgrx::PgMemoryContexts;
use pgrx::prelude::*;

/// Sets the reserve aside, and has a session keep up to 64 MB of free memory at the end of its heap: a leaf's columns
/// and what is computed of them are some hundred kilobytes each, allocated and freed for every leaf; by default malloc
/// gives such memory back to the system at once, and touching it anew costs up to a third of a query. Hash tables are
/// larger, and looked at all over: with pages of 4 kB each look takes a walk of the page tables beside the cache miss,
/// hence `allocator`.
pub fn init() {
    #[cfg(target_env = "gnu")]
    {
        use std::ffi::c_int;
        unsafe extern "C" {
            safe fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        // malloc.h
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, 64 << 20);
    }
    reserve::fill();
    errors::watch();
}

/// CHECK_FOR_INTERRUPTS(), and an error if memory was refused a while ago: where the one may be raised, so may the
/// other.
#[inline]
pub fn check_for_interrupts() {
    #[cfg(feature = "test_hooks")]
    countdown::count();
    pgrx::check_for_interrupts!();
    if let Err(error) = amax_memory::check("executing") {
        // SAFETY: reads what ProcessInterrupts() reads.
        if unsafe { pg_sys::InterruptHoldoffCount == 0 && pg_sys::CritSectionCount == 0 } {
            raise(error)
        }
    }
}

/// Raises an error unless so much memory can be had.
#[inline]
pub fn ask(bytes: usize, what: &'static str) {
    amax_memory::ask(bytes, what).unwrap_or_else(|e| raise(e))
}

/// Makes room for more elements of a vector that grows with the table, or raises an error.
#[inline]
pub fn make_room<T>(vec: &mut Vec<T>, more: usize, what: &'static str) {
    amax_memory::reserve(vec, more, what).unwrap_or_else(|e| raise(e))
}

#[cold]
pub fn raise(error: amax_memory::OutOfMemory) -> ! {
    amax_memory::forget();
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        "out of memory",
        format!("Failed on request of {} bytes for {}.", error.bytes, error.what)
    );
}

/// A (sub)transaction has ended: whatever was refused went well nevertheless, or was an error.
pub fn settle() {
    amax_memory::forget();
    reserve::fill();
    cgroup::settle();
    errors::watch();
}

struct Kept<T>(std::mem::ManuallyDrop<T>);

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        if !is_ending() {
            // SAFETY: once, and nobody looks at it any more.
            unsafe { std::mem::ManuallyDrop::drop(&mut self.0) }
        }
    }
}

/// Moves a value into a memory context, with which it is dropped.
pub fn keep<T>(context: &mut PgMemoryContexts, value: T) -> *mut T {
    let kept = Kept(std::mem::ManuallyDrop::new(value));
    // SAFETY: the field's address is all that is taken.
    unsafe { (&raw mut (*context.leak_and_drop_on_delete(kept)).0).cast() }
}

/// Gives the system back what has been freed, where the allocator is glibc's. What is left free in between is no more to
/// become huge pages, as the kernel makes them of mostly empty ones as well.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use rustix::mm::{Advice, madvise};
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: it looks at free memory alone.
        unsafe { malloc_trim(0) };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        for heap in maps.lines().filter(|line| line.ends_with("[heap]")) {
            let bounds = heap.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let parsed = bounds.map(|(start, end)| (usize::from_str_radix(start, 16), usize::from_str_radix(end, 16)));
            if let Some((Ok(start), Ok(end))) = parsed {
                // SAFETY: of this process; the advice leaves what is there alone.
                let _ = unsafe {
                    madvise(
                        std::ptr::with_exposed_provenance_mut(start),
                        end - start,
                        Advice::LinuxNoHugepage,
                    )
                };
            }
        }
    }
}
