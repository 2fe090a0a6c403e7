//! Planning fetches: a custom path above every index and bitmap scan of an amax table from whose documents the query
//! reads paths only. The scan below finds the rows and hands them up undecoded; its conditions beyond the index's are
//! ours.

use crate::query::expr::containment::split;
use crate::query::expr::entry::{Entry, collect, entry_of, target_list};
use crate::query::expr::tree::{is_a, list, make, nodes};
use crate::query::plan::costs;
use crate::query::plan::methods::{PathMethods, ScanMethods};
use crate::query::plan::wanted::{ancestry, translated, wanted_of};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;

pub static PATH: PathMethods = PathMethods(pg_sys::CustomPathMethods {
    CustomName: c"AmaxFetch".as_ptr(),
    PlanCustomPath: Some(plan_path),
    ReparameterizeCustomPathByChild: None,
});

pub static SCAN: ScanMethods = ScanMethods(pg_sys::CustomScanMethods {
    CustomName: c"AmaxFetch".as_ptr(),
    CreateCustomScanState: Some(super::node::create),
});

/// A fetch for each scan by an index of which it saves something; `columnar` is the part of the rows that are.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn paths(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    columnar: f64,
) -> Vec<*mut pg_sys::CustomPath> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let output = output(root, rel);
        nodes((*rel).pathlist)
            .into_iter()
            .filter_map(|scan| {
                let scan = below(scan)?;
                saves(root, &output, rel, scan).then(|| path(rel, scan, columnar))
            })
            .collect()
    }
}

/// The scan as a fetch has it below; None if it is of another kind.
///
/// # Safety
/// What the planner hands over.
unsafe fn below(scan: *mut pg_sys::Node) -> Option<*mut pg_sys::Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let path = scan as *mut pg_sys::Path;
        if is_a(scan, NodeTag::T_IndexPath) {
            let index = scan as *mut pg_sys::IndexPath;
            let plain = (*path).pathtype == NodeTag::T_IndexScan && (*index).indexorderbys.is_null();
            return plain.then_some(path);
        }
        is_a(scan, NodeTag::T_BitmapHeapPath).then(|| {
            // add_path() frees it when it finds the fetch to be better.
            let copy = make::<pg_sys::BitmapHeapPath>(NodeTag::T_BitmapHeapPath);
            *copy = *(scan as *mut pg_sys::BitmapHeapPath);
            copy as *mut pg_sys::Path
        })
    }
}

/// Paths and variables that are read of the rows a scan of `rel` hands up.
///
/// # Safety
/// What the planner hands over.
unsafe fn output(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) -> Vec<*mut pg_sys::Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = (*root).parse;
        let chain = ancestry(root, (*rel).relid);
        let topmost = chain.first().map_or((*rel).relid, |&info| (*info).parent_relid);
        let mut found = Vec::new();
        // Then the scan computes the query's target list itself; else see `pushdown`.
        let computes_all = pg_sys::bms_membership((*root).all_baserels) == pg_sys::BMS_Membership::BMS_SINGLETON
            && pg_sys::bms_is_member(topmost as i32, (*root).all_baserels)
            && !(*parse).hasAggs
            && !(*parse).hasWindowFuncs
            && !(*parse).hasTargetSRFs
            && (*parse).groupClause.is_null();
        if computes_all {
            let targets = translated(root, (*root).processed_tlist as *mut pg_sys::Node, &chain);
            collect(root, targets, (*rel).relid, &mut found);
        } else {
            for expression in nodes((*(*rel).reltarget).exprs) {
                collect(root, expression, (*rel).relid, &mut found);
            }
        }
        found
    }
}

