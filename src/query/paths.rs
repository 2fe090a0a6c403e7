//! Paths of a relation that has columns: a scan beside the sequential one, and a fetch above each scan by an index.

use super::expr::tree::nodes;
use super::fetch::plan as fetch;
use super::plan::conditions;
use super::plan::kept::keep;
use super::scan::plan as scan;
use super::unnest::plan as unnest;
use crate::guc;
use pgrx::pg_sys;

/// Adds paths to those that the planner has for a join, whose conditions come in heap's order.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn add_join_paths(
    root: *mut pg_sys::PlannerInfo,
    joinrel: *mut pg_sys::RelOptInfo,
    outer: *mut pg_sys::RelOptInfo,
    inner: *mut pg_sys::RelOptInfo,
    jointype: pg_sys::JoinType::Type,
    extra: *mut pg_sys::JoinPathExtraData,
) {
    if guc::custom_scan() {
        // SAFETY: as the caller promises.
        unsafe {
            conditions::charge_wrapped_paths(root, (*extra).restrictlist);
            unnest::add_paths(root, joinrel, outer, inner, jointype, extra);
        }
    }
}

/// Adds paths to those that the planner has for a relation.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn add_paths(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo, rte: *mut pg_sys::RangeTblEntry) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let scannable = guc::custom_scan()
            && (*rte).rtekind == pg_sys::RTEKind::RTE_RELATION
            && matches!((*rte).relkind as u8, pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW)
            && !(*rte).inh
            && (*rte).tablesample.is_null()
            && (*rel).lateral_relids.is_null()
            && !pg_sys::is_dummy_rel(rel);
        if !scannable {
            return;
        }
        let Some(columnar) = scan::columnar_share((*rte).relid) else {
            return;
        };
        // What a TID finds needs no scan, whatever that costs.
        let by_tid = |path: *mut pg_sys::Node| {
            let path = path as *mut pg_sys::Path;
            (*path).pathtype == pg_sys::NodeTag::T_TidScan && (*path).param_info.is_null()
        };
        if nodes((*rel).pathlist).into_iter().any(by_tid) {
            return;
        }
        // All before one is added: that may free those below.
        for fetch in fetch::paths(root, rel, columnar) {
            pg_sys::add_path(rel, fetch as *mut pg_sys::Path);
        }
        let conditions = conditions::of(root, rel);
        let (serial, parallel) = scan::paths(root, rel, columnar, &conditions);
        keep(root, false, serial, conditions.total());
        pg_sys::add_path(rel, serial as *mut pg_sys::Path);
        if let Some(parallel) = parallel {
            keep(root, true, parallel, conditions.total());
            pg_sys::add_partial_path(rel, parallel as *mut pg_sys::Path);
        }
    }
}
