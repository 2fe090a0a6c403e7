//! A parallel aggregate: the node in two parts, one below a Gather node and one above it.
//!
//! In the leader both parts have one state: the lower part adds the rows that the leader reads itself to the aggregator that the upper
//! part merges the workers' groups into. So it takes passes when memory gets short as without workers, and without any worker it is
//! the same. A worker has no passes: when memory gets short it sends its groups, and goes on with none.
//!
//! While it reads, a worker also puts its groups into a *mailbox* in shared memory whenever that is empty. Its table stays within the caches
//! of its processor then, and the leader, which looks for mail after each unit of its own rows, merges while the worker goes on: who
//! has less to merge reads more rows.

use super::aggregate::{child, of, State};
use super::datum;
use super::tree::{next_row, project};
use crate::storage::shm;
use amax_exec::Aggregator;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a piece of a worker's groups: well below the size of the queue between two processes (PARALLEL_TUPLE_QUEUE_SIZE).
pub const PIECE: usize = 16 << 10;

/// Bytes of the largest piece a mailbox holds.
const MAIL: usize = 2 << 20;
/// A worker begins to mail its groups when they take so many bytes.
const ENOUGH: usize = MAIL;

/// A piece of a worker's groups in shared memory.
#[repr(C)]
pub struct Mailbox {
    /// Bytes of the piece that waits for the leader; 0: none. The worker writes when it is 0, the leader reads when it is not.
    len: AtomicUsize,
    piece: [u8; MAIL],
}

impl Mailbox {
    unsafe fn is_empty(mailbox: *mut Mailbox) -> bool {
        (*mailbox).len.load(Ordering::Acquire) == 0
    }

    /// Puts a piece into an empty one.
    unsafe fn put(mailbox: *mut Mailbox, header: Header, bytes: &[u8]) {
        assert!(
            bytes.len() <= MAIL - Header::SIZE,
            "a piece fits its mailbox"
        );
        let piece = std::slice::from_raw_parts_mut(&raw mut (*mailbox).piece as *mut u8, MAIL);
        let (head, body) = piece.split_at_mut(Header::SIZE);
        head.copy_from_slice(&header.write());
        body[..bytes.len()].copy_from_slice(bytes);
        let len = Header::SIZE + bytes.len();
        (*mailbox).len.store(len, Ordering::Release);
    }

    /// What is there; nothing if it is empty. [`Mailbox::clear`] ends it.
    unsafe fn piece<'a>(mailbox: *mut Mailbox) -> &'a [u8] {
        let len = (*mailbox).len.load(Ordering::Acquire);
        std::slice::from_raw_parts(&raw const (*mailbox).piece as *const u8, len)
    }

    unsafe fn clear(mailbox: *mut Mailbox) {
        (*mailbox).len.store(0, Ordering::Release);
    }
}

/// IsParallelWorker() of parallel.h.
pub unsafe fn is_worker() -> bool {
    pg_sys::ParallelWorkerNumber >= 0
}

/// What a piece begins with.
#[derive(Clone, Copy)]
struct Header {
    worker: i32,
    /// Which of the worker's batches of groups it is of. Pieces of one come in order, but mail may overtake rows that are of the one before.
    batch: u32,
    /// How many bytes the worker's groups took; 0 if their last piece has yet to come.
    used: u64,
}

impl Header {
    const SIZE: usize = 16;

    fn write(self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..4].copy_from_slice(&self.worker.to_le_bytes());
        out[4..8].copy_from_slice(&self.batch.to_le_bytes());
        out[8..].copy_from_slice(&self.used.to_le_bytes());
        out
    }

    fn read(piece: &[u8]) -> Option<(Header, &[u8])> {
        let (worker, rest) = piece.split_first_chunk()?;
        let (batch, rest) = rest.split_first_chunk()?;
        let (used, rest) = rest.split_first_chunk()?;
        let header = Header {
            worker: i32::from_le_bytes(*worker),
            batch: u32::from_le_bytes(*batch),
            used: u64::from_le_bytes(*used),
        };
        Some((header, rest))
    }
}

/// A worker's groups on their way.
#[derive(Default)]
pub struct Outbox {
    /// In the order they go: bytes of groups, and what the groups took.
    waiting: VecDeque<(Vec<u8>, u64)>,
    /// The first's number, and how much of it has been sent.
    batch: u32,
    sent: usize,
    /// Whether they have to go before more rows are read.
    due: bool,
    /// Whether all rows have been read.
    done: bool,
}

impl Outbox {
    fn add(&mut self, aggregator: &mut Aggregator) {
        let used = (aggregator.bytes_used() as u64).max(1);
        self.waiting.push_back((aggregator.serialize(), used));
        aggregator.restart();
    }

    fn bytes(&self) -> usize {
        self.waiting.iter().map(|(bytes, _)| bytes.len()).sum()
    }

    /// Has `send` send the next piece, of at most so many bytes with its header; false if there is none.
    fn next(&mut self, most: usize, send: impl FnOnce(Header, &[u8])) -> bool {
        let Some((bytes, used)) = self.waiting.front() else {
            return false;
        };
        let rest = &bytes[self.sent..];
        let piece = &rest[..rest.len().min(most - Header::SIZE)];
        self.sent += piece.len();
        let last = piece.len() == rest.len();
        let header = Header {
            worker: unsafe { pg_sys::ParallelWorkerNumber },
            batch: self.batch,
            used: if last { *used } else { 0 },
        };
        send(header, piece);
        if last {
            self.waiting.pop_front();
            self.batch += 1;
            self.sent = 0;
        }
        true
    }
}

/// What has come of workers' groups.
#[derive(Default)]
pub struct Inbox {
    /// By worker and batch, what is not complete.
    batches: HashMap<(i32, u32), Vec<u8>>,
    /// The most that groups sent took in a worker.
    used: HashMap<i32, u64>,
    received: u64,
}

