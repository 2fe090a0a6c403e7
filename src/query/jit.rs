//! Whether PostgreSQL compiles a query's expressions (JIT), judged by the part of its plan that has any to evaluate row
//! by row.
//!
//! planner() decides by the whole plan's cost. That of our nodes is work on vectors, which nothing is compiled for;
//! compiling for the few rows they hand up costs more than it can save, and a session that has loaded LLVM has every
//! later parallel worker load it.

use super::aggregate::plan::AGGREGATE_SCAN;
use super::expr::tree::nodes;
use super::fetch::plan::SCAN as FETCH_SCAN;
use super::top::plan::TOP_SCAN;
use super::unnest::plan::is_ours;
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::*;

/// Leaves it out where PostgreSQL's own nodes alone would not have been worth it.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn decide(query: &mut PlannedStmt) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if query.jitFlags as u32 & PGJIT_PERFORM == 0 {
            return;
        }
        // What a subplan costs is in the cost of the plan that runs it.
        let plans = nodes(query.subplans).into_iter().map(|p| p as *mut Plan);
        let ours: f64 = plans.chain([query.planTree]).map(|p| cost_of_ours(p)).sum();
        if (*query.planTree).total_cost - ours <= jit_above_cost {
            query.jitFlags = PGJIT_NONE as i32;
        }
    }
}

/// The cost of our topmost nodes in a plan.
///
/// # Safety
/// What the planner hands over.
unsafe fn cost_of_ours(plan: *mut Plan) -> f64 {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let node = plan as *mut Node;
        if node.is_null() {
            return 0.0;
        }
        // SAFETY: a node is what its tag says, and the lists of these hold plans.
        let others = match (*node).type_ {
            T_CustomScan if is_our_node(node) => return (*plan).total_cost,
            T_CustomScan => (*(plan as *mut CustomScan)).custom_plans,
            T_Append => (*(plan as *mut Append)).appendplans,
            T_MergeAppend => (*(plan as *mut MergeAppend)).mergeplans,
            T_SubqueryScan => return cost_of_ours((*(plan as *mut SubqueryScan)).subplan),
            _ => std::ptr::null_mut(),
        };
        let below = [(*plan).lefttree, (*plan).righttree].into_iter();
        let others = nodes(others).into_iter().map(|p| p as *mut Plan);
        below.chain(others).map(|p| cost_of_ours(p)).sum()
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn is_our_node(plan: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let methods = (*(plan as *mut CustomScan)).methods;
        let others = [&AGGREGATE_SCAN.0, &FETCH_SCAN.0, &TOP_SCAN.0];
        is_ours(plan) || others.iter().any(|&m| std::ptr::eq(methods, m))
    }
}
