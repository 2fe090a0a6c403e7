//! Groups on their way from a worker to the leader: batches of them as bytes, which go in pieces.

use crate::query::batch::raise::raise;
use amax_exec::{Aggregator, By};
use pgrx::pg_sys;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

/// Bytes of a piece of a worker's groups: well below the size of the queue between two processes
/// (PARALLEL_TUPLE_QUEUE_SIZE).
pub const PIECE: usize = 16 << 10;

/// What a piece begins with.
#[derive(Clone, Copy)]
pub struct Header {
    worker: i32,
    /// Which of the worker's batches of groups it is of.
    batch: u32,
    /// How many bytes the worker's groups took; 0 if their last piece has yet to come.
    used: u64,
}

impl Header {
    const SIZE: usize = 16;

    pub fn write(self) -> [u8; Self::SIZE] {
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
    pub due: bool,
    /// Whether all rows have been read.
    pub done: bool,
}

impl Outbox {
    /// `counted` is as [`Aggregator::serialize`] has it.
    pub fn add(&mut self, aggregator: &mut Aggregator, counted: bool) {
        let used = (aggregator.bytes_used() as u64).max(1);
        let groups = aggregator.serialize(counted).unwrap_or_else(|e| raise(e));
        self.waiting.push_back((groups, used));
        aggregator.restart();
    }

    pub fn bytes(&self) -> usize {
        self.waiting.iter().map(|(bytes, _)| bytes.len()).sum()
    }

    /// Has `send` send the next piece, of at most so many bytes with its header; false if there is none.
    pub fn next(&mut self, most: usize, send: impl FnOnce(Header, &[u8])) -> bool {
        let Some((bytes, used)) = self.waiting.front() else {
            return false;
        };
        let rest = &bytes[self.sent..];
        let piece = &rest[..rest.len().min(most - Header::SIZE)];
        self.sent += piece.len();
        let last = piece.len() == rest.len();
        let header = Header {
            // SAFETY: a number of the process.
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
    pub used: HashMap<i32, u64>,
    pub received: u64,
    /// By what rows were exchanged, if they were.
    pub by: Option<By>,
}

impl Inbox {
    /// Takes a piece; all bytes of a batch of groups when it is its last.
    pub fn take<'a>(&mut self, piece: &'a [u8]) -> Option<Cow<'a, [u8]>> {
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
}
