//! The node above an index or bitmap scan: the entries of the rows it finds, paths from their own columns. The scan
//! below does all that has to do with finding rows, EvalPlanQual included.

use crate::pg::Relation;
use crate::pg::executor::{self, clear_slot, project};
use crate::query::batch::child::begin_child;
use crate::query::batch::explain;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::reads;
use crate::query::expr::entry::{Entry, entry_of, expressions};
use crate::query::expr::prepared::Prepared;
use crate::query::expr::tree::nodes;
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
                conditions: nodes((*plan).custom_exprs).iter().map(condition).collect(),
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
        let handed_up = executor::next_row(below);
        if handed_up.is_null() || (*handed_up).tts_flags & pg_sys::TTS_FLAG_EMPTY as u16 != 0 {
            return None;
        }
        Some((*(*below).ps_ExprContext).ecxt_scantuple)
    }
}

pub static METHODS: ExecMethods = ExecMethods::new(c"AmaxFetch", begin, exec, end, rescan, explain);

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: it begins with PostgreSQL's state, and has pointers besides.
    unsafe { METHODS.new_state::<Node>() }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn begin(node: *mut pg_sys::CustomScanState, estate: *mut pg_sys::EState, eflags: i32) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let below = begin_child(node, estate, eflags);
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
                clear_slot(result);
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
        project(&(*node).ss.ps, fetch.rows.scan_slot)
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
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let fetch = of(node);
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let shown_as = explain::Conditions::of(node, ancestors, es);
        shown_as.show(&nodes((*plan).custom_exprs), node, es);
        explain::columns(&fetch.rows, &[], fetch.reads(), Vec::new(), es);
    }
}
