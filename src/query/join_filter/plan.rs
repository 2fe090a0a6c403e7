//! Planning hash joins below which a scan leaves out the rows without a match. PostgreSQL takes it to hand up all of them.

use super::offer::key_type;
use crate::pg::custom::CustomPath;
use crate::pg::expr::OpExpr;
use crate::pg::node::{Nodes, is_pure};
use crate::pg::planner::{JoinPathExtraData, Path, PlannerInfo, RelOptInfo, RestrictInfo, row_count};
use crate::query::plan::costs;
use crate::query::plan::kept::{conditions, path_with};
use crate::query::scan::plan::{Columnar, PATH};
use crate::query::scan::private::Begins;
use pgrx::pg_sys;
use pgrx::pg_sys::JoinType::{JOIN_INNER, JOIN_SEMI};

/// Adds hash joins to the paths of a join, each with a scan of ours of `outer` that hands up fewer rows than that has.
pub fn add_paths(
    root: &PlannerInfo,
    joinrel: &RelOptInfo,
    outer: &RelOptInfo,
    inner: &RelOptInfo,
    kind: pg_sys::JoinType::Type,
    extra: &JoinPathExtraData,
) {
    let is_table = outer.reloptkind() == pg_sys::RelOptKind::RELOPT_BASEREL;
    let begins = Begins::of_setting();
    if !is_table || !matches!(kind, JOIN_INNER | JOIN_SEMI) || begins != Begins::Matched {
        return;
    }
    let is_scan = |path: &CustomPath| path.has(&PATH);
    let Some(scan) = path_with(outer, false, is_scan) else {
        return;
    };
    let Some(all) = inner.cheapest_total_path().filter(|path| path.param_info().is_none()) else {
        return;
    };
    let keys = keys(outer, inner, extra);
    let Some(matched) = matched(root, outer, inner, keys) else {
        return;
    };
    let columnar = Columnar::of(root.entry(outer.relid()).relid())
        .unwrap_or_default()
        .within(outer);
    let (columns, conditions) = (scan.pathtarget().exprs().to_vec(), conditions(root, outer.relids()));
    let vectors = columnar.cost(outer, conditions, &columns, matched * outer.rows());
    let looked_up = costs::looked_up(outer.rows());
    let reduced = |scan: &CustomPath, processes: f64| -> &Path {
        let of = |all: f64, columns: f64| (1.0 - columnar.share) * all + columnar.share * columns;
        let run = of(
            scan.run_cost(),
            scan.run_cost().min(vectors / processes) + looked_up / processes,
        );
        scan.reduced(
            row_count(of(scan.rows(), matched * scan.rows())),
            scan.startup_cost() + run,
        )
    };
    let join = |scan, inner, shared| root.hash_join(joinrel, kind, extra, (scan, inner), keys, shared);
    if let Some(path) = join(reduced(scan, 1.0), all, false) {
        joinrel.add_path(path);
    }
    // As in hash_inner_and_outer() of joinpath.c.
    if !joinrel.consider_parallel() || !joinrel.lateral_relids().is_empty() {
        return;
    }
    let Some(scan) = path_with(outer, true, is_scan) else {
        return;
    };
    // SAFETY: a setting.
    let may_share = unsafe { pg_sys::enable_parallel_hash };
    let scan = reduced(scan, costs::parallel_divisor(scan.parallel_workers()));
    let part = inner.partial_paths().first().copied().filter(|_| may_share);
    let inners = [(part, true), (Some(all).filter(|all| all.parallel_safe()), false)];
    for path in inners
        .into_iter()
        .filter_map(|(inner, shared)| join(scan, inner?, shared))
    {
        joinrel.add_partial_path(path);
    }
}

/// The conditions that a hash join of two relations may have as its keys (hash_inner_and_outer() of joinpath.c).
pub fn keys<'a>(outer: &RelOptInfo, inner: &RelOptInfo, extra: &'a JoinPathExtraData) -> Nodes<'a> {
    let between = |key: &RestrictInfo| {
        let (left, right) = (key.left_relids(), key.right_relids());
        let (outer, inner) = (outer.relids(), inner.relids());
        left.are_in(outer) && right.are_in(inner) || left.are_in(inner) && right.are_in(outer)
    };
    let conditions = extra.restrictlist().all::<RestrictInfo>();
    conditions
        .filter(|key| key.can_join() && key.hashjoinoperator() != pg_sys::InvalidOid && between(key))
        .map(|key| &**key)
        .collect()
}

/// The part of the outer rows that a join by these keys leaves; None if the scan will not be told of them. An inner join has
/// no more values of a key than each of its tables that are joined by it, of which PostgreSQL looks at one.
fn matched(root: &PlannerInfo, outer: &RelOptInfo, inner: &RelOptInfo, keys: Nodes<'_>) -> Option<f64> {
    let of = |inner: &RelOptInfo, keys: Nodes<'_>| {
        let offered = keys.all::<RestrictInfo>().filter(|key| is_offered(key));
        let matched = offered.map(|key| root.matched(key.clause(), outer, inner));
        matched.reduce(f64::min)
    };
    let joined = of(inner, keys)?;
    let tables = root.relations().filter(|table| table.relids().are_in(inner.relids()));
    let tables = tables.filter(|_| inner.relids().is_several());
    let of_tables = tables.filter_map(|table| of(table, root.equalities(outer, table)));
    Some(of_tables.fold(joined, f64::min))
}

/// Whether a join will tell the scan of a key.
fn is_offered(key: &RestrictInfo) -> bool {
    let clause = key.clause();
    let operator = OpExpr::like(clause).filter(|_| is_pure(clause));
    operator.is_some_and(|operator| key_type(operator.function(), operator.inputcollid()).is_some())
}
