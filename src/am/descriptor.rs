//! What a scan is in the midst of: the descriptor that PostgreSQL hands to our callbacks.

use super::stand_in::StandIns;
use super::thinning::Thinning;
use crate::columnar::LeafRows;
use crate::pg::Pin;
use crate::table::block::Block;
use pgrx::pg_sys;

/// A scan descriptor, begun as PostgreSQL's.
#[repr(C)]
pub struct Scan {
    pub(super) base: pg_sys::TableScanDescData,
    /// Lives in the memory context the scan began in.
    pub(super) state: *mut State,
}

pub struct State {
    /// Logical blocks when the scan began; later ones hold nothing its snapshot sees.
    pub blocks: u32,
    /// Blocks to walk: `first..end`.
    pub(super) first: u32,
    pub(super) end: u32,
    /// The first and last TID of a TID range scan.
    pub(super) range: [pg_sys::ItemPointerData; 2],
    /// The block loaded, and the next row in it (the row after the last returned, or before, going backward).
    pub at: Position,
    pub block: Block,
    pub(super) worker: pg_sys::ParallelBlockTableScanWorkerData,
    /// TABLESAMPLE without a block choice: the next block.
    pub(super) sample_next: u32,
    /// ANALYZE's block.
    pub sample: Option<Sample>,
    /// Which of its rows it is given, and what stands for documents; made with the first.
    pub thinning: Option<Thinning>,
    pub stand_ins: Option<StandIns>,
}

impl State {
    pub fn new() -> State {
        State {
            blocks: 0,
            first: 0,
            end: 0,
            range: Default::default(),
            at: Position::Start,
            block: Block::default(),
            worker: Default::default(),
            sample_next: 0,
            sample: None,
            thinning: None,
            stand_ins: None,
        }
    }
}

impl Drop for State {
    /// Runs when the memory context goes. What is still held then was not let go by `scan::end`: an error ended the
    /// scan, and the resource owner has released its pins.
    fn drop(&mut self) {
        self.block.abandon();
        std::mem::forget(self.sample.take());
    }
}

/// What is being sampled.
pub enum Sample {
    Hot { v: u32, pin: Pin, next: u16 },
    Columnar { rows: LeafRows, v: u32, next: usize },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Start,
    In { row: isize },
    End,
}

/// # Safety
/// A scan that `scan::begin` has begun, and nobody else has its state.
pub unsafe fn state<'a>(scan: pg_sys::TableScanDesc) -> &'a mut State {
    // SAFETY: as the caller promises.
    unsafe { &mut *(*(scan as *mut Scan)).state }
}
