//! The node above an index or bitmap scan: the entries of the rows it finds, paths from their own columns. The scan
//! below does all that has to do with finding rows, EvalPlanQual included.

use crate::pg::Relation;
use crate::query::batch::explain;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::reads;
use crate::query::expr::entry::{Entry, entry_of, expressions};
use crate::query::expr::prepared::Prepared;
use crate::query::expr::tree::nodes;
use crate::query::expr::tree::project;
use crate::query::plan::methods::ExecMethods;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::rc::Rc;

/// The node's state, begun as PostgreSQL's.
#[repr(C)]
struct Node {
    base: pg_sys::CustomScanState,
    fetch: *mut Fetch,
}

pub struct Fetch {
    pub rows: Rows,
    below: *mut pg_sys::PlanState,
    /// Conditions with the entries they read.
    conditions: Vec<(Prepared, Vec<usize>)>,
    /// Entries that the target list reads.
    output: Vec<usize>,
}
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn of<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut Fetch {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { &mut *(*(node as *mut Node)).fetch }
}

impl Fetch {
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn new(node: *mut pg_sys::CustomScanState, below: *mut pg_sys::PlanState) -> Fetch {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
            let parent = &mut (*node).ss.ps as *mut pg_sys::PlanState;
            let tlist = expressions((*plan).custom_scan_tlist);
            let entries: Rc<[Entry]> = tlist.iter().map(|&e| entry_of(e, &[])).collect();
            let condition = |&clause: &*mut pg_sys::Node| (Prepared::new(clause, parent), reads(clause));
            Fetch {
                rows: Rows::new(
                    &mut (*node).ss,
                    Relation::of((*node).ss.ss_currentRelation),
                    &tlist,
                    entries,
                ),
                below,
                conditions: nodes((*plan).scan.plan.qual).iter().map(condition).collect(),
                output: reads((*plan).scan.plan.targetlist as *mut pg_sys::Node),
            }
        }
    }

    fn passes(&mut self) -> bool {
        let rows = &mut self.rows;
        self.conditions.iter().all(|(state, reads)| rows.holds(*state, reads))
    }

    /// Entries that are read.
    pub fn reads(&self) -> Vec<usize> {
        let conditions = self.conditions.iter().flat_map(|(_, reads)| reads);
        let mut all: Vec<usize> = conditions.chain(&self.output).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The next row of the scan below, in the slot that it has it in: what it hands up itself has no columns.
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn next_row(below: *mut pg_sys::PlanState) -> Option<*mut pg_sys::TupleTableSlot> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if !(*below).chgParam.is_null() {
            pg_sys::ExecReScan(below);
        }
        let next = (*below).ExecProcNode.expect("an initialized node runs");
        // PostgreSQL's errors must not jump over our frames.
        let handed_up = pg_sys::ffi::pg_guard_ffi_boundary(|| next(below));
        if handed_up.is_null() || (*handed_up).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
            return None;
        }
        Some((*(*below).ps_ExprContext).ecxt_scantuple)
    }
}

pub static METHODS: ExecMethods = ExecMethods(pg_sys::CustomExecMethods {
    CustomName: c"AmaxFetch".as_ptr(),
    BeginCustomScan: Some(begin),
    ExecCustomScan: Some(exec),
    EndCustomScan: Some(end),
    ReScanCustomScan: Some(rescan),
    MarkPosCustomScan: None,
    RestrPosCustomScan: None,
    EstimateDSMCustomScan: None,
    InitializeDSMCustomScan: None,
    ReInitializeDSMCustomScan: None,
    InitializeWorkerCustomScan: None,
    ShutdownCustomScan: None,
    ExplainCustomScan: Some(explain),
});

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let node = crate::query::expr::tree::make::<Node>(pg_sys::NodeTag::T_CustomScanState);
        (*node).base.methods = &METHODS.0;
        node as *mut pg_sys::Node
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn begin(node: *mut pg_sys::CustomScanState, estate: *mut pg_sys::EState, eflags: i32) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        // We look at the conditions ourselves.
        (*node).ss.ps.qual = std::ptr::null_mut();
        let below = nodes((*plan).custom_plans)[0] as *mut pg_sys::Plan;
        let below = pg_sys::ExecInitNode(below, estate, eflags);
        (*node).custom_ps = crate::query::expr::tree::list([below]);
        let fetch = Fetch::new(node, below);
        let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
        (*(node as *mut Node)).fetch = crate::memory::keep(&mut context, fetch);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn exec(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let fetch = of(node);
        loop {
            let Some(slot) = next_row(fetch.below) else {
                fetch.rows.clear();
                let result = (*node).ss.ps.ps_ResultTupleSlot;
                crate::pg::executor::clear_slot(result);
                return result;
            };
            fetch.rows.set_slot(slot);
            if fetch.passes() {
                break;
            }
            if let Some(instrument) = (*node).ss.ps.instrument.as_mut() {
                instrument.nfiltered1 += 1.0;
            }
        }
        fetch.rows.fill(&fetch.output);
        match (*node).ss.ps.ps_ProjInfo {
            projection if projection.is_null() => fetch.rows.scan_slot,
            projection => project(projection),
        }
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let fetch = of(node);
        fetch.rows.clear();
        pg_sys::ExecEndNode(fetch.below);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let fetch = of(node);
        fetch.rows.clear();
        let changed = (*node).ss.ps.chgParam;
        if !changed.is_null() {
            pg_sys::UpdateChangedParamSet(fetch.below, changed);
        }
        // Else when it is asked for its first row.
        if (*fetch.below).chgParam.is_null() {
            pg_sys::ExecReScan(fetch.below);
        }
    }
}

/// What it reads of the rows found below it.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn explain(
    node: *mut pg_sys::CustomScanState,
    _ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let fetch = of(node);
        explain::columns(&fetch.rows, &[], fetch.reads(), Vec::new(), es);
    }
}
