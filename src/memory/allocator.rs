//! The allocator: the system's, which asks the kernel for huge pages where they fit (transparent_hugepage = madvise, as
//! it mostly is), with a reserve behind it. See README.md.

use super::ending::end_session;
use super::reserve::HUGE;
use super::{fault, reserve};
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

#[inline]
fn advise(start: *mut u8, layout: Layout) -> *mut u8 {
    #[cfg(target_os = "linux")]
    if layout.size() >= HUGE && !start.is_null() {
        use rustix::mm::{Advice, madvise};
        let whole = layout.size() / HUGE * HUGE;
        // SAFETY: it is memory of ours, and stays as it is. Without such pages it does as well.
        let _ = unsafe { madvise(start.cast(), whole, Advice::LinuxHugepage) };
    }
    start
}

#[inline]
unsafe fn system(layout: Layout) -> *mut u8 {
    advise(System.alloc(aligned(layout)), layout)
}

/// Who asks for memory to see whether it is there gets no for an answer. All others cannot be told: they are served
/// from the reserve, once for each time that the work is then ended with an error; when that is used up, the session
/// ends.
#[cold]
unsafe fn refused(layout: Layout) -> *mut u8 {
    if amax_memory::is_asking() {
        return std::ptr::null_mut();
    }
    amax_memory::refused(layout.size());
    if fault::is_armed() {
        if fault::take_reserve(layout.size()) {
            return system(layout);
        }
    } else {
        while reserve::give(layout.size()) {
            let start = system(layout);
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
        if fault::refuses(layout.size()) {
            return refused(layout);
        }
        let start = system(layout);
        if start.is_null() {
            return refused(layout);
        }
        start
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        fault::freed(layout.size());
        System.dealloc(start, aligned(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < HUGE && !fault::refuses(layout.size()) {
            let start = System.alloc_zeroed(layout);
            if !start.is_null() {
                return start;
            }
        }
        // Whoever clears memory takes its pages: advised before, they are huge ones.
        let start = if layout.size() < HUGE {
            refused(layout)
        } else {
            self.alloc(layout)
        };
        if !start.is_null() {
            start.write_bytes(0, layout.size());
        }
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = Layout::from_size_align_unchecked(size, layout.align());
        let moved = if layout.size() < HUGE && size < HUGE {
            if !fault::refuses(size) {
                let moved = System.realloc(start, layout, size);
                if !moved.is_null() {
                    return moved;
                }
            }
            refused(new)
        } else {
            self.alloc(new)
        };
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(start, layout.size().min(size));
            self.dealloc(start, layout);
        }
        moved
    }
}
