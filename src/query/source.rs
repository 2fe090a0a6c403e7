//! Walking a table in units: the rows of a leaf that a snapshot sees, or those of a row page.

use crate::am::block::{locate, Block, Pick, Place};
use crate::columnar::{self, OpenLeaf};
use crate::storage::manifest;
use amax_lsm::{tid, Origin};
use pgrx::pg_sys;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a scan reads at a time.
pub enum Unit {
    /// These rows of a leaf, ascending; who loaded them, unless it is settled.
    Leaf(Rc<OpenLeaf>, Option<Origin>, Vec<u32>),
    /// The rows of the block last loaded.
    Page,
}

/// Where a scan is: a logical block. Workers of a parallel scan share one.
pub enum Position {
    Own(u32),
    Shared(*const AtomicU32),
}

/// What a scan has met so far, for EXPLAIN.
#[derive(Default, Clone, Copy)]
pub struct Met {
    pub leaves: u64,
    pub skipped: u64,
    pub pages: u64,
}

pub struct Source {
    rel: pg_sys::Relation,
    pub snapshot: pg_sys::Snapshot,
    end: u32,
    position: Position,
    /// The row page of [`Unit::Page`].
    pub block: Block,
    pub met: Met,
}

impl Source {
    pub fn new(
        rel: pg_sys::Relation,
        snapshot: pg_sys::Snapshot,
        end: u32,
        position: Position,
    ) -> Source {
        Source {
            rel,
            snapshot,
            end,
            position,
            block: Block::default(),
            met: Met::default(),
        }
    }

    /// Takes the blocks from the position up to what `upto` says of its start. None at the end.
    fn take<R>(&mut self, mut upto: impl FnMut(u32) -> (u32, R)) -> Option<(u32, R)> {
        match &mut self.position {
            Position::Own(at) => {
                let from = *at;
                (from < self.end).then(|| {
                    let (next, what) = upto(from);
                    *at = next;
                    (from, what)
                })
            }
            Position::Shared(shared) => {
                // SAFETY: in the parallel query's shared memory, which outlives the scan.
                let shared = unsafe { &**shared };
                let mut from = shared.load(Ordering::SeqCst);
                loop {
                    if from >= self.end {
                        return None;
                    }
                    let (next, what) = upto(from);
                    match shared.compare_exchange(from, next, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => return Some((from, what)),
                        Err(other) => from = other,
                    }
                }
            }
        }
    }

    /// The next unit with rows the snapshot sees, but for leaves that `skip` says cannot have rows that are wanted.
    pub fn next(&mut self, skip: &mut dyn FnMut(&OpenLeaf) -> bool) -> Option<Unit> {
        let (rel, end) = (self.rel, self.end);
        loop {
            pgrx::check_for_interrupts!();
            self.block.clear();
            let (v, run) = self.take(|v| match run_of(rel, v, end) {
                Some(run) => (run.end, Some(run)),
                None => (v + 1, None),
            })?;
            match run {
                Some(run) => {
                    self.met.leaves += 1;
                    let component = &run.manifest.components[run.component];
                    if !columnar::origin::visible(rel, &component.origin, self.snapshot) {
                        continue;
                    }
                    let leaf = columnar::open_leaf(rel, component, run.leaf);
                    if skip(&leaf) {
                        self.met.skipped += 1;
                        continue;
                    }
                    let rows = columnar::rows_of_blocks(rel, &leaf, v..run.end, self.snapshot);
                    if !rows.is_empty() {
                        return Some(Unit::Leaf(leaf, component.origin, rows));
                    }
                }
                None => {
                    self.block.load(rel, self.snapshot, v, Pick::All);
                    if self.block.len() > 0 {
                        self.met.pages += 1;
                        return Some(Unit::Page);
                    }
                }
            }
        }
    }

    /// Back to the start, which a parallel scan's leader sees to itself.
    pub fn rewind(&mut self, end: u32) {
        self.block.clear();
        self.end = end;
        if let Position::Own(at) = &mut self.position {
            *at = 0;
        }
    }
}

/// Consecutive blocks that one leaf holds.
struct Run {
    manifest: Rc<amax_lsm::Manifest>,
    component: usize,
    leaf: usize,
    end: u32,
}

/// The longest run of blocks from `v` on in one leaf; None if block `v` is not columnar, or not any more.
fn run_of(rel: pg_sys::Relation, v: u32, end: u32) -> Option<Run> {
    let Place::Columnar(manifest, component) = locate(rel, v) else {
        return None;
    };
    let found = &manifest.components[component];
    let directory = manifest::directory(rel, found);
    let leaf = directory.first_leaf_at(v);
    let last = directory
        .leaves
        .get(leaf)
        .filter(|entry| tid::block(entry.first) <= v)
        .map(|entry| tid::block(entry.last))?;
    let stop = found
        .blocks
        .end_of_run(v)
        .min(last.saturating_add(1))
        .min(end);
    Some(Run {
        component,
        leaf,
        end: stop.max(v + 1),
        manifest,
    })
}
