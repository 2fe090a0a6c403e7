//! The allocator: the system's, which asks the kernel for huge pages where they fit (transparent_hugepage = madvise, as
//! it mostly is), with a reserve behind it. See README.md.

use super::ending::end_session;
use super::reserve::HUGE;
use super::{cgroup, fault, reserve};
use std::alloc::{GlobalAlloc, Layout, System};

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Large memory begins with such a page.
#[inline]
fn aligned(layout: Layout) -> Layout {
    match layout.size() {
        ..HUGE => layout,
        _ => layout.align_to(HUGE).unwrap_or(layout),
    }
}

/// Null if the system has none.
///
/// # Safety
/// As for [`GlobalAlloc::alloc`]: the layout's size is not zero.
#[inline]
unsafe fn system(layout: Layout) -> *mut u8 {
    // SAFETY: alignment does not make the size zero.
    let start = unsafe { System.alloc(aligned(layout)) };
    #[cfg(target_os = "linux")]
    if layout.size() >= HUGE && !start.is_null() {
        use rustix::mm::{Advice, madvise};
        let whole = layout.size() / HUGE * HUGE;
        // SAFETY: memory that we just got; the advice leaves its content alone. Without such pages it does as well.
        let _ = unsafe { madvise(start.cast(), whole, Advice::LinuxHugepage) };
    }
    start
}

/// Whether the system is not to be asked.
#[inline]
fn is_refused(size: usize) -> bool {
    fault::refuses(size) || cgroup::refuses(size)
}

/// Who asks for memory to see whether it is there gets no for an answer. All others cannot be told: they are served
/// from the reserve, once for each time that the work is then ended with an error; when that is used up, the session
/// ends.
///
/// # Safety
/// As for [`system`].
#[cold]
unsafe fn refused(layout: Layout) -> *mut u8 {
    if amax_memory::is_asking() {
        return std::ptr::null_mut();
    }
    amax_memory::refused(layout.size());
    if fault::is_armed() {
        if fault::take_reserve(layout.size()) {
            // SAFETY: as the caller promises.
            return unsafe { system(layout) };
        }
    } else {
        while cgroup::lends(layout.size()).unwrap_or_else(|| reserve::give(layout.size())) {
            // SAFETY: as the caller promises.
            let start = unsafe { system(layout) };
            if !start.is_null() {
                return start;
            }
        }
    }
    end_session(layout.size())
}

// SAFETY: the system's allocator does all of it; what is large is given back with the alignment it was asked for with.
// Nothing here unwinds, nor uses this allocator before it fails for good.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_refused(layout.size()) {
            // SAFETY: the layout is one that may be asked for, as the caller promises.
            let start = unsafe { system(layout) };
            if !start.is_null() {
                return start;
            }
        }
        // SAFETY: as above.
        unsafe { refused(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        fault::freed(layout.size());
        // SAFETY: it came from System with this alignment: `alloc` has aligned by the same size, and `realloc` moves
        // what becomes large or was.
        unsafe { System.dealloc(start, aligned(layout)) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < HUGE && !is_refused(layout.size()) {
            // SAFETY: as the caller promises; what is so small is not aligned otherwise.
            let start = unsafe { System.alloc_zeroed(layout) };
            if !start.is_null() {
                return start;
            }
        }
        // Whoever clears memory takes its pages: advised before, they are huge ones.
        let start = match layout.size() {
            // SAFETY: as the caller promises.
            ..HUGE => unsafe { refused(layout) },
            // SAFETY: as above.
            _ => unsafe { self.alloc(layout) },
        };
        if !start.is_null() {
            // SAFETY: it has so many bytes.
            unsafe { start.write_bytes(0, layout.size()) };
        }
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let in_place = layout.size() < HUGE && size < HUGE;
        if in_place && !is_refused(size) {
            // SAFETY: as the caller promises; what is so small is not aligned otherwise, before or after.
            let moved = unsafe { System.realloc(start, layout, size) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: as the caller promises, the new size is valid with the old alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let moved = match in_place {
            // SAFETY: its size is not zero.
            true => unsafe { refused(new) },
            // SAFETY: as above.
            false => unsafe { self.alloc(new) },
        };
        if !moved.is_null() {
            // SAFETY: both have so many bytes. `start` is as before: System leaves alone what it cannot serve.
            unsafe {
                moved.copy_from_nonoverlapping(start, layout.size().min(size));
                self.dealloc(start, layout);
            }
        }
        moved
    }
}
