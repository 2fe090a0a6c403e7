//! Paths of a relation that has columns: a scan beside the sequential one, and a fetch above each scan by an index, or of a sample.

use super::fetch::plan as fetch;
use super::join::plan as join;
use super::join_filter::plan as join_filter;
use super::plan::conditions;
use super::plan::kept::keep;
use super::plan::tids;
use super::plan::workers;
use super::scan::plan as scan;
use super::statistics::{compare_joins, count_rows, expect_all, expect_elements, match_keys};
use super::unnest::plan as unnest;
use crate::guc;
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{JoinPathExtraData, PlannerInfo, RelOptInfo};
use pgrx::pg_sys;

/// Adds paths to those that the planner has for a join, whose conditions come in heap's order.
pub fn add_join_paths(
    root: &PlannerInfo,
    joinrel: &RelOptInfo,
    outer: &RelOptInfo,
    inner: &RelOptInfo,
    kind: pg_sys::JoinType::Type,
    extra: &JoinPathExtraData,
) {
    if guc::custom_scan() {
        if root.all_baserels().are_in(joinrel.relids()) && !root.is_searched() {
            expect_all(root);
        }
        conditions::charge_wrapped_paths(root, extra.restrictlist());
        unnest::add_paths(root, joinrel, outer, inner, kind, extra);
        join_filter::add_paths(root, joinrel, outer, inner, kind, extra);
        join::keep(root, joinrel, outer, inner, kind, extra);
        workers::charge_sides(joinrel, outer, inner, kind);
    }
}

/// Adds paths to those that the planner has for a relation.
pub fn add_paths(root: &PlannerInfo, rel: &RelOptInfo, rte: &RangeTblEntry) {
    if guc::custom_scan() && rte.rtekind() == pg_sys::RTEKind::RTE_FUNCTION {
        expect_elements(root, rel, rte);
    }
    if guc::custom_scan() {
        count_rows(root, rel);
        compare_joins(root, rel);
        match_keys(root, rel);
    }
    if guc::custom_scan()
        && let Some(paths) = scan::partitioned(root, rel, rte)
    {
        keep(root, false, paths.serial, paths.conditions);
        if let Some(parallel) = paths.parallel {
            keep(root, true, parallel, paths.conditions);
        }
        return;
    }
    let scannable = guc::custom_scan()
        && rte.rtekind() == pg_sys::RTEKind::RTE_RELATION
        && matches!(rte.relkind(), pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW)
        && !rte.inh()
        && rel.lateral_relids().is_empty()
        && !rel.is_dummy();
    if !scannable {
        return;
    }
    let Some(columnar) = scan::Columnar::of(rte.relid()) else {
        return;
    };
    // What a TID finds needs no scan, whatever that costs.
    let mut paths = rel.paths().into_iter();
    if paths.any(|path| path.pathtype() == pg_sys::NodeTag::T_TidScan && path.param_info().is_none()) {
        return;
    }
    // All before one is added: that may free those below.
    for fetch in fetch::paths(root, rel, (columnar.share, columnar.leaves)) {
        rel.add_path(fetch);
    }
    if rte.tablesample().is_some() {
        return;
    }
    let columnar = columnar.within(rel);
    tids::expect(root, rel, columnar.part);
    let paths = scan::paths(root, rel, columnar);
    keep(root, false, paths.serial, paths.conditions);
    rel.add_path(paths.serial);
    if let Some(parallel) = paths.parallel {
        keep(root, true, parallel, paths.conditions);
        rel.add_partial_path(parallel);
    }
}
