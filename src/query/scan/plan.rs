//! Planning scans: a custom path beside PostgreSQL's own for every amax table that has columns.

use super::batches::view;
use super::node::METHODS;
use super::node::create;
use super::private::{ReadToEnd, ScanPlan, read_to_end};
use crate::pg::relation::Opened;
use crate::query::batch::Operator;
use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, is_document, target_list, variables};
use crate::query::expr::tree::{list, make, nodes};
use crate::query::plan::conditions::{self, Conditions, in_order};
use crate::query::plan::costs;
use crate::query::plan::methods::{PathMethods, ScanMethods};
use crate::query::plan::private::Private;
use crate::query::plan::wanted::{output, wanted_of};
use crate::storage::manifest;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use pgrx::prelude::*;

pub static PATH: PathMethods = PathMethods::new(c"AmaxScan", plan_path);

pub static SCAN: ScanMethods = ScanMethods::new(c"AmaxScan", create);

pub static OPERATOR: Operator = Operator {
    path: &PATH,
    plan: &SCAN,
    exec: &METHODS,
    read_to_end,
    view,
};

/// A scan in place of the sequential one: serial, and one that workers share if they may.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn paths(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    columnar: f64,
    conditions: &Conditions,
) -> (*mut pg_sys::CustomPath, Option<*mut pg_sys::CustomPath>) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        // As set_plain_rel_pathlist() makes it; its own is gone where an index beats it.
        let sequential = pg_sys::create_seqscan_path(root, rel, std::ptr::null_mut(), 0);
        let workers = if (*rel).consider_parallel {
            let most = pg_sys::max_parallel_workers_per_gather;
            pg_sys::compute_parallel_worker(rel, f64::from((*rel).pages), -1.0, most)
        } else {
            0
        };
        let scan = |workers| path(root, rel, sequential, columnar, conditions, workers);
        let (serial, parallel) = (scan(0), (workers > 0).then(|| scan(workers)));
        (serial, parallel)
    }
}

/// The part of an amax table's rows that are columnar; None for others and if there are none.
pub fn columnar_share(table: pg_sys::Oid) -> Option<f64> {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    let share = rel.is_ours().then(|| {
        let columnar = manifest::current(&rel).rows() as f64;
        let all = f64::from(rel.tuples()).max(columnar);
        columnar / all.max(1.0)
    });
    share.filter(|&share| share > 0.0)
}

/// A path with no more than a part of the costs of a sequential scan, which decodes the same rows one by one: reading
/// what is asked for of them, and its conditions.
///
/// # Safety
/// What the planner hands over.
unsafe fn path(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    sequential: *mut pg_sys::Path,
    columnar: f64,
    conditions: &Conditions,
    workers: i32,
) -> *mut pg_sys::CustomPath {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let custom = make::<pg_sys::CustomPath>(NodeTag::T_CustomPath);
        let path = &mut (*custom).path;
        path.pathtype = NodeTag::T_CustomScan;
        path.parent = rel;
        path.pathtarget = (*rel).reltarget;
        path.parallel_aware = workers > 0;
        path.parallel_safe = (*rel).consider_parallel;
        path.parallel_workers = workers;
        path.rows = (*rel).rows;
        let mut wanted = output(root, rel);
        for restriction in nodes((*rel).baserestrictinfo) {
            let mut parts = Vec::new();
            split(
                (*(restriction as *mut pg_sys::RestrictInfo)).clause as *mut pg_sys::Node,
                &mut parts,
            );
            for part in parts {
                collect(root, part, (*rel).relid, &mut wanted);
            }
        }
        let mut run = run_cost(rel, sequential, columnar, conditions, &wanted);
        if workers > 0 {
            let divisor = costs::parallel_divisor(workers);
            run /= divisor;
            path.rows = (path.rows / divisor).max(1.0);
        }
        path.startup_cost = (*sequential).startup_cost;
        path.total_cost = path.startup_cost + run;
        #[cfg(feature = "test_hooks")]
        super::mutants::claim_order(root, path);
        (*custom).flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION | pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN;
        (*custom).methods = &PATH.0;
        custom
    }
}

/// What a scan costs once it has begun, that reads these paths and variables.
///
/// # Safety
/// What the planner hands over.
unsafe fn run_cost(
    rel: *mut pg_sys::RelOptInfo,
    sequential: *mut pg_sys::Path,
    columnar: f64,
    conditions: &Conditions,
    wanted: &[*mut pg_sys::Node],
) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let whole = wanted.iter().any(|&node| is_document(node));
        let work = costs::ScanWork {
            pages: f64::from((*rel).pages),
            tuples: (*rel).tuples,
            rows: (*rel).rows,
            conditions: conditions.run(),
            columns: wanted.len(),
            documents: whole,
        };
        let vectors = costs::scan(&work);
        let one_by_one = (*sequential).total_cost - (*sequential).startup_cost;
        columnar * vectors.min(costs::AT_MOST * one_by_one) + (1.0 - columnar) * one_by_one
    }
}

/// The same of a table, for a node above that reads less of most rows.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn cost_of_reading(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    wanted: &[*mut pg_sys::Node],
) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let sequential = pg_sys::create_seqscan_path(root, rel, std::ptr::null_mut(), 0);
        let table = *(*root).simple_rte_array.add((*rel).relid as usize);
        let columnar = columnar_share((*table).relid).unwrap_or(0.0);
        run_cost(rel, sequential, columnar, &conditions::of(root, rel), wanted)
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
    clauses: *mut pg_sys::List,
    _plans: *mut pg_sys::List,
) -> *mut pg_sys::Plan {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let scan = make::<pg_sys::CustomScan>(NodeTag::T_CustomScan);
        let mut wanted = Vec::new();
        wanted_of(root, rel, &mut wanted);
        let (conditions, skipping) = conditions_of(root, rel, clauses);
        for &node in nodes(tlist).iter().chain(&conditions) {
            collect(root, node, (*rel).relid, &mut wanted);
        }
        // PostgreSQL may give the plan another target list later (create_projection_plan), made of the same variables.
        for expression in nodes((*(*rel).reltarget).exprs) {
            variables(expression, (*rel).relid, &mut wanted);
        }
        let plan = &mut (*scan).scan.plan;
        plan.targetlist = tlist;
        (*scan).scan.scanrelid = (*rel).relid;
        (*scan).flags = (*best).flags;
        (*scan).custom_scan_tlist = target_list(&wanted);
        let alone = pg_sys::bms_membership((*root).all_baserels) == pg_sys::BMS_Membership::BMS_SINGLETON;
        let private = ScanPlan {
            all: ReadToEnd::of(root, alone),
            conditions: conditions.len(),
            skipping,
            table: None,
            levels: Vec::new(),
        };
        (*scan).custom_exprs = list(conditions);
        (*scan).custom_private = private.to_list();
        (*scan).methods = &SCAN.0;
        plan
    }
}

/// The conditions of a scan, and how many of them, the first, may have leaves skipped by their bounds.
///
/// Where there is a policy only its conditions skip leaves: how many pages are read, which EXPLAIN shows, tells nothing of
/// rows that the policy hides then.
///
/// # Safety
/// What the planner hands over.
unsafe fn conditions_of(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    clauses: *mut pg_sys::List,
) -> (Vec<*mut pg_sys::Node>, usize) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let (mut conditions, mut skipping) = (Vec::new(), 0);
        for info in in_order(root, clauses) {
            let info = &*info;
            split(info.clause as *mut pg_sys::Node, &mut conditions);
            if info.security_level <= (*rel).baserestrict_min_security {
                skipping = conditions.len();
            }
        }
        (conditions, skipping)
    }
}
