//! The scan node: vectorized filters over leaves, then the entries of the rows that pass.

use super::compile::{is_pure, reads, Compiler};
use super::entry::{entry_of, expressions, Entry};
use super::rows::{Constants, LeafColumns, Postgres, Rows};
use super::source::{Met, Position, Source, Unit};
use super::tree::nodes;
use crate::am::bulk;
use crate::am::scan::predicate_lock;
use crate::storage::meta::logical_blocks;
use amax_exec::{passes_none, Batch, Expr};
use pgrx::pg_sys;
use pgrx::prelude::*;
use pgrx::PgMemoryContexts;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The node's state, begun as PostgreSQL's.
#[repr(C)]
pub struct Node {
    pub base: pg_sys::CustomScanState,
    pub scan: *mut Scan,
}

/// A condition of the scan.
struct Clause {
    state: *mut pg_sys::ExprState,
    reads: Vec<usize>,
    /// Its vectorized form, if it may be evaluated for rows that are perhaps never asked for.
    vector: Option<Expr>,
}

/// The rows being handed out.
enum Current {
    None,
    /// Rows of a leaf, each with the first condition that is still to be looked at.
    Leaf(Rc<LeafColumns>, Vec<(u32, usize)>),
    Page,
}

pub struct Scan {
    pub rows: Rows,
    pub source: Source,
    clauses: Vec<Clause>,
    /// Entries that the node's own target list reads, or whoever drives it.
    pub output: Vec<usize>,
    current: Current,
    /// The one handed out last; before the first, or after the last, of a unit just begun.
    at: isize,
    parallel: bool,
    /// What workers share, as long as it is there.
    shared: *mut Shared,
}

impl Drop for Scan {
    /// Runs when the memory context goes. What is still held then was not let go by `end`: an error ended the query, and the resource
    /// owner has released the pins.
    fn drop(&mut self) {
        self.source.block.abandon();
    }
}

pub unsafe fn of<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut Scan {
    &mut *(*(node as *mut Node)).scan
}

impl Scan {
    /// The filters that leaves pass through as vectors come first; they stop at one that PostgreSQL has to see row by row, since it may
    /// raise an error that a row not asked for must not raise. `all` says that all rows are asked for.
    unsafe fn new(node: *mut pg_sys::CustomScanState, all: bool) -> Scan {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let tlist = expressions((*plan).custom_scan_tlist);
        let entries: Rc<[Entry]> = tlist.iter().map(|&e| entry_of(e)).collect();
        let mut rows = Rows::new(&mut (*node).ss, &tlist, entries.clone());
        let parent = &mut (*node).ss.ps as *mut pg_sys::PlanState;
        let mut compiler = Compiler {
            entries: &entries,
            parent,
            outside: Vec::new(),
        };
        let mut vectors = true;
        let mut clauses = Vec::new();
        for clause in nodes((*plan).scan.plan.qual) {
            let vector = if vectors {
                compiler.compile(clause).filter(|v| all || !v.calls_out())
            } else {
                None
            };
            vectors = vector.is_some();
            clauses.push(Clause {
                state: pg_sys::ExecInitExpr(clause as *mut pg_sys::Expr, parent),
                reads: reads(clause),
                vector,
            });
        }
        rows.outside = std::mem::take(&mut compiler.outside);
        let rel = (*node).ss.ss_currentRelation;
        let estate = (*node).ss.ps.state;
        if !bulk::idle() {
            bulk::publish_for(rel, (*estate).es_snapshot);
        }
        let mut output = reads((*plan).scan.plan.targetlist as *mut pg_sys::Node);
        output.sort_unstable();
        Scan {
            rows,
            source: Source::new(
                rel,
                (*estate).es_snapshot,
                logical_blocks(rel),
                Position::Own(0..0),
            ),
            clauses,
            output,
            current: Current::None,
            at: -1,
            parallel: false,
            shared: std::ptr::null_mut(),
        }
    }

