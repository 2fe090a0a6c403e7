//! What a query reads of a relation: paths and variables, also of a relation that a parent's query is planned for.

use crate::query::expr::containment::split;
use crate::query::expr::entry::{collect, collected};
use crate::query::expr::tree::{equal, is_a, nodes};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// Paths and variables of `rel` that some part of the query reads.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn wanted_of(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    found: &mut Vec<*mut pg_sys::Node>,
) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        // What must be there because the plan above refers to it; paths within what the query computes come first, as they
        // are.
        let parse = (*root).parse;
        let mut sources = nodes((*root).processed_tlist);
        sources.push((*parse).havingQual);
        let relid = (*rel).relid;
        let chain = ancestry(root, relid);
        for source in &mut sources {
            *source = translated(root, *source, &chain);
        }
        for source in sources {
            collect(root, source, relid, found);
        }
        let mut conditions = Vec::new();
        for restriction in nodes((*rel).baserestrictinfo) {
            let clause = (*(restriction as *mut pg_sys::RestrictInfo)).clause;
            split(clause as *mut pg_sys::Node, &mut conditions);
        }
        for &condition in &conditions {
            collect(root, condition, relid, found);
        }
        // A variable counts only if the scan's own output or a condition has it by itself.
        found.retain(|&e| !is_a(e, NodeTag::T_Var));
        let mut plain = Vec::new();
        for &condition in &conditions {
            collect(root, condition, relid, &mut plain);
        }
        for expression in nodes((*(*rel).reltarget).exprs) {
            collect(root, expression, relid, &mut plain);
        }
        for expression in plain {
            if !found.iter().any(|&f| equal(f, expression)) {
                found.push(expression);
            }
        }
    }
}

/// Paths and variables that are read of the rows that a scan of `rel` hands up.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn output(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) -> Vec<*mut pg_sys::Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = (*root).parse;
        let chain = ancestry(root, (*rel).relid);
        let topmost = chain.first().map_or((*rel).relid, |&info| (*info).parent_relid);
        // Then the scan computes the query's target list itself; else see `pushdown`.
        let computes_all = pg_sys::bms_membership((*root).all_baserels) == pg_sys::BMS_Membership::BMS_SINGLETON
            && pg_sys::bms_is_member(topmost as i32, (*root).all_baserels)
            && !(*parse).hasAggs
            && !(*parse).hasWindowFuncs
            && !(*parse).hasTargetSRFs
            && (*parse).groupClause.is_null();
        if computes_all {
            let targets = translated(root, (*root).processed_tlist as *mut pg_sys::Node, &chain);
            collected(root, [targets], (*rel).relid)
        } else {
            collected(root, nodes((*(*rel).reltarget).exprs), (*rel).relid)
        }
    }
}

/// From the topmost parent down to `relid`, the links of an inheritance tree.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn ancestry(root: *mut pg_sys::PlannerInfo, relid: pg_sys::Index) -> Vec<*mut pg_sys::AppendRelInfo> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut chain = Vec::new();
        let mut at = relid;
        while !(*root).append_rel_array.is_null() {
            let info = *(*root).append_rel_array.add(at as usize);
            if info.is_null() {
                break;
            }
            chain.push(info);
            at = (*info).parent_relid;
        }
        chain.reverse();
        chain
    }
}

/// An expression over the topmost parent as one over its descendant.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn translated(
    root: *mut pg_sys::PlannerInfo,
    mut node: *mut pg_sys::Node,
    chain: &[*mut pg_sys::AppendRelInfo],
) -> *mut pg_sys::Node {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        for &info in chain {
            let mut info = info;
            node = pg_sys::adjust_appendrel_attrs(root, node, 1, &mut info);
        }
        node
    }
}
