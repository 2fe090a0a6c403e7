//! Walking a table in units: the rows of a leaf that a snapshot sees, or those of a row page.

use super::whole::Whole;
use crate::columnar::{self, OpenLeaf, Pick};
use crate::counters::{self, Count};
use crate::pg::relation::FileId;
use crate::pg::stats::{count_rows, count_scan};
use crate::pg::{Relation, Snapshot};
use crate::storage::manifest::{self, Replaced};
use crate::storage::meta::logical_blocks;
use crate::table::block::{Block, Place, locate};
use crate::table::row_pages;
use amax_format::{RowNumbers, row_numbers};
use amax_lsm::{Origin, tid};
use pgrx::pg_sys;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What a scan reads at a time.
pub enum Unit {
    /// These rows of a leaf, ascending; who loaded them, if somebody did.
    Leaf(Rc<OpenLeaf>, Option<Origin>, RowNumbers),
    /// The rows of the block last loaded.
    Page,
}

/// Where a scan is: the blocks of the unit it is at; blocks that are left, of which the last come next; or, shared by the
/// workers of a parallel scan, how many blocks have been taken, from the start or from the end.
enum Position {
    Own(Range<u32>),
    Listed(Vec<Range<u32>>),
    Shared(&'static AtomicU32, bool),
}

/// A unit of a leaf that a scan has met, which it meets again when it starts again: the snapshot is the same, and so are
/// the rows that it sees, however much is flushed or merged meanwhile.
struct Known {
    blocks: Range<u32>,
    place: (u64, usize),
    leaf: Rc<OpenLeaf>,
    origin: Option<Origin>,
    rows: RowNumbers,
}

/// Units that are remembered: those that a scan which starts again and again and soon stops will meet.
const KNOWN: usize = 8;
/// Blocks of a leaf that are read at first where the reader may stop early, and how many times more each time after.
const FIRST: (u32, u32) = (1, 4);

/// What a scan has met so far, for EXPLAIN.
#[derive(Default, Clone, Copy)]
pub struct Counters {
    pub leaves: u64,
    pub skipped: u64,
    /// Of those, the ones that whoever drives the scan had no use for.
    pub unwanted: u64,
    pub pages: u64,
    /// Of those, the ones whose rows the session had kept as a leaf, or does from now on.
    pub kept: u64,
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
            unwanted,
            pages,
            kept,
            rows,
            unmatched,
            decoded,
        } = self;
        vec![leaves, skipped, unwanted, pages, kept, rows, unmatched, decoded]
    }
}

pub struct Source {
    rel: &'static Relation,
    pub snapshot: &'static Snapshot,
    /// The blocks that are scanned, of those that there are.
    pub start: u32,
    end: u32,
    /// Where they end, if there are more.
    last: u32,
    position: Position,
    /// Blocks of a parallel scan that this process has taken and has to take again.
    again: Range<u32>,
    /// The row page of [`Unit::Page`].
    pub block: Block,
    pub counters: Counters,
    /// The leaf it is at, and what had been decoded of it when it came there.
    open: Option<(Rc<OpenLeaf>, usize)>,
    /// The component and leaf it is at.
    at_leaf: Option<(u64, usize)>,
    /// Blocks of a leaf that are read next unless all rows will be asked for.
    step: u32,
    /// Units at the start, once the scan has been started again.
    known: Vec<Known>,
    again_and_again: bool,
    whole: Whole,
    /// Whether the statistics have this scan.
    counted: bool,
    /// Rows of skipped leaves that the snapshot sees, until somebody notes that they are not wanted.
    pub passed_over: usize,
    /// Whether rows of row pages may come as those of a leaf.
    keeps_row_pages: bool,
    /// Below this block they do not.
    row_by_row: u32,
}

impl Source {
    /// Has the table's counts know of what was read. The leader has taken what workers have met.
    pub fn count(&self) {
        let Counters { leaves, skipped, .. } = self.counters;
        if leaves > 0 && !is_worker() && !self.rel.is_temporary() {
            let counts = [(Count::LeavesRead, leaves - skipped), (Count::LeavesSkipped, skipped)];
            counters::count(self.rel.id(), &counts);
        }
    }

