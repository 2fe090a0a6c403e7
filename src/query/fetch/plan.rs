//! Planning fetches: a custom path above every index and bitmap scan of an amax table from whose documents the query
//! reads paths only, or that would read attributes nobody asks for. The scan below finds the rows and hands them up undecoded; its conditions beyond the index's are
//! ours.

use super::charge;
use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, collected, target_list};
use crate::query::expr::tree::{is_a, list, make, nodes};
use crate::query::plan::costs::{self, FetchWork};
use crate::query::plan::methods::{PathMethods, ScanMethods};
use crate::query::plan::wanted::{output, wanted_of};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;

pub static PATH: PathMethods = PathMethods::new(c"AmaxFetch", plan_path);

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxFetch", super::node::create);

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
        let table = (**(*root).simple_rte_array.add((*rel).relid as usize)).relid;
        let scans = nodes((*rel).pathlist).into_iter().chain(nodes((*rel).partial_pathlist));
        let works: Vec<_> = scans
            .map(|scan| scan as *mut pg_sys::Path)
            .filter(|&scan| charge::rows(rel, scan).is_some() && (*scan).pathtype != NodeTag::T_IndexOnlyScan)
            .map(|scan| (scan, charge::work(table, &read(root, &output, rel, scan))))
            .collect();
        let work = |scan| works.iter().find(|(known, _)| *known == scan).map(|(_, work)| *work);
        charge::add(rel, |scan| work(scan).unwrap_or_default().1, columnar);
        nodes((*rel).pathlist)
            .into_iter()
            .filter_map(|scan| {
                let work = work(scan as *mut pg_sys::Path)?;
                Some(path(rel, below(scan)?, work, saves(work)?, columnar))
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

/// Paths and variables that are read of the rows that a scan finds: by what is above it, and by conditions that an index does
/// not decide.
///
/// # Safety
/// What the planner hands over.
unsafe fn read(
    root: *mut pg_sys::PlannerInfo,
    output: &[*mut pg_sys::Node],
    rel: *mut pg_sys::RelOptInfo,
    scan: *mut pg_sys::Path,
) -> Vec<*mut pg_sys::Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut read = output.to_vec();
        // Conditions that the index decides are not looked at again.
        let mut found = Vec::new();
        if !is_rechecked(scan) {
            index_paths(scan, &mut found);
        }
        let decided: Vec<_> = found.into_iter().flat_map(|path| nodes((*path).indexclauses)).collect();
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
        read
    }
}

/// Scans of indexes that a scan consists of.
///
/// # Safety
/// What the planner hands over.
unsafe fn index_paths(scan: *mut pg_sys::Path, found: &mut Vec<*mut pg_sys::IndexPath>) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        pg_sys::check_stack_depth();
        let parts = match (*(scan as *mut pg_sys::Node)).type_ {
            NodeTag::T_IndexPath => return found.push(scan as *mut pg_sys::IndexPath),
            NodeTag::T_BitmapHeapPath => {
                return index_paths((*(scan as *mut pg_sys::BitmapHeapPath)).bitmapqual, found);
            }
            NodeTag::T_BitmapAndPath => (*(scan as *mut pg_sys::BitmapAndPath)).bitmapquals,
            NodeTag::T_BitmapOrPath => (*(scan as *mut pg_sys::BitmapOrPath)).bitmapquals,
            _ => return,
        };
        for part in nodes(parts) {
            index_paths(part as *mut pg_sys::Path, found);
        }
    }
}

/// Whether the rows that a scan finds are to be looked at again: a GIN index knows of each key by itself whether it is in a
/// document.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_rechecked(scan: *mut pg_sys::Path) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = Vec::new();
        index_paths(scan, &mut found);
        found
            .into_iter()
            .any(|path| (*(*path).indexinfo).relam == pg_sys::GIN_AM_OID)
    }
}

/// Whether conditions read paths of documents.
///
/// # Safety
/// What the planner hands over.
unsafe fn reads_paths(root: *mut pg_sys::PlannerInfo, conditions: &[*mut pg_sys::Node], relid: pg_sys::Index) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let read = collected(root, conditions.iter().copied(), relid);
        read.iter().any(|&node| !is_a(node, NodeTag::T_Var))
    }
}

/// What a fetch need not do.
enum Saves {
    /// Assembling a document of which paths are read, or that only lies before what is read.
    Documents,
    /// Reading attributes that lie before those which are asked for: more than a node is worth.
    Values,
}

fn saves((of_fetch, own): (FetchWork, FetchWork)) -> Option<Saves> {
    if of_fetch.documents < own.documents {
        Some(Saves::Documents)
    } else {
        (of_fetch.values + 1 < own.values).then_some(Saves::Values)
    }
}

/// # Safety
/// What the planner hands over.
unsafe fn path(
    rel: *mut pg_sys::RelOptInfo,
    scan: *mut pg_sys::Path,
    work: (FetchWork, FetchWork),
    saves: Saves,
    columnar: f64,
) -> *mut pg_sys::CustomPath {
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
        let run = (*scan).total_cost - (*scan).startup_cost - columnar * charge::saved(work, rel, scan);
        path.total_cost = path.startup_cost
            + match saves {
                Saves::Documents => costs::fetch(run, columnar),
                Saves::Values => run,
            };
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
        if is_a(below as *mut pg_sys::Node, NodeTag::T_BitmapHeapScan) {
            let bitmap = below as *mut pg_sys::BitmapHeapScan;
            let mut parts = Vec::new();
            for condition in nodes((*bitmap).bitmapqualorig) {
                split(condition, &mut parts);
            }
            let scan = nodes((*best).custom_paths)[0] as *mut pg_sys::Path;
            if is_rechecked(scan) && reads_paths(root, &parts, (*rel).relid) {
                conditions = parts;
                (*bitmap).bitmapqualorig = std::ptr::null_mut();
            }
        }
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
        (*scan).scan.scanrelid = (*rel).relid;
        (*scan).flags = (*best).flags;
        if pg_sys::ExecSupportsBackwardScan(below) {
            (*scan).flags |= pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
        }
        (*scan).custom_plans = list([below]);
        (*scan).custom_scan_tlist = target_list(&wanted);
        (*scan).custom_exprs = list(conditions);
        (*scan).methods = &SCAN.0;
        plan
    }
}
