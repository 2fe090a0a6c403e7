//! What the processes of a parallel scan share.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the workers of a parallel scan share; what those that are done have counted follows, see [`Shared::counted`]. It
/// stays until the scan leaves.
#[repr(C)]
pub(super) struct Shared {
    /// Blocks that have been taken.
    pub(super) next: AtomicU32,
    pub(super) end: AtomicU32,
    counters: usize,
}

impl Shared {
    pub(super) fn size(counters: usize) -> usize {
        size_of::<Shared>() + counters * size_of::<AtomicU64>()
    }

    /// # Safety
    /// Shared memory of [`Shared::size`], which stays as long as this is used.
    pub(super) unsafe fn init(memory: NonNull<u8>, end: u32, counters: usize) -> &'static Shared {
        // SAFETY: as the caller promises.
        unsafe {
            memory.cast().write(Shared {
                next: AtomicU32::new(0),
                end: AtomicU32::new(end),
                counters,
            });
            memory
                .cast::<Shared>()
                .add(1)
                .cast::<AtomicU64>()
                .as_ptr()
                .write_bytes(0, counters);
            Shared::of(memory)
        }
    }

    /// # Safety
    /// As above, and it has been initialized.
    pub(super) unsafe fn of(memory: NonNull<u8>) -> &'static Shared {
        // SAFETY: as the caller promises; what changes in it is atomic.
        unsafe { memory.cast().as_ref() }
    }

    /// From its start again, before any process takes part.
    ///
    /// # Safety
    /// As above.
    pub(super) unsafe fn rewind(memory: NonNull<u8>, end: u32) -> &'static Shared {
        // SAFETY: as the caller promises.
        let shared = unsafe { Shared::of(memory) };
        shared.next.store(0, Ordering::SeqCst);
        shared.end.store(end, Ordering::SeqCst);
        shared
    }

    pub(super) fn counted(&self) -> &[AtomicU64] {
        // SAFETY: so many follow it.
        unsafe {
            let first = std::ptr::from_ref(self).add(1).cast();
            std::slice::from_raw_parts(first, self.counters)
        }
    }
}
