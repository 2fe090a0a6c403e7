//! What the processes of a parallel scan share.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What the workers of a parallel scan share. It stays until the scan leaves.
#[derive(Clone, Copy)]
pub(super) struct Shared {
    pub(super) tables: &'static [Taken],
    /// What those that are done have counted.
    pub(super) counted: &'static [AtomicU64],
}

/// What the memory begins with; what is taken of each table and the counters follow.
#[repr(C)]
struct Head {
    tables: usize,
    counters: usize,
}

/// Of a table.
#[repr(C)]
pub(super) struct Taken {
    /// Blocks that have been taken.
    next: AtomicU32,
    end: AtomicU32,
}

impl Shared {
    pub(super) fn size(tables: usize, counters: usize) -> usize {
        size_of::<Head>() + tables * size_of::<Taken>() + counters * size_of::<AtomicU64>()
    }

    /// # Safety
    /// Shared memory of [`Shared::size`], which stays as long as this is used.
    pub(super) unsafe fn init(memory: NonNull<u8>, tables: usize, counters: usize) -> Shared {
        // SAFETY: as the caller promises; all of it may be zeros.
        unsafe {
            memory.write_bytes(0, Shared::size(tables, counters));
            memory.cast().write(Head { tables, counters });
            Shared::of(memory)
        }
    }

    /// # Safety
    /// As above, and it has been initialized.
    pub(super) unsafe fn of(memory: NonNull<u8>) -> Shared {
        // SAFETY: as the caller promises; what changes in it is atomic.
        unsafe {
            let &Head { tables, counters } = memory.cast().as_ref();
            let taken = memory.cast::<Head>().add(1).cast::<Taken>();
            let counted = taken.add(tables).cast();
            Shared {
                tables: NonNull::slice_from_raw_parts(taken, tables).as_ref(),
                counted: NonNull::slice_from_raw_parts(counted, counters).as_ref(),
            }
        }
    }

    /// From the start of tables that end there, before any process takes part.
    pub(super) fn rewind(&self, ends: &[u32]) {
        for (table, &end) in self.tables.iter().zip(ends) {
            table.next.store(0, Ordering::SeqCst);
            table.end.store(end, Ordering::SeqCst);
        }
    }
}

impl Taken {
    /// How many blocks have been taken, and where they end.
    pub(super) fn blocks(&'static self) -> (&'static AtomicU32, u32) {
        (&self.next, self.end.load(Ordering::SeqCst))
    }
}