/// Whether a document of which the output or the conditions read a path need not be assembled.
///
/// # Safety
/// What the planner hands over.
unsafe fn saves(
    root: *mut pg_sys::PlannerInfo,
    output: &[*mut pg_sys::Node],
    rel: *mut pg_sys::RelOptInfo,
    scan: *mut pg_sys::Path,
) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut read = output.to_vec();
        // Conditions that the index decides are not looked at again.
        let decided = if is_a(scan as *mut pg_sys::Node, NodeTag::T_IndexPath) {
            nodes((*(scan as *mut pg_sys::IndexPath)).indexclauses)
        } else {
            Vec::new()
        };
        let is_decided = |condition: *mut pg_sys::Node| {
            decided.iter().any(|&clause| {
                let clause = &*(clause as *mut pg_sys::IndexClause);
                clause.rinfo as *mut pg_sys::Node == condition && !clause.lossy
            })
        };
        let joins = (*scan)
            .param_info
            .as_ref()
            .map_or(std::ptr::null_mut(), |info| info.ppi_clauses);
        for condition in nodes((*rel).baserestrictinfo).into_iter().chain(nodes(joins)) {
            if !is_decided(condition) {
                let clause = (*(condition as *mut pg_sys::RestrictInfo)).clause;
                let mut parts = Vec::new();
                split(clause as *mut pg_sys::Node, &mut parts);
                for part in parts {
                    collect(root, part, (*rel).relid, &mut read);
                }
            }
        }
        let entries: Vec<Entry> = read.into_iter().map(|e| entry_of(e, &[])).collect();
        entries.iter().any(|entry| match entry {
            Entry::Path(path) | Entry::Answer(path, _) if !path.steps.is_empty() => !entries
                .iter()
                .any(|other| matches!(other, Entry::Attribute(whole) if *whole == path.attribute)),
            _ => false,
        })
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn path(rel: *mut pg_sys::RelOptInfo, scan: *mut pg_sys::Path, columnar: f64) -> *mut pg_sys::CustomPath {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let custom = make::<pg_sys::CustomPath>(NodeTag::T_CustomPath);
        let path = &mut (*custom).path;
        path.pathtype = NodeTag::T_CustomScan;
        path.parent = rel;
        path.pathtarget = (*rel).reltarget;
        path.param_info = (*scan).param_info;
        path.parallel_safe = (*scan).parallel_safe;
        path.rows = (*scan).rows;
        path.pathkeys = (*scan).pathkeys;
        path.startup_cost = (*scan).startup_cost;
        // PostgreSQL knows nothing of how long assembling a document takes.
        let run = (*scan).total_cost - (*scan).startup_cost;
        path.total_cost = path.startup_cost + costs::fetch(run, columnar);
        (*custom).custom_paths = list([scan]);
        (*custom).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION;
        (*custom).methods = &PATH.0;
        custom
    }
}

/// # Safety
/// What the planner hands over.
#[pg_guard]
unsafe extern "C-unwind" fn plan_path(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    best: *mut pg_sys::CustomPath,
    tlist: *mut pg_sys::List,
    _clauses: *mut pg_sys::List,
    plans: *mut pg_sys::List,
) -> *mut pg_sys::Plan {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut below = nodes(plans)[0] as *mut pg_sys::Plan;
        if is_a(below as *mut pg_sys::Node, NodeTag::T_Result) {
            // Conditions without variables: they get a node above us as well (create_gating_plan).
            below = (*below).lefttree;
        }
        let mut conditions = Vec::new();
        for condition in nodes((*below).qual) {
            split(condition, &mut conditions);
        }
        // It computes nothing: we take the row it is about.
        (*below).qual = std::ptr::null_mut();
        (*below).targetlist = std::ptr::null_mut();
        let mut wanted = Vec::new();
        wanted_of(root, rel, &mut wanted);
        for &node in nodes(tlist).iter().chain(&conditions) {
            collect(root, node, (*rel).relid, &mut wanted);
        }
        // PostgreSQL may give the plan another target list later (create_projection_plan), made of the same variables.
        for expression in nodes((*(*rel).reltarget).exprs) {
            crate::query::expr::entry::variables(expression, (*rel).relid, &mut wanted);
        }
        let scan = make::<pg_sys::CustomScan>(NodeTag::T_CustomScan);
        let plan = &mut (*scan).scan.plan;
        plan.targetlist = tlist;
        plan.qual = list(conditions);
        (*scan).scan.scanrelid = (*rel).relid;
        (*scan).flags = (*best).flags;
        if pg_sys::ExecSupportsBackwardScan(below) {
            (*scan).flags |= pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
        }
        (*scan).custom_plans = list([below]);
        (*scan).custom_scan_tlist = target_list(&wanted);
        (*scan).methods = &SCAN.0;
        plan
    }
}