    /// Of these blocks, of those that there are; `shared` is how many of them have been taken, and whether from the end.
    pub fn new(
        rel: &'static Relation,
        snapshot: &'static Snapshot,
        Range { start, end: last }: Range<u32>,
        shared: Option<(&'static AtomicU32, bool)>,
    ) -> Source {
        columnar::drop_stale();
        Source {
            rel,
            snapshot,
            start,
            end: logical_blocks(rel).min(last),
            last,
            position: match shared {
                None => Position::Own(start..start),
                Some((taken, from_end)) => Position::Shared(taken, from_end),
            },
            again: 0..0,
            block: Block::default(),
            counters: Counters::default(),
            open: None,
            at_leaf: None,
            step: FIRST.0,
            known: Vec::new(),
            again_and_again: false,
            whole: Whole::default(),
            counted: false,
            passed_over: 0,
            row_by_row: 0,
            keeps_row_pages: snapshot.is_mvcc() && row_pages::may_be_kept(rel),
        }
    }

    /// The file of its table.
    pub fn file(&self) -> FileId {
        self.rel.file()
    }

    /// The same as one that processes share.
    pub fn share(&mut self, (taken, end): (&'static AtomicU32, u32), from_end: bool) {
        let shared = Source::new(self.rel, self.snapshot, self.start..end, Some((taken, from_end)));
        let before = std::mem::replace(self, shared);
        self.counters = before.counters;
    }

    /// Rows of the table that have been met: pgstat_count_heap_getnext() (pgstat.h).
    pub fn note_met(&self, rows: usize) {
        count_rows(self.rel, rows);
    }

    /// Where the blocks end as of now.
    pub fn end_now(&self) -> u32 {
        logical_blocks(self.rel).min(self.last)
    }

    /// The next blocks in the given direction, and what they are. None at the end.
    fn take(&mut self, forward: bool) -> Option<(Range<u32>, Run)> {
        let (rel, start, end) = (self.rel, self.start, self.end);
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
                let last = at.start.checked_sub(1).filter(|&last| last >= start)?;
                let (first, run) = run_upto(rel, last, start);
                *at = first..last + 1;
                Some((at.clone(), run))
            }
            Position::Listed(left) => {
                let blocks = left.pop()?;
                let (next, run) = run_from(rel, blocks.start, blocks.end);
                if next < blocks.end {
                    left.push(next..blocks.end);
                }
                Some((blocks.start..next, run))
            }
            &mut Position::Shared(shared, from_end) => {
                let mut taken = shared.load(Ordering::SeqCst);
                loop {
                    let left = end.saturating_sub(start).checked_sub(taken).filter(|&left| left > 0)?;
                    let (blocks, run) = if from_end {
                        let end = start + left;
                        let (first, run) = run_upto(rel, end - 1, start);
                        (first..end, run)
                    } else {
                        let from = start + taken;
                        let (next, run) = run_from(rel, from, end);
                        (from..next, run)
                    };
                    let next = taken + blocks.len() as u32;
                    match shared.compare_exchange(taken, next, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => return Some((blocks, run)),
                        Err(other) => taken = other,
                    }
                }
            }
        }
    }

    /// Has leaves come in the order of their ranks, after the row pages, which have the latest rows as a rule. Before the
    /// first unit, and where all rows are one process's. The lowest rank of a leaf, i64::MAX where they are left as they are.
    pub fn order(&mut self, rank: &mut dyn FnMut(&OpenLeaf) -> i64) -> i64 {
        let (rel, start, end) = (self.rel, self.start, self.end);
        if !matches!(&self.position, Position::Own(at) if at.end == start) || !self.snapshot.is_mvcc() {
            return i64::MAX;
        }
        let mut found: Vec<(i64, Range<u32>)> = Vec::new();
        let mut from = start;
        while from < end {
            crate::memory::check_for_interrupts();
            let (next, run) = run_from(rel, from, end);
            // What has been replaced meanwhile, on a standby, is found where it is now when its turn comes.
            let leaf = match &run {
                Run::Leaf(place) => columnar::open_leaf(rel, place.component(), place.leaf).ok(),
                Run::RowPage | Run::Empty => None,
            };
            let rank = leaf.map_or(i64::MIN, |leaf| rank(&leaf));
            found.push((rank, from..next));
            from = next;
        }
        found.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
        // Those of one rank as they lie.
        found.chunk_by_mut(|a, b| a.0 == b.0).for_each(|chunk| chunk.reverse());
        let lowest = found.iter().rev().map(|found| found.0).find(|&rank| rank != i64::MIN);
        self.position = Position::Listed(found.into_iter().map(|(_, blocks)| blocks).collect());
        lowest.unwrap_or(i64::MIN)
    }

