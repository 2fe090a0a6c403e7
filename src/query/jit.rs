//! Whether PostgreSQL compiles a query's expressions (JIT), judged by the part of its plan that has any to evaluate row
//! by row.
//!
//! planner() decides by the whole plan's cost. That of our nodes is work on vectors, which nothing is compiled for;
//! compiling for the few rows they hand up costs more than it can save, and a session that has loaded LLVM has every
//! later parallel worker load it.

use super::aggregate::plan::SCAN as AGGREGATE;
use super::fetch::plan::SCAN as FETCH;
use super::top::plan::SCAN as TOP;
use super::unnest::plan::is_ours;
use crate::pg::plan::{CustomScan, Plan, PlannedStmt};
use pgrx::pg_sys;

/// Leaves it out where PostgreSQL's own nodes alone would not have been worth it.
pub fn decide(query: &PlannedStmt) {
    if query.jitFlags() & pg_sys::PGJIT_PERFORM == 0 {
        return;
    }
    // What a subplan costs is in the cost of the plan that runs it.
    let subplans = query.subplans().iter().map(Plan::of_node);
    let ours: f64 = subplans.chain([query.planTree()]).map(cost_of_ours).sum();
    // SAFETY: a setting.
    if query.planTree().total_cost() - ours <= unsafe { pg_sys::jit_above_cost } {
        query.leave_out_jit();
    }
}

/// The cost of our topmost nodes in a plan.
fn cost_of_ours(plan: &Plan) -> f64 {
    let scan = plan.as_a::<CustomScan>();
    let are_ours = |scan: &&CustomScan| is_ours(scan) || [&AGGREGATE, &FETCH, &TOP].iter().any(|m| m.are_of(scan));
    if scan.is_some_and(|scan| are_ours(&scan)) {
        return plan.total_cost();
    }
    plan.below().map(cost_of_ours).sum()
}
