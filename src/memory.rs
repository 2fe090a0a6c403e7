//! How malloc deals with vectors. A leaf's columns and what is computed of them are some hundred kilobytes each, allocated and freed for
//! every leaf; by default malloc gives such memory back to the system at once, and touching it anew costs up to a third of a query.
//! Hash tables are larger, and looked at all over: with pages of 4 kB each look takes a walk of the page tables beside the cache miss.

use std::alloc::{GlobalAlloc, Layout, System};

/// Has a session keep up to 64 MB of free memory at the end of its heap.
pub fn init() {
    #[cfg(target_env = "gnu")]
    {
        use std::ffi::c_int;
        extern "C" {
            fn mallopt(parameter: c_int, value: c_int) -> c_int;
        }
        // malloc.h
        const M_TRIM_THRESHOLD: c_int = -1;
        const M_MMAP_THRESHOLD: c_int = -3;
        // SAFETY: sets parameters of malloc, which may be called at any time.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, 32 << 20);
            mallopt(M_TRIM_THRESHOLD, 64 << 20);
        }
    }
}

/// The system's allocator, which asks the kernel for huge pages where they fit (transparent_hugepage = madvise, as it mostly is).
struct HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Bytes of a huge page.
const HUGE: usize = 2 << 20;

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
        use rustix::mm::{madvise, Advice};
        let whole = layout.size() / HUGE * HUGE;
        // SAFETY: it is memory of ours, and stays as it is. Without such pages it does as well.
        let _ = unsafe { madvise(start.cast(), whole, Advice::LinuxHugepage) };
    }
    start
}

// SAFETY: the system's allocator does all of it; what is large is given back with the alignment it was asked for with.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        advise(System.alloc(aligned(layout)), layout)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        System.dealloc(start, aligned(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < HUGE {
            return System.alloc_zeroed(layout);
        }
        // Whoever clears memory takes its pages: advised before, they are huge ones.
        let start = self.alloc(layout);
        if !start.is_null() {
            start.write_bytes(0, layout.size());
        }
        start
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() < HUGE && size < HUGE {
            return System.realloc(start, layout, size);
        }
        let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
        if !moved.is_null() {
            moved.copy_from_nonoverlapping(start, layout.size().min(size));
            self.dealloc(start, layout);
        }
        moved
    }
}
