//! Walking a table in units: the rows of a leaf that a snapshot sees, or those of a row page.

use crate::am::block::{Block, Place, locate};
use crate::columnar::{self, OpenLeaf, Pick};
use crate::pg::stats::{count_rows, count_scan};
use crate::pg::{Relation, Snapshot};
use crate::storage::manifest;
use amax_lsm::{Origin, tid};
use pgrx::pg_sys;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a scan reads at a time.
pub enum Unit {
    /// These rows of a leaf, ascending; who loaded them, if somebody did.
    Leaf(Rc<OpenLeaf>, Option<Origin>, Vec<u32>),
    /// The rows of the block last loaded.
    Page,
}

/// Where a scan is: the blocks of the unit it is at, or, shared by the workers of a parallel scan, the next block.
pub enum Position {
    Own(Range<u32>),
    Shared(*const AtomicU32),
}

/// What a scan has met so far, for EXPLAIN.
#[derive(Default, Clone, Copy)]
pub struct Counters {
    pub leaves: u64,
    pub skipped: u64,
    pub pages: u64,
    /// Rows of leaves that the snapshot sees.
    pub rows: u64,
    /// Rows that have no match in a join above.
    pub unmatched: u64,
    /// Bytes of memory that what was decoded takes.
    pub decoded: u64,
}

impl Counters {
    pub fn counters(&mut self) -> Vec<&mut u64> {
        let Counters {
            leaves,
            skipped,
            pages,
            rows,
            unmatched,
            decoded,
        } = self;
        vec![leaves, skipped, pages, rows, unmatched, decoded]
    }
}

pub struct Source {
    rel: &'static Relation,
    pub snapshot: &'static Snapshot,
    end: u32,
    position: Position,
    /// Blocks of a parallel scan that this process has taken and has to take again.
    again: Range<u32>,
    /// The row page of [`Unit::Page`].
    pub block: Block,
    pub counters: Counters,
    /// The leaf it is at, and what had been decoded of it when it came there.
    last: Option<(Rc<OpenLeaf>, usize)>,
    /// Whether the statistics have this scan.
    counted: bool,
    /// Rows of skipped leaves that the snapshot sees, until somebody notes that they are not wanted.
    pub passed_over: usize,
}

impl Source {
    pub fn new(rel: &'static Relation, snapshot: &'static Snapshot, end: u32, position: Position) -> Source {
        columnar::drop_stale();
        Source {
            rel,
            snapshot,
            end,
            position,
            again: 0..0,
            block: Block::default(),
            counters: Counters::default(),
            last: None,
            counted: false,
            passed_over: 0,
        }
    }

    /// The next blocks in the given direction: one block of a row page, or a run in one leaf. None at the end.
    fn take(&mut self, forward: bool) -> Option<(Range<u32>, Option<Run>)> {
        let (rel, end) = (self.rel, self.end);
        if !self.again.is_empty() {
            let from = self.again.start;
            let (next, run) = run_from(rel, from, self.again.end);
            self.again.start = next;
            return Some((from..next, run));
        }
        match &mut self.position {
            Position::Own(at) if forward => {
                let from = at.end;
                (from < end).then(|| {
                    let (next, run) = run_from(rel, from, end);
                    *at = from..next;
                    (at.clone(), run)
                })
            }
            Position::Own(at) => {
                let last = at.start.checked_sub(1)?;
                let (first, run) = run_upto(rel, last);
                *at = first..last + 1;
                Some((at.clone(), run))
            }
            Position::Shared(shared) => {
                // SAFETY: in the parallel query's shared memory, which outlives the scan.
                let shared = unsafe { &**shared };
                let mut from = shared.load(Ordering::SeqCst);
                loop {
                    if from >= end {
                        return None;
                    }
                    let (next, run) = run_from(rel, from, end);
                    match shared.compare_exchange(from, next, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => return Some((from..next, run)),
                        Err(other) => from = other,
                    }
                }
            }
        }
    }

    /// On a standby, of blocks whose component has been replaced: they are taken from where they are now.
    fn take_again(&mut self, blocks: Range<u32>, forward: bool) {
        match &mut self.position {
            Position::Own(at) if forward => *at = blocks.start..blocks.start,
            Position::Own(at) => *at = blocks.end..blocks.end,
            // These are ours, with those that had to be taken again before them; what follows may be another worker's.
            Position::Shared(_) => self.again = blocks.start..blocks.end.max(self.again.end),
        }
    }

    /// Notes what has been decoded of the leaf it was at.
    pub fn leave(&mut self) {
        if let Some((leaf, before)) = self.last.take() {
            self.counters.decoded += (leaf.decoded() - before) as u64;
            // A worker's share has each leaf once.
            if matches!(self.position, Position::Shared(_)) && is_worker() {
                columnar::close_leaf(&leaf);
            }
        }
    }