impl Inbox {
    /// Takes a piece; all bytes of a batch of groups when it is its last.
    fn take<'a>(&mut self, piece: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let (header, bytes) = Header::read(piece).expect("workers send pieces with headers");
        self.received += bytes.len() as u64;
        let used = self.used.entry(header.worker).or_default();
        *used = header.used.max(*used);
        let batch = (header.worker, header.batch);
        if header.used == 0 {
            let before = self.batches.entry(batch).or_default();
            before.extend_from_slice(bytes);
            return None;
        }
        let Some(mut all) = self.batches.remove(&batch) else {
            return Some(bytes.into());
        };
        all.extend_from_slice(bytes);
        Some(all.into())
    }

    pub unsafe fn explain(&self, es: *mut pg_sys::ExplainState) {
        let used: u64 = self.used.values().sum();
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
        of(node).open_mail();
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
    project((*node).ss.ps.ps_ProjInfo)
}

unsafe fn next_piece(node: *mut pg_sys::CustomScanState) -> Option<Vec<u8>> {
    let state = of(node);
    // The leader holds them twice while it merges them, as bytes and as values.
    let limit = state.inputs.limit() / 2;
    loop {
        if state.outbox.due {
            let mut row = None;
            let send = |header: Header, piece: &[u8]| row = Some([&header.write(), piece].concat());
            if state.outbox.next(PIECE, send) || state.outbox.done {
                return row;
            }
            state.outbox.due = false;
        }
        while !state.outbox.done && state.aggregator.bytes_used() + state.outbox.bytes() <= limit {
            state.outbox.done = !state.next_unit(child(node));
            state.post();
        }
        state.outbox.add(&mut state.aggregator);
        state.outbox.due = true;
    }
}

impl State {
    /// In a worker: puts a piece of its groups into its mailbox, if that is empty.
    unsafe fn post(&mut self) {
        let Some(&mailbox) = self.mail.first() else {
            return;
        };
        if self.outbox.waiting.is_empty() && self.aggregator.bytes_used() > ENOUGH {
            self.outbox.add(&mut self.aggregator);
        }
        if Mailbox::is_empty(mailbox) {
            let put = |header, piece: &[u8]| Mailbox::put(mailbox, header, piece);
            self.outbox.next(MAIL, put);
        }
    }

    /// In the leader: merges what is in the mailboxes.
    unsafe fn open_mail(&mut self) {
        for at in 0..self.mail.len() {
            let piece = Mailbox::piece(self.mail[at]);
            if !piece.is_empty() {
                self.receive(piece);
                Mailbox::clear(self.mail[at]);
            }
        }
    }

    /// Takes a piece of a worker's groups, and merges them when it is their last.
    fn receive(&mut self, piece: &[u8]) {
        if let Some(groups) = self.inbox.take(piece) {
            self.merge(&groups);
        }
    }

    /// Whether groups may be many: what the planner thinks is often far off.
    fn wants_mail(&self) -> bool {
        !self.inputs.keys.is_empty() || self.inputs.distinct_counts() > 0
    }
}

/// The workers' mailboxes in a query's shared memory: how many, and they.
#[repr(C)]
struct Mailroom {
    boxes: usize,
    first: [Mailbox; 0],
}

impl Mailroom {
    unsafe fn mailbox(room: *mut Mailroom, worker: usize) -> *mut Mailbox {
        (&raw mut (*room).first as *mut Mailbox).add(worker)
    }
}

/// Bytes of shared memory for the mailboxes of so many workers; where that is tight there are none.
#[pg_guard]
pub unsafe extern "C-unwind" fn estimate_dsm(
    node: *mut pg_sys::CustomScanState,
    context: *mut pg_sys::ParallelContext,
) -> pg_sys::Size {
    let boxes = (*context).nworkers as usize * size_of::<Mailbox>();
    let wanted = of(node).wants_mail() && shm::there_is_room(boxes);
    size_of::<Mailroom>() + if wanted { boxes } else { 0 }
}

/// Of a parallel query that begins, or begins again.
#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    let room = coordinate as *mut Mailroom;
    (*room).boxes = ((*node).pscan_len - size_of::<Mailroom>()) / size_of::<Mailbox>();
    let mail = (0..(*room).boxes).map(|worker| Mailroom::mailbox(room, worker));
    of(node).mail = mail.collect();
    for &mailbox in &of(node).mail {
        Mailbox::clear(mailbox);
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn initialize_worker(
    node: *mut pg_sys::CustomScanState,
    _toc: *mut pg_sys::shm_toc,
    coordinate: *mut std::ffi::c_void,
) {
    let room = coordinate as *mut Mailroom;
    let worker = pg_sys::ParallelWorkerNumber as usize;
    if worker < (*room).boxes {
        of(node).mail = vec![Mailroom::mailbox(room, worker)];
    }
}

/// Before the shared memory goes.
#[pg_guard]
pub unsafe extern "C-unwind" fn shutdown(node: *mut pg_sys::CustomScanState) {
    of(node).mail = Vec::new();
}

/// Reads all that comes from the workers, and has the lower part read the leader's share.
pub unsafe fn gather(node: *mut pg_sys::CustomScanState) {
    loop {
        let slot = next_row(child(node));
        if slot.is_null() || (*slot).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
            of(node).open_mail();
            return;
        }
        // A worker's mail comes before what it sends as rows.
        of(node).open_mail();
        if (*slot).tts_nvalid < 1 {
            pg_sys::slot_getsomeattrs_int(slot, 1);
        }
        if *(*slot).tts_isnull {
            continue;
        }
        of(node).receive(datum::varlena(*(*slot).tts_values));
    }
}
