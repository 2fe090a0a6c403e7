//! What a scan's conditions cost: those that vectors decide by the cost model's constant, those that PostgreSQL has to be
//! called for what PostgreSQL says. They come in its order, and each is looked at for the rows that the others have left.

use super::costs;
use crate::query::expr::path::{path_of, question_of};
use crate::query::expr::tree::{array_operator_function, is_a, nodes, operator_function, rewrite, walk};
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::RestrictInfo;

/// Of all rows of a relation.
#[derive(Default)]
pub struct Conditions {
    /// Times that a vectorized condition looks at a row.
    pub looks: f64,
    /// What is done before the first row, such as running subqueries.
    pub startup: f64,
    /// Calling functions and subqueries that cost more than an operator does.
    pub calls: f64,
}

/// A scan's conditions in the order in which it looks at them: that of order_qual_clauses() of createplan.c, but a policy's
/// come before the user's, which PostgreSQL may look at first if they are cheap and leakproof.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn in_order(root: *mut pg_sys::PlannerInfo, infos: *mut pg_sys::List) -> Vec<*mut RestrictInfo> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let infos = nodes(infos).into_iter().map(|node| node as *mut RestrictInfo);
        let mut infos: Vec<_> = infos
            .filter(|&info| !(*info).pseudoconstant)
            .map(|info| {
                let (cost, level) = (cost(info, root).per_tuple, (*info).security_level);
                let cheap = (*info).leakproof && cost < 10.0 * pg_sys::cpu_operator_cost;
                // What reads no column tells of no row.
                let policy = if (*info).clause_relids.is_null() { 0 } else { level };
                ((policy, if cheap { 0 } else { level }, cost), info)
            })
            .collect();
        infos.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("costs are numbers"));
        infos.into_iter().map(|(_, info)| info).collect()
    }
}

/// # Safety
/// What the planner hands over.
unsafe fn cost(info: *mut RestrictInfo, root: *mut pg_sys::PlannerInfo) -> pg_sys::QualCost {
    let mut cost = pg_sys::QualCost::default();
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe { pg_sys::cost_qual_eval_node(&mut cost, info as *mut pg_sys::Node, root) }
    cost
}

/// Makes conditions cost what they do where paths are not wrapped in PlaceHolderVars, which cost nothing: by that they are
/// ordered. PostgreSQL keeps a condition's cost.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn charge_wrapped_paths(root: *mut pg_sys::PlannerInfo, infos: *mut pg_sys::List) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        // Nothing in the query is wrapped.
        if (*root).placeholder_list.is_null() {
            return;
        }
        for info in nodes(infos) {
            let info = info as *mut RestrictInfo;
            let mut found = false;
            let bare = rewrite((*info).clause as *mut pg_sys::Node, &mut |node| {
                if !is_a(node, T_PlaceHolderVar) {
                    return None;
                }
                let inner = (*(node as *mut pg_sys::PlaceHolderVar)).phexpr as *mut pg_sys::Node;
                let ours = path_of(inner, &|_| true).is_some() || question_of(inner, &|_| true).is_some();
                found |= ours;
                Some(if ours { inner } else { node })
            });
            if found {
                pg_sys::cost_qual_eval_node(&mut (*info).eval_cost, bare, root);
            }
        }
    }
}

/// # Safety
/// What the planner hands over.
pub unsafe fn of(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) -> Conditions {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = Conditions::default();
        let mut rows = (*rel).tuples;
        for rinfo in in_order(root, (*rel).baserestrictinfo) {
            let cost = cost(rinfo, root);
            found.startup += cost.startup;
            if calls((*rinfo).clause as *mut pg_sys::Node, root) {
                found.calls += cost.per_tuple * rows;
            } else {
                found.looks += rows;
            }
            let none = std::ptr::null_mut();
            rows *= pg_sys::clause_selectivity(root, rinfo as *mut pg_sys::Node, 0, pg_sys::JoinType::JOIN_INNER, none);
        }
        found
    }
}

impl Conditions {
    /// After the startup.
    pub fn run(&self) -> f64 {
        costs::looks(self.looks) + self.calls
    }

    pub fn total(&self) -> f64 {
        self.startup + self.run()
    }
}

/// Whether evaluating an expression calls something that costs more than an operator: no vector does that.
///
/// # Safety
/// What the planner hands over.
unsafe fn calls(node: *mut pg_sys::Node, root: *mut pg_sys::PlannerInfo) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = false;
        walk(node, &mut |node| {
            let function = match (*node).type_ {
                T_SubPlan | T_AlternativeSubPlan => {
                    found = true;
                    return false;
                }
                T_OpExpr | T_DistinctExpr | T_NullIfExpr => operator_function(&*(node as *mut pg_sys::OpExpr)),
                T_ScalarArrayOpExpr => array_operator_function(&*(node as *mut pg_sys::ScalarArrayOpExpr)),
                T_FuncExpr => (*(node as *mut pg_sys::FuncExpr)).funcid,
                _ => return true,
            };
            let mut cost = pg_sys::QualCost::default();
            pg_sys::add_function_cost(root, function, node, &mut cost);
            found |= cost.per_tuple > pg_sys::cpu_operator_cost;
            true
        });
        found
    }
}
