//! What the processes of a parallel scan share.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the workers of a parallel scan share. It stays until the scan leaves.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    head: &'static Head,
    /// What those that are done have counted.
    pub(super) counted: &'static [AtomicU64],
}

/// What the memory begins with; the counters follow.
#[repr(C)]
struct Head {
    /// Blocks that have been taken.
    next: AtomicU32,
    end: AtomicU32,
    counters: usize,
}

impl Shared {
    pub(super) fn size(counters: usize) -> usize {
        size_of::<Head>() + counters * size_of::<AtomicU64>()
    }

    /// # Safety
    /// Shared memory of [`Shared::size`], which stays as long as this is used.
    pub(super) unsafe fn init(memory: NonNull<u8>, end: u32, counters: usize) -> Shared {
        // SAFETY: as the caller promises.
        unsafe {
            memory.cast().write(Head {
                next: AtomicU32::new(0),
                end: AtomicU32::new(end),
                counters,
            });
            memory
                .cast::<Head>()
                .add(1)
                .cast::<AtomicU64>()
                .write_bytes(0, counters);
            Shared::of(memory)
        }
    }

    /// # Safety
    /// As above, and it has been initialized.
    pub(super) unsafe fn of(memory: NonNull<u8>) -> Shared {
        // SAFETY: as the caller promises; what changes in it is atomic.
        unsafe {
            let head: &Head = memory.cast().as_ref();
            let first = memory.cast::<Head>().add(1).cast();
            let counted = NonNull::slice_from_raw_parts(first, head.counters).as_ref();
            Shared { head, counted }
        }
    }

    /// From its start again, before any process takes part.
    pub(super) fn rewind(&self, end: u32) {
        self.head.next.store(0, Ordering::SeqCst);
        self.head.end.store(end, Ordering::SeqCst);
    }

    pub(super) fn next(&self) -> &'static AtomicU32 {
        &self.head.next
    }

    pub(super) fn end(&self) -> u32 {
        self.head.end.load(Ordering::SeqCst)
    }
}
