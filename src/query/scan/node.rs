//! The scan's callbacks for PostgreSQL's executor.

use super::parallel;
use super::private::ScanPlan;
use super::state::{Node, Scan, of};
use crate::pg::executor::{clear_slot, project};
use crate::pg::snapshot::predicate_lock;
use crate::pg::{Relation, Snapshot};
use crate::query::plan::methods::ExecMethods;
use crate::query::plan::private::Private;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

pub static METHODS: ExecMethods = ExecMethods(pg_sys::CustomExecMethods {
    EstimateDSMCustomScan: Some(parallel::estimate_dsm),
    InitializeDSMCustomScan: Some(parallel::initialize_dsm),
    ReInitializeDSMCustomScan: Some(parallel::reinitialize_dsm),
    InitializeWorkerCustomScan: Some(parallel::initialize_worker),
    ShutdownCustomScan: Some(parallel::shutdown),
    ..ExecMethods::new(c"AmaxScan", begin, exec, end, rescan, super::explain::scan).0
});

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
        let rel = match (*node).ss.ss_currentRelation {
            // A join's is for us to open.
            rel if rel.is_null() => {
                let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
                pg_sys::ExecOpenScanRelation(estate, ScanPlan::of_plan(plan).table(plan), eflags)
            }
            rel => rel,
        };
        // The executor keeps it open for as long as the node lives.
        let rel: &'static Relation = Relation::of(rel);
        if eflags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 == 0 {
            predicate_lock(rel, Snapshot::of((*estate).es_snapshot));
        }
        let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
        let scan = Scan::new(node, rel);
        (*(node as *mut Node)).scan = crate::memory::keep(&mut context, scan);
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn exec(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let scan = of(node);
        let epq = (*(*node).ss.ps.state).es_epq_active;
        let forward = (*(*node).ss.ps.state).es_direction >= 0;
        // What unnests is in no query whose rows may be rechecked.
        let found = if epq.is_null() || !scan.is_flat() {
            if scan.joins.news() {
                scan.note_joins();
            }
            scan.advance(forward)
        } else {
            recheck(node, epq)
        };
        scan.note_removed();
        if !found {
            let result = (*node).ss.ps.ps_ResultTupleSlot;
            clear_slot(result);
            return result;
        }
        scan.rows.fill(&scan.output);
        #[cfg(feature = "test_hooks")]
        super::mutants::lose_column(scan.rows.scan_slot);
        project(&(*node).ss.ps, scan.rows.scan_slot)
    }
}

/// EvalPlanQual's one row of our relation, if it is there and passes (ExecScanFetch() in execScan.c).
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn recheck(node: *mut pg_sys::CustomScanState, epq: *mut pg_sys::EPQState) -> bool {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let scan = of(node);
        let relid = (*((*node).ss.ps.plan as *mut pg_sys::CustomScan)).scan.scanrelid;
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
            // As it is: a copy has no tableoid.
            scan.rows.set_slot(given);
        } else if !(*(*epq).relsubs_rowmark.add(at)).is_null() {
            *done = true;
            if !pg_sys::EvalPlanQualFetchRowMark(epq, relid, scan.rows.row_slot) {
                return false;
            }
            scan.rows.set_slot(scan.rows.row_slot);
        } else {
            // Not a relation that is being rechecked: scanned as ever.
            return scan.advance(true);
        }
        let passes = scan.passes(0, 0, 0);
        scan.removed += usize::from(!passes);
        passes
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let scan = of(node);
        scan.forget();
        scan.columns = None;
        scan.source.block.clear();
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        of(node).start_again();
    }
}