    /// On a standby, of blocks whose component has been replaced: they are taken from where they are now.
    fn take_again(&mut self, blocks: Range<u32>, forward: bool) {
        match &mut self.position {
            Position::Own(at) if forward => *at = blocks.start..blocks.start,
            Position::Own(at) => *at = blocks.end..blocks.end,
            // These are ours, with those that had to be taken again before them; what follows may be another worker's.
            Position::Listed(left) => left.push(blocks),
            Position::Shared(..) => self.again = blocks.start..blocks.end.max(self.again.end),
        }
    }

    /// Notes what has been decoded of the leaf it was at.
    pub fn leave(&mut self) {
        if let Some((leaf, before)) = self.open.take() {
            self.counters.decoded += (leaf.decoded() - before) as u64;
            // A worker's share has each leaf once.
            if matches!(self.position, Position::Shared(..)) && is_worker() {
                columnar::close_leaf(&leaf);
            }
        }
    }

    /// The unit that comes next, if it is remembered.
    fn known(&mut self, forward: bool) -> Option<&Known> {
        match &mut self.position {
            Position::Own(at) if forward => {
                let known = self.known.iter().find(|known| known.blocks.start == at.end)?;
                *at = known.blocks.clone();
                Some(known)
            }
            _ => None,
        }
    }

    /// Comes to a leaf; whether it was not there before.
    fn enter(&mut self, place: (u64, usize)) -> bool {
        let new = self.at_leaf.replace(place) != Some(place);
        self.counters.leaves += u64::from(new);
        new
    }

    /// Leaves out for now what of the blocks, which are in one leaf, is beyond the first few.
    fn take_less(&mut self, blocks: &mut Range<u32>, forward: bool) {
        let Position::Own(at) = &mut self.position else {
            return;
        };
        match forward {
            true => blocks.end = blocks.end.min(blocks.start.saturating_add(self.step)),
            false => blocks.start = blocks.start.max(blocks.end.saturating_sub(self.step)),
        }
        *at = blocks.clone();
        self.step = self.step.saturating_mul(FIRST.1);
    }

    /// Whether these blocks are some of a leaf's that the scan comes to, which has others as well.
    fn is_in_parts(&self, leaf: &OpenLeaf, blocks: &Range<u32>) -> bool {
        let all = leaf.blocks();
        *blocks != all && self.start <= all.start && all.end <= self.end && self.snapshot.is_mvcc()
    }

    /// How many rows the snapshot sees of these blocks of a leaf.
    fn count_rows(&mut self, leaf: &OpenLeaf, blocks: &Range<u32>) -> Result<usize, Replaced> {
        let (rel, snapshot) = (self.rel, self.snapshot);
        match self.is_in_parts(leaf, blocks) {
            true => self.whole.rows(rel, leaf, blocks, snapshot).map(|rows| rows.len()),
            false => columnar::count_of_blocks(rel, leaf, blocks.clone(), snapshot),
        }
    }