    /// The next unit with rows the snapshot sees, but for leaves that `skip` says cannot have rows that are wanted.
    pub fn next(&mut self, forward: bool, skip: &mut dyn FnMut(&OpenLeaf) -> bool) -> Option<Unit> {
        let rel = self.rel;
        if !std::mem::replace(&mut self.counted, true) {
            count_scan(rel);
        }
        loop {
            crate::memory::check_for_interrupts();
            self.block.clear();
            self.leave();
            let Some((blocks, run)) = self.take(forward) else {
                // Beyond the last unit, or before the first.
                if let Position::Own(at) = &mut self.position {
                    *at = if forward { self.end..self.end } else { 0..0 };
                }
                return None;
            };
            match run {
                Some(run) => {
                    self.counters.leaves += 1;
                    let component = &run.manifest.components[run.component];
                    if !columnar::origin::visible(rel, &component.origin, self.snapshot) {
                        continue;
                    }
                    let Ok(leaf) = columnar::open_leaf(rel, component, run.leaf) else {
                        self.take_again(blocks, forward);
                        continue;
                    };
                    if skip(&leaf) {
                        self.counters.skipped += 1;
                        // For the statistics, which have them as heap's do, they are read.
                        let read = columnar::count_of_blocks(rel, &leaf, blocks.clone(), self.snapshot);
                        let Ok(rows) = read else {
                            self.take_again(blocks, forward);
                            continue;
                        };
                        self.passed_over += rows;
                        count_rows(rel, rows);
                        continue;
                    }
                    self.last = Some((leaf.clone(), leaf.decoded()));
                    let read = columnar::rows_of_blocks(rel, &leaf, blocks.clone(), self.snapshot);
                    let Ok(rows) = read else {
                        self.take_again(blocks, forward);
                        continue;
                    };
                    self.counters.rows += rows.len() as u64;
                    count_rows(rel, rows.len());
                    if !rows.is_empty() {
                        return Some(Unit::Leaf(leaf, component.origin, rows));
                    }
                }
                None => {
                    self.block.load(rel, self.snapshot, blocks.start, Pick::All);
                    if self.block.len() > 0 {
                        self.counters.pages += 1;
                        count_rows(rel, self.block.len());
                        return Some(Unit::Page);
                    }
                }
            }
        }
    }

    /// Back to the start, which a parallel scan's leader sees to itself.
    pub fn rewind(&mut self, end: u32) {
        self.block.clear();
        self.counted = false;
        self.end = end;
        self.again = 0..0;
        if let Position::Own(at) = &mut self.position {
            *at = 0..0;
        }
    }
}

/// IsParallelWorker() of parallel.h.
pub fn is_worker() -> bool {
    // SAFETY: a number of the process.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// The leaf that consecutive blocks are in.
struct Run {
    manifest: Rc<amax_lsm::Manifest>,
    component: usize,
    leaf: usize,
}

/// The leaf that block `v` is in, and the blocks around it that are as well; None if it is not columnar, or has no
/// rows.
fn run_around(rel: &Relation, v: u32) -> Option<(Range<u32>, Run)> {
    let (manifest, component, directory) = loop {
        let Place::Columnar(manifest, component) = locate(rel, v) else {
            return None;
        };
        // Unless it is replaced meanwhile, on a standby.
        if let Ok(directory) = manifest::read_directory(rel, &manifest.components[component]) {
            break (manifest, component, directory);
        }
        crate::memory::check_for_interrupts();
    };
    let found = &manifest.components[component];
    let leaf = directory.first_leaf_at(v);
    let entry = directory.leaves.get(leaf)?;
    let held = tid::block(entry.first)..tid::block(entry.last).saturating_add(1);
    let owned = found.blocks.range_of(v)?;
    let blocks = held.start.max(owned.start)..held.end.min(owned.end);
    let run = Run {
        component,
        leaf,
        manifest,
    };
    blocks.contains(&v).then_some((blocks, run))
}

/// What begins with block `v`: the end, and the leaf unless it is one block by itself.
fn run_from(rel: &Relation, v: u32, end: u32) -> (u32, Option<Run>) {
    match run_around(rel, v) {
        Some((blocks, run)) => (blocks.end.min(end), Some(run)),
        None => (v + 1, None),
    }
}

/// What ends with block `v`: the start.
fn run_upto(rel: &Relation, v: u32) -> (u32, Option<Run>) {
    match run_around(rel, v) {
        Some((blocks, run)) => (blocks.start, Some(run)),
        None => (v, None),
    }
}