    /// Adds expressions that somebody above evaluates over the entries; their vectorized forms.
    pub unsafe fn compile(
        &mut self,
        node: *mut pg_sys::CustomScanState,
        wanted: &[*mut pg_sys::Node],
    ) -> Vec<Option<Expr>> {
        let entries = self.rows.entries.clone();
        let mut compiler = Compiler {
            entries: &entries,
            parent: &mut (*node).ss.ps,
            outside: std::mem::take(&mut self.rows.outside),
        };
        let found = wanted
            .iter()
            .map(|&e| {
                if is_pure(e) {
                    compiler.compile(e)
                } else {
                    None
                }
            })
            .collect();
        self.rows.outside = compiler.outside;
        found
    }

    /// The next unit: rows of a leaf that pass the vectorized conditions, each with the condition to go on with; or a page.
    pub unsafe fn next_unit(&mut self, forward: bool) -> Option<Selected> {
        let (rows, clauses) = (&mut self.rows, &self.clauses);
        let unit = self.source.next(forward, &mut |leaf| {
            let zones = rows.zones(leaf);
            let vectors = clauses.iter().map_while(|clause| clause.vector.as_ref());
            passes_none(vectors, &zones, &mut Constants(rows))
        })?;
        let Unit::Leaf(leaf, origin, rows) = unit else {
            return Some(Selected::Page);
        };
        let columns = Rc::new(LeafColumns::new(leaf, origin, &self.rows.entries));
        let all = rows.len();
        let (passed, open) = self.filter(&columns, rows);
        self.source.met.removed += (all - passed.len() - open.len()) as u64;
        Some(Selected::Leaf(columns, passed, open))
    }

    /// Rows that pass all vectorized conditions, and those of which one could not be told, with its number.
    unsafe fn filter(
        &mut self,
        columns: &Rc<LeafColumns>,
        mut rows: Vec<u32>,
    ) -> (Vec<u32>, Vec<(u32, usize)>) {
        let mut open = Vec::new();
        let mut external = Postgres {
            rows: &mut self.rows,
            columns: columns.clone(),
        };
        let mut batch = Batch {
            columns: &**columns,
            external: &mut external,
        };
        for (i, clause) in self.clauses.iter().enumerate() {
            let Some(vector) = &clause.vector else { break };
            if rows.is_empty() {
                break;
            }
            let mut unsure = Vec::new();
            rows = batch.filter(vector, &rows, &mut unsure);
            open.extend(unsure.into_iter().map(|row| (row, i)));
        }
        (rows, open)
    }

    /// The first condition that vectors do not decide.
    pub fn vectorized(&self) -> usize {
        self.clauses
            .iter()
            .take_while(|c| c.vector.is_some())
            .count()
    }