    /// The next unit with rows the snapshot sees, but for leaves that `skip` says cannot have rows that are wanted.
    /// `to_end` says that all rows will be asked for.
    pub fn next(&mut self, forward: bool, to_end: bool, skip: &mut dyn FnMut(&OpenLeaf) -> bool) -> Option<Unit> {
        let rel = self.rel;
        if !std::mem::replace(&mut self.counted, true) {
            count_scan(rel);
        }
        loop {
            crate::memory::check_for_interrupts();
            self.block.clear();
            self.leave();
            if let Some(known) = self.known(forward) {
                let (place, leaf, origin, rows) = (known.place, known.leaf.clone(), known.origin, known.rows.clone());
                let new = self.enter(place);
                if skip(&leaf) {
                    self.counters.skipped += u64::from(new);
                    self.pass_over(rows.len());
                    continue;
                }
                self.counters.rows += rows.len() as u64;
                self.open = Some((leaf.clone(), leaf.decoded()));
                return Some(Unit::Leaf(leaf, origin, rows));
            }
            let Some((mut blocks, run)) = self.take(forward) else {
                // Beyond the last unit, or before the first.
                if let Position::Own(at) = &mut self.position {
                    let end = if forward { self.end } else { self.start };
                    *at = end..end;
                }
                return None;
            };
            match run {
                Run::Empty => {}
                Run::Leaf(run) => {
                    let component = run.component();
                    let place = (component.id, run.leaf);
                    let new = self.enter(place);
                    if !columnar::origin::visible(rel, &component.origin, self.snapshot) {
                        continue;
                    }
                    let Ok(leaf) = columnar::open_leaf(rel, component, run.leaf) else {
                        self.take_again(blocks, forward);
                        continue;
                    };
                    if skip(&leaf) {
                        self.counters.skipped += u64::from(new);
                        // For the statistics, which have them as heap's do, they are read.
                        let Ok(rows) = self.count_rows(&leaf, &blocks) else {
                            self.take_again(blocks, forward);
                            continue;
                        };
                        self.pass_over(rows);
                        continue;
                    }
                    if !to_end {
                        self.take_less(&mut blocks, forward);
                    }
                    self.open = Some((leaf.clone(), leaf.decoded()));
                    let read = match to_end && self.is_in_parts(&leaf, &blocks) {
                        true => self.whole.rows(rel, &leaf, &blocks, self.snapshot),
                        false => columnar::rows_of_blocks(rel, &leaf, blocks.clone(), self.snapshot),
                    };
                    let Ok(rows) = read else {
                        self.take_again(blocks, forward);
                        continue;
                    };
                    self.counters.rows += rows.len() as u64;
                    if !rows.is_empty() {
                        let origin = component.origin;
                        if self.again_and_again && forward && self.known.len() < KNOWN {
                            self.known.push(Known {
                                blocks,
                                place,
                                leaf: leaf.clone(),
                                origin,
                                rows: rows.clone(),
                            });
                        }
                        return Some(Unit::Leaf(leaf, origin, rows));
                    }
                }
                Run::RowPage => {
                    self.at_leaf = None;
                    // Who stops early has read little yet.
                    let goes_on = to_end || self.counters.leaves + self.counters.pages > 0;
                    let kept = (forward && goes_on).then(|| self.row_pages(blocks.start)).flatten();
                    if let Some(kept) = kept {
                        let Some((leaf, pages)) = kept else { continue };
                        if skip(&leaf) {
                            self.pass_over(leaf.rows());
                            continue;
                        }
                        self.counters.pages += pages;
                        self.counters.kept += pages;
                        self.open = Some((leaf.clone(), leaf.decoded()));
                        let rows = row_numbers(0..leaf.rows() as u32);
                        return Some(Unit::Leaf(leaf, None, rows));
                    }
                    self.block.load(rel, self.snapshot, blocks.start, Pick::All);
                    if self.block.len() > 0 {
                        self.counters.pages += 1;
                        return Some(Unit::Page);
                    }
                }
            }
        }
    }

    /// The rows of the row page of block `v`, which has been taken, and of those behind it, which are then; None if that page is to be
    /// read row by row.
    fn row_pages(&mut self, v: u32) -> Option<row_pages::Rows> {
        // A worker has met nothing before.
        if !self.keeps_row_pages || v < self.row_by_row || is_worker() {
            return None;
        }
        let blocks = match &self.position {
            Position::Own(_) | Position::Shared(_, false) => row_pages::together(self.rel, v, self.end),
            _ => return None,
        };
        if blocks.is_empty() {
            return None;
        }
        if let Position::Shared(shared, _) = &self.position {
            let (taken, taken_then) = (v + 1 - self.start, blocks.end - self.start);
            let rest = shared.compare_exchange(taken, taken_then, Ordering::SeqCst, Ordering::SeqCst);
            if rest.is_err() {
                return None;
            }
        }
        let rows = row_pages::read(self.rel, blocks.clone());
        match (&mut self.position, &rows) {
            (Position::Own(at), Some(_)) => at.end = blocks.end,
            // What is ours now is read block by block.
            (Position::Shared(..), None) => self.again = v + 1..blocks.end,
            _ => {}
        }
        self.row_by_row = blocks.end;
        rows
    }

