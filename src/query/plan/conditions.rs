//! What a scan's conditions cost: those that vectors decide by the cost model's constant, those that PostgreSQL has to be
//! called for what PostgreSQL says. They come in its order, and each is looked at for the rows that the others have left.

use super::costs;
use crate::pg::expr::{FuncExpr, OpExpr, PlaceHolderVar, ScalarArrayOpExpr};
use crate::pg::node::{Node, Nodes};
use crate::pg::planner::{PlannerInfo, RelOptInfo, RestrictInfo};
use crate::query::expr::path::{path_of, question_of};
use crate::query::expr::tree::{any, rewrite};
use pgrx::pg_sys::NodeTag::{T_AlternativeSubPlan, T_SubPlan};

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
pub fn in_order<'a>(root: &PlannerInfo, infos: Nodes<'a>) -> Vec<&'a RestrictInfo> {
    let mut infos: Vec<_> = infos
        .all::<RestrictInfo>()
        .filter(|info| !info.pseudoconstant())
        .map(|info| {
            let (cost, level) = (root.cost_of(info).per_tuple, info.security_level());
            let cheap = info.leakproof() && cost < 10.0 * costs::operator();
            // What reads no column tells of no row.
            let policy = if info.clause_relids().is_empty() { 0 } else { level };
            ((policy, if cheap { 0 } else { level }, cost), info)
        })
        .collect();
    infos.sort_by(|a, b| a.0.partial_cmp(&b.0).expect("costs are numbers"));
    infos.into_iter().map(|(_, info)| info).collect()
}

/// Makes conditions cost what they do where paths are not wrapped in PlaceHolderVars, which cost nothing: by that they are
/// ordered. PostgreSQL keeps a condition's cost.
pub fn charge_wrapped_paths(root: &PlannerInfo, infos: Nodes<'_>) {
    // Nothing in the query is wrapped.
    if !root.placeholder_list().is_some() {
        return;
    }
    for info in infos.all::<RestrictInfo>() {
        let mut found = false;
        let bare = rewrite(info.clause(), &mut |node| {
            let inner = node.as_a::<PlaceHolderVar>()?.phexpr()?;
            let ours = path_of(inner, &|_| true).is_some() || question_of(inner, &|_| true).is_some();
            found |= ours;
            Some(if ours { inner } else { node })
        });
        if found {
            info.set_cost(root.cost_of(bare));
        }
    }
}

pub fn of(root: &PlannerInfo, rel: &RelOptInfo) -> Conditions {
    let mut found = Conditions::default();
    let mut rows = rel.tuples();
    for condition in in_order(root, rel.baserestrictinfo()) {
        let cost = root.cost_of(condition);
        found.startup += cost.startup;
        if calls(condition.clause(), root) {
            found.calls += cost.per_tuple * rows;
        } else {
            found.looks += rows;
        }
        rows *= root.selectivity(condition);
    }
    found
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
fn calls(node: &Node, root: &PlannerInfo) -> bool {
    any(node, |node| {
        let function = if let Some(op) = OpExpr::like(node) {
            op.function()
        } else if let Some(op) = node.as_a::<ScalarArrayOpExpr>() {
            op.function()
        } else if let Some(call) = node.as_a::<FuncExpr>() {
            call.funcid()
        } else {
            return matches!(node.tag(), T_SubPlan | T_AlternativeSubPlan);
        };
        root.cost_of_call(function, node).per_tuple > costs::operator()
    })
}