    /// Entries that are read.
    pub fn reads(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self
            .clauses
            .iter()
            .flat_map(|c| &c.reads)
            .chain(&self.output)
            .copied()
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub fn conditions(&self) -> usize {
        self.clauses.len()
    }

    /// Whether the row it is about passes the conditions from `first` on.
    pub unsafe fn passes(&mut self, first: usize) -> bool {
        for i in first..self.clauses.len() {
            let clause = &self.clauses[i];
            if !self.rows.holds(clause.state, &clause.reads) {
                self.source.met.removed += 1;
                return false;
            }
        }
        true
    }

    /// Moves to the next row that passes, in the given direction; false at the end.
    unsafe fn advance(&mut self, forward: bool) -> bool {
        let step = if forward { 1 } else { -1 };
        loop {
            let at = self.at + step;
            let first = match &self.current {
                Current::None => None,
                Current::Leaf(columns, picked) => usize::try_from(at)
                    .ok()
                    .and_then(|at| picked.get(at))
                    .map(|&(row, first)| {
                        self.rows.set_leaf(columns, row);
                        first
                    }),
                Current::Page => usize::try_from(at)
                    .ok()
                    .filter(|&at| at < self.source.block.len())
                    .map(|at| {
                        self.rows.set_page(&self.source.block, at);
                        0
                    }),
            };
            if let Some(first) = first {
                self.at = at;
                if self.passes(first) {
                    return true;
                }
                continue;
            }
            self.rows.clear();
            self.current = Current::None;
            self.current = match self.next_unit(forward) {
                None => return false,
                Some(Selected::Page) => Current::Page,
                Some(Selected::Leaf(columns, passed, open)) => {
                    Current::Leaf(columns, merge(passed, open, self.vectorized()))
                }
            };
            self.at = match &self.current {
                _ if forward => -1,
                Current::Leaf(_, picked) => picked.len() as isize,
                _ => self.source.block.len() as isize,
            };
        }
    }

    pub fn met(&self) -> Met {
        self.source.met
    }
}

/// What [`Scan::next_unit`] finds.
pub enum Selected {
    /// Rows that passed; and rows with the first condition that is still open.
    Leaf(Rc<LeafColumns>, Vec<u32>, Vec<(u32, usize)>),
    /// The page in the source's block: nothing has been looked at.
    Page,
}

/// Both kinds of rows in order.
pub fn merge(passed: Vec<u32>, open: Vec<(u32, usize)>, first: usize) -> Vec<(u32, usize)> {
    let mut all: Vec<(u32, usize)> = passed.into_iter().map(|row| (row, first)).collect();
    if !open.is_empty() {
        all.extend(open);
        all.sort_unstable();
    }
    all
}

pub static METHODS: super::Methods = super::Methods(pg_sys::CustomExecMethods {
    CustomName: c"AmaxScan".as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(exec),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: Some(estimate_dsm),
    InitializeDSMCustomScan: Some(initialize_dsm),
    ReInitializeDSMCustomScan: Some(reinitialize_dsm),
    InitializeWorkerCustomScan: Some(initialize_worker),
    ShutdownCustomScan: Some(shutdown),
    ExplainCustomScan: Some(super::explain::scan),
});

#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    let node = super::tree::make::<Node>(pg_sys::NodeTag::T_CustomScanState);
    (*node).base.methods = &METHODS.0;
    node as *mut pg_sys::Node
}

#[pg_guard]
unsafe extern "C-unwind" fn begin(
    node: *mut pg_sys::CustomScanState,
    estate: *mut pg_sys::EState,
    eflags: i32,
) {
    let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
    // We look at the conditions ourselves.
    (*node).ss.ps.qual = std::ptr::null_mut();
    let all = super::plan::wants_all_rows(plan);
    let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
    let scan = Scan::new(node, all);
    (*(node as *mut Node)).scan = context.leak_and_drop_on_delete(scan);
    if eflags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 == 0 {
        predicate_lock((*node).ss.ss_currentRelation, (*estate).es_snapshot);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn exec(
    node: *mut pg_sys::CustomScanState,
) -> *mut pg_sys::TupleTableSlot {
    let scan = of(node);
    let epq = (*(*node).ss.ps.state).es_epq_active;
    let forward = (*(*node).ss.ps.state).es_direction >= 0;
    let found = if epq.is_null() {
        scan.advance(forward)
    } else {
        recheck(node, epq)
    };
    if !found {
        let result = (*node).ss.ps.ps_ResultTupleSlot;
        crate::compat::clear_slot(result);
        return result;
    }
    scan.rows.fill(&scan.output);
    let projection = (*node).ss.ps.ps_ProjInfo;
    if projection.is_null() {
        return scan.rows.scan_slot;
    }
    project(projection)
}

/// ExecProject() (executor.h).
pub unsafe fn project(projection: *mut pg_sys::ProjectionInfo) -> *mut pg_sys::TupleTableSlot {
    let econtext = (*projection).pi_exprContext;
    let state = &mut (*projection).pi_state;
    let slot = state.resultslot;
    crate::compat::clear_slot(slot);
    super::tree::eval(state, econtext);
    (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
    (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
    slot
}

/// EvalPlanQual's one row of our relation, if it is there and passes (ExecScanFetch() in execScan.c).
unsafe fn recheck(node: *mut pg_sys::CustomScanState, epq: *mut pg_sys::EPQState) -> bool {
    let scan = of(node);
    let relid = (*((*node).ss.ps.plan as *mut pg_sys::CustomScan))
        .scan
        .scanrelid;
    let at = relid as usize - 1;
    let done = (*epq).relsubs_done.add(at);
    if *done {
        return false;
    }
    let given = *(*epq).relsubs_slot.add(at);
    if !given.is_null() {
        *done = true;
        if (*given).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
            return false;
        }
        crate::compat::copy_slot(scan.rows.row_slot, given);
    } else if !(*(*epq).relsubs_rowmark.add(at)).is_null() {
        *done = true;
        if !pg_sys::EvalPlanQualFetchRowMark(epq, relid, scan.rows.row_slot) {
            return false;
        }
    } else {
        // Not a relation that is being rechecked: scanned as ever.
        return scan.advance(true);
    }
    scan.rows.set_slot(scan.rows.row_slot);
    scan.passes(0)
}

#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    let scan = of(node);
    scan.current = Current::None;
    scan.rows.clear();
    scan.source.block.clear();
}

#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    restart(of(node));
}

/// The scan from its start again.
pub unsafe fn restart(scan: &mut Scan) {
    scan.current = Current::None;
    scan.rows.clear();
    if !scan.parallel {
        scan.source.rewind(logical_blocks(scan.rows.rel));
    }
}

/// What the workers of a parallel scan share.
#[repr(C)]
struct Shared {
    next: AtomicU32,
    end: u32,
    /// What workers that are done have met.
    met: [AtomicU64; 4],
}

#[pg_guard]
unsafe extern "C-unwind" fn estimate_dsm(
    _node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
) -> pg_sys::Size {
    std::mem::size_of::<Shared>()
}

#[pg_guard]
unsafe extern "C-unwind" fn initialize_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    let shared = coordinate as *mut Shared;
    shared.write(Shared {
        next: AtomicU32::new(0),
        end: logical_blocks((*node).ss.ss_currentRelation),
        met: Default::default(),
    });
    join(of(node), shared);
}

