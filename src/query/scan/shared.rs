//! What the processes of a parallel scan share.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// What the workers of a parallel scan share; what those that are done have counted follows, see [`Shared::counted`].
#[repr(C)]
pub(super) struct Shared {
    pub(super) next: AtomicU32,
    pub(super) end: u32,
    pub(super) counters: usize,
}

impl Shared {
    pub(super) fn size(counters: usize) -> usize {
        std::mem::size_of::<Shared>() + counters * std::mem::size_of::<AtomicU64>()
    }
    /// # Safety
    /// A node of ours, begun and not ended.
    pub(super) unsafe fn counted<'a>(shared: *mut Shared) -> &'a [AtomicU64] {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let first = shared.add(1) as *mut AtomicU64;
            std::slice::from_raw_parts(first, (*shared).counters)
        }
    }
}
