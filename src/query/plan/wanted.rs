//! What a query reads of a relation: paths and variables, also of a relation that a parent's query is planned for.

use crate::pg::node::{Node, Nodes};
use crate::pg::planner::{AppendRelInfo, PlannerInfo, RelOptInfo, RestrictInfo};
use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, collected, is_variable};
use crate::query::expr::tree::has;
use pgrx::pg_sys;

/// Paths and variables of `rel` that some part of the query reads.
pub fn wanted_of<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo) -> Vec<&'a Node> {
    // What must be there because the plan above refers to it; paths within what the query computes come first, as they
    // are.
    let relid = rel.relid();
    let chain = ancestry(root, relid);
    let sources = root.processed_tlist().iter().chain(root.parse().havingQual());
    let mut found = collected(root, sources.map(|source| translated(root, source, &chain)), relid);
    let conditions = conditions_of(rel.baserestrictinfo());
    for &condition in &conditions {
        collect(root, condition, relid, &mut found);
    }
    // A variable counts only if the scan's own output or a condition has it by itself.
    found.retain(|node| !is_variable(node));
    let plain = conditions.into_iter().chain(rel.reltarget().exprs().iter());
    for expression in collected(root, plain, relid) {
        if !has(&found, expression) {
            found.push(expression);
        }
    }
    found
}

/// The parts of conditions.
pub fn conditions_of(infos: Nodes<'_>) -> Vec<&Node> {
    let mut parts = Vec::new();
    infos
        .all::<RestrictInfo>()
        .for_each(|info| split(info.clause(), &mut parts));
    parts
}

/// Paths and variables that are read of the rows that a scan of `rel` hands up.
pub fn output<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo) -> Vec<&'a Node> {
    let parse = root.parse();
    let chain = ancestry(root, rel.relid());
    let topmost = chain.first().map_or(rel.relid(), |info| info.parent_relid());
    // Then the scan computes the query's target list itself; else see `pushdown`.
    let computes_all = root.all_baserels().is_one()
        && root.all_baserels().contains(topmost)
        && !parse.hasAggs()
        && !parse.hasWindowFuncs()
        && !parse.hasTargetSRFs()
        && !parse.groupClause().is_some();
    if computes_all {
        let targets = root.processed_tlist().as_node();
        let targets = targets.map(|targets| translated(root, targets, &chain));
        collected(root, targets, rel.relid())
    } else {
        collected(root, rel.reltarget().exprs().iter(), rel.relid())
    }
}

/// From the topmost parent down to `relid`, the links of an inheritance tree.
pub fn ancestry(root: &PlannerInfo, relid: pg_sys::Index) -> Vec<&AppendRelInfo> {
    let mut chain = Vec::new();
    let mut at = relid;
    while let Some(info) = root.parent(at) {
        chain.push(info);
        at = info.parent_relid();
    }
    chain.reverse();
    chain
}

/// An expression over the topmost parent as one over its descendant.
pub fn translated<'a>(root: &PlannerInfo, node: &'a Node, chain: &[&AppendRelInfo]) -> &'a Node {
    chain.iter().fold(node, |node, child| root.translated(node, child))
}