#[pg_guard]
unsafe extern "C-unwind" fn reinitialize_dsm(
    node: *mut pg_sys::CustomScanState,
    _context: *mut pg_sys::ParallelContext,
    coordinate: *mut std::ffi::c_void,
) {
    let shared = coordinate as *mut Shared;
    (*shared).next.store(0, Ordering::SeqCst);
    (*shared).end = logical_blocks((*node).ss.ss_currentRelation);
    join(of(node), shared);
}

#[pg_guard]
unsafe extern "C-unwind" fn initialize_worker(
    node: *mut pg_sys::CustomScanState,
    _toc: *mut pg_sys::shm_toc,
    coordinate: *mut std::ffi::c_void,
) {
    join(of(node), coordinate as *mut Shared);
}

unsafe fn join(scan: &mut Scan, shared: *mut Shared) {
    scan.parallel = true;
    scan.shared = shared;
    let (snapshot, met) = (scan.source.snapshot, scan.source.met);
    scan.source = Source::new(
        scan.rows.rel,
        snapshot,
        (*shared).end,
        Position::Shared(&(*shared).next),
    );
    scan.source.met = met;
}

/// Before the shared memory goes: workers leave what they have met there, and the leader takes it.
#[pg_guard]
unsafe extern "C-unwind" fn shutdown(node: *mut pg_sys::CustomScanState) {
    let scan = of(node);
    let Some(shared) = scan.shared.as_ref() else {
        return;
    };
    scan.shared = std::ptr::null_mut();
    let [leaves, skipped, pages, removed] = &shared.met;
    let met = &mut scan.source.met;
    if pg_sys::ParallelWorkerNumber >= 0 {
        leaves.fetch_add(met.leaves, Ordering::SeqCst);
        skipped.fetch_add(met.skipped, Ordering::SeqCst);
        pages.fetch_add(met.pages, Ordering::SeqCst);
        removed.fetch_add(met.removed, Ordering::SeqCst);
    } else {
        *met += Met {
            leaves: leaves.swap(0, Ordering::SeqCst),
            skipped: skipped.swap(0, Ordering::SeqCst),
            pages: pages.swap(0, Ordering::SeqCst),
            removed: removed.swap(0, Ordering::SeqCst),
        };
    }
}