    /// Row pages are read row by row: of system columns a leaf in memory knows but some.
    pub fn read_row_pages(&mut self) {
        self.keeps_row_pages = false;
    }

    /// Rows that nobody has to look at.
    fn pass_over(&mut self, rows: usize) {
        self.passed_over += rows;
        count_rows(self.rel, rows);
    }

    /// Back to the start, which a parallel scan's leader sees to itself. Blocks that have come meanwhile have nothing that
    /// a snapshot sees which was taken before.
    pub fn rewind(&mut self) {
        self.block.clear();
        self.counted = false;
        self.at_leaf = None;
        self.step = FIRST.0;
        self.row_by_row = 0;
        self.again = 0..0;
        self.again_and_again = self.snapshot.is_mvcc();
        if !self.again_and_again {
            self.end = self.end_now();
        }
        if let Position::Own(_) | Position::Listed(_) = &self.position {
            self.position = Position::Own(self.start..self.start);
        }
    }
}

/// IsParallelWorker() of parallel.h.
pub fn is_worker() -> bool {
    // SAFETY: a number of the process.
    unsafe { pg_sys::ParallelWorkerNumber >= 0 }
}

/// What consecutive blocks are.
enum Run {
    Leaf(Leaf),
    /// One block, of a row page if it is anywhere.
    RowPage,
    /// Those of a component before, between or after its leaves: they have no rows.
    Empty,
}

/// A leaf of a manifest's component.
struct Leaf {
    manifest: Rc<amax_lsm::Manifest>,
    component: usize,
    leaf: usize,
}

impl Leaf {
    fn component(&self) -> &amax_lsm::Component {
        &self.manifest.components[self.component]
    }
}

/// What block `v` is, and with it the blocks around it.
fn run_around(rel: &Relation, v: u32) -> (Range<u32>, Run) {
    let (manifest, component, directory) = loop {
        let Place::Columnar(manifest, component) = locate(rel, v) else {
            return (v..v + 1, Run::RowPage);
        };
        // Unless it is replaced meanwhile, on a standby.
        if let Ok(directory) = manifest::read_directory(rel, &manifest.components[component]) {
            break (manifest, component, directory);
        }
        crate::memory::check_for_interrupts();
    };
    let owned = manifest.components[component].blocks.range_of(v).unwrap_or(v..v + 1);
    let leaf = directory.first_leaf_at(v);
    let held = |leaf: usize| {
        directory
            .leaves
            .get(leaf)
            .map(|entry| tid::block(entry.first)..tid::block(entry.last) + 1)
    };
    match held(leaf) {
        Some(held) if held.start <= v => {
            let blocks = held.start.max(owned.start)..held.end.min(owned.end);
            let place = Leaf {
                manifest,
                component,
                leaf,
            };
            (blocks, Run::Leaf(place))
        }
        next => {
            let before = leaf.checked_sub(1).and_then(held).map_or(0, |held| held.end);
            let behind = next.map_or(u32::MAX, |held| held.start);
            (before.max(owned.start)..behind.min(owned.end), Run::Empty)
        }
    }
}

/// What begins with block `v`, and where it ends, of the blocks before `end`.
fn run_from(rel: &Relation, v: u32, end: u32) -> (u32, Run) {
    let (blocks, run) = run_around(rel, v);
    (blocks.end.min(end), run)
}

/// Where the leaf begins that a block is in; the block itself if it is in none.
pub fn start_of_leaf(rel: &Relation, v: u32) -> u32 {
    match run_around(rel, v) {
        (blocks, Run::Leaf(_)) => blocks.start,
        _ => v,
    }
}

/// What ends with block `v`, and where it starts, of the blocks from `start` on.
fn run_upto(rel: &Relation, v: u32, start: u32) -> (u32, Run) {
    let (blocks, run) = run_around(rel, v);
    (blocks.start.max(start), run)
}
