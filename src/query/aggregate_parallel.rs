//! A parallel aggregate: the node in two parts, one below a Gather node and one above it.
//!
//! In the leader both parts have one state: the lower part adds the rows that the leader reads itself to the aggregator that the upper
//! part merges the workers' groups into. So it takes passes when memory gets short as without workers, and without any worker it is
//! the same. A worker has no passes: when memory gets short it sends its groups, and goes on with none.

use super::aggregate::{child, of};
use super::datum;
use super::tree::next_row;
use pgrx::pg_sys;
use std::collections::HashMap;

/// Bytes of a piece of a worker's groups: well below the size of the queue between two processes (PARALLEL_TUPLE_QUEUE_SIZE).
pub const PIECE: usize = 16 << 10;

/// IsParallelWorker() of parallel.h.
pub unsafe fn is_worker() -> bool {
    pg_sys::ParallelWorkerNumber >= 0
}

/// What a piece begins with.
#[derive(Clone, Copy)]
struct Header {
    worker: i32,
    /// How many bytes the worker's groups took; 0 if their last piece has yet to come.
    used: u64,
}

impl Header {
    const SIZE: usize = 12;

    fn write(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE + PIECE);
        out.extend(self.worker.to_le_bytes());
        out.extend(self.used.to_le_bytes());
        out
    }

    fn read(piece: &[u8]) -> Option<(Header, &[u8])> {
        let (worker, rest) = piece.split_first_chunk()?;
        let (used, rest) = rest.split_first_chunk()?;
        let header = Header {
            worker: i32::from_le_bytes(*worker),
            used: u64::from_le_bytes(*used),
        };
        Some((header, rest))
    }
}

/// A worker's groups on their way.
#[derive(Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    sent: usize,
    used: u64,
    /// Whether all rows have been read.
    done: bool,
}

impl Outbox {
    fn next(&mut self) -> Option<Vec<u8>> {
        let rest = &self.bytes[self.sent..];
        if rest.is_empty() {
            return None;
        }
        let piece = &rest[..rest.len().min(PIECE)];
        self.sent += piece.len();
        let mut out = Header {
            worker: unsafe { pg_sys::ParallelWorkerNumber },
            used: if piece.len() < rest.len() {
                0
            } else {
                self.used
            },
        }
        .write();
        out.extend_from_slice(piece);
        Some(out)
    }
}

/// What has come of workers' groups.
#[derive(Default)]
pub struct Inbox {
    workers: HashMap<i32, Incoming>,
    received: u64,
}

#[derive(Default)]
struct Incoming {
    bytes: Vec<u8>,
    /// The most that groups sent took in the worker.
    used: u64,
}

impl Inbox {
    /// Takes a piece; all bytes of a worker's groups when it is their last.
    fn take(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        let (header, bytes) = Header::read(piece).expect("workers send pieces with headers");
        let incoming = self.workers.entry(header.worker).or_default();
        incoming.bytes.extend_from_slice(bytes);
        if header.used == 0 {
            return None;
        }
        incoming.used = incoming.used.max(header.used);
        self.received += incoming.bytes.len() as u64;
        Some(std::mem::take(&mut incoming.bytes))
    }

    pub unsafe fn explain(&self, es: *mut pg_sys::ExplainState) {
        let used: u64 = self.workers.values().map(|worker| worker.used).sum();
        super::explain::number(c"Memory Peak of Workers kB", used.div_ceil(1024), es);
        super::explain::number(c"Received kB", self.received.div_ceil(1024), es);
    }
}

/// The next piece of the lower part's groups. In the leader pieces are empty: it returns after each unit of rows, so that workers that
/// have to send do not wait for it.
pub unsafe fn send(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    pgrx::check_for_interrupts!();
    let econtext = (*node).ss.ps.ps_ExprContext;
    pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
    let piece = if is_worker() {
        next_piece(node)
    } else {
        of(node).next_unit(child(node)).then(Vec::new)
    };
    let Some(piece) = piece else {
        let result = (*node).ss.ps.ps_ResultTupleSlot;
        crate::compat::clear_slot(result);
        return result;
    };
    let slot = (*node).ss.ss_ScanTupleSlot;
    crate::compat::clear_slot(slot);
    let last = (*(*slot).tts_tupleDescriptor).natts as usize - 1;
    std::slice::from_raw_parts_mut((*slot).tts_isnull, last + 1).fill(true);
    if !piece.is_empty() {
        let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
        *(*slot).tts_values.add(last) = datum::of_bytes(&piece);
        *(*slot).tts_isnull.add(last) = false;
        pg_sys::MemoryContextSwitchTo(old);
    }
    pg_sys::ExecStoreVirtualTuple(slot);
    (*econtext).ecxt_scantuple = slot;
    super::scan::project((*node).ss.ps.ps_ProjInfo)
}

unsafe fn next_piece(node: *mut pg_sys::CustomScanState) -> Option<Vec<u8>> {
    let state = of(node);
    // The leader holds them twice while it merges them, as bytes and as values.
    let limit = state.inputs.limit() / 2;
    loop {
        let piece = state.outbox.next();
        if piece.is_some() || state.outbox.done {
            return piece;
        }
        let mut done = false;
        while !done && state.aggregator.bytes_used() <= limit {
            done = !state.next_unit(child(node));
        }
        state.outbox = Outbox {
            bytes: state.aggregator.serialize(),
            sent: 0,
            used: (state.aggregator.bytes_used() as u64).max(1),
            done,
        };
        state.aggregator.restart();
    }
}

/// Reads all that comes from the workers, and has the lower part read the leader's share.
pub unsafe fn gather(node: *mut pg_sys::CustomScanState) {
    loop {
        let slot = next_row(child(node));
        if slot.is_null() || (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
            return;
        }
        if (*slot).tts_nvalid < 1 {
            pg_sys::slot_getsomeattrs_int(slot, 1);
        }
        if *(*slot).tts_isnull {
            continue;
        }
        let state = of(node);
        if let Some(groups) = state.inbox.take(datum::varlena(*(*slot).tts_values)) {
            state.merge(&groups);
        }
    }
}
