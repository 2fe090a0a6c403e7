//! A scan by several processes.

use super::shared::Shared;
use super::source::is_worker;
use super::state::Scan;
use crate::pg::state::CustomScanState;
use crate::query::plan::node::SharedNode;
use pgrx::pg_sys;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

impl SharedNode for Scan {
    fn shared_size(&mut self, _workers: usize) -> usize {
        let tables = self.source.each().count();
        Shared::size(tables, self.counters().len())
    }

    unsafe fn share(
        &mut self,
        _node: &CustomScanState,
        _leads: *mut pg_sys::ParallelContext,
        memory: NonNull<u8>,
        again: bool,
    ) {
        let ends: Vec<u32> = self.source.each().map(|source| source.end_now()).collect();
        let counters = self.counters().len();
        // SAFETY: as the caller promises.
        let shared = unsafe {
            match again {
                true => Shared::of(memory),
                false => Shared::init(memory, ends.len(), counters),
            }
        };
        shared.rewind(&ends);
        self.take_part(shared);
    }

    unsafe fn join(&mut self, _node: &CustomScanState, memory: NonNull<u8>) {
        // SAFETY: as the caller promises.
        self.take_part(unsafe { Shared::of(memory) });
    }

    /// Workers leave what they have met there, and the leader takes it.
    fn leave(&mut self) {
        let Some(shared) = self.shared.take() else {
            return;
        };
        self.source.leave();
        for (counter, counted) in self.counters().into_iter().zip(shared.counted) {
            if is_worker() {
                counted.fetch_add(*counter, Ordering::SeqCst);
            } else {
                *counter += counted.swap(0, Ordering::SeqCst);
            }
        }
    }
}

impl Scan {
    fn take_part(&mut self, shared: Shared) {
        self.parallel = true;
        self.shared = Some(shared);
        self.source.share(shared.tables, self.from_end);
    }
}
