//! Plans of which it shows in nothing but their rows how often they are asked for one.

use super::entry::{Entry, reference_of};
use super::operators::comparison;
use super::tree::walk;
use crate::pg::expr::{BoolExpr, OpExpr, SubPlan};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::plan::{CustomScan, Joins, Plan};
use crate::pg::state::PlanState;
use amax_exec::Comparison;
use pgrx::pg_sys::BoolExprType;
use pgrx::pg_sys::NodeTag::*;

/// A node by itself, whatever is below it.
pub fn is_quiet(node: &PlanState) -> bool {
    are_quiet(expressions(node.plan()), node)
}

/// The same of a join and what it reads on its inner side.
pub fn is_quiet_join(node: &PlanState) -> bool {
    let plan = node.plan();
    is_quiet(node) && are_quiet([joinqual(plan)], node) && plan.righttree().is_none_or(is_quiet_tree)
}

fn are_quiet<'a>(lists: impl IntoIterator<Item = Nodes<'a>>, parent: &PlanState) -> bool {
    let is_quiet = |list: Nodes<'a>| list.as_node().is_none_or(|list| is_repeatable(list, Some(parent)));
    lists.into_iter().all(is_quiet)
}

/// Whether an expression may be evaluated for other rows, in another order or less often than written. A subquery may be in
/// it that is run once for all rows.
pub fn is_repeatable(node: &Node, parent: Option<&PlanState>) -> bool {
    let mut quiet = !node.is_volatile();
    walk(node, &mut |node| {
        if let Some(subquery) = node.as_a::<SubPlan>() {
            quiet &= parent.is_some_and(|parent| runs_once(subquery, parent));
        }
        quiet &= node.tag() != T_AlternativeSubPlan;
        quiet
    });
    quiet
}

/// Whether a condition is `column IN (subquery)`, or `NOT IN`, which raises no error but one of the subquery: that comes for
/// the first row that is looked at, or not at all.
pub fn looks_up(condition: &Node, entries: &[Entry]) -> bool {
    let not = condition
        .as_a::<BoolExpr>()
        .filter(|op| op.boolop() == BoolExprType::NOT_EXPR);
    let condition = not.and_then(|not| not.args().get(0)).unwrap_or(condition);
    let test = condition.as_a::<SubPlan>().and_then(SubPlan::testexpr);
    let Some(test) = test.and_then(|test| test.as_a::<OpExpr>()) else {
        return false;
    };
    let column = test.args().get(0).and_then(reference_of).map(|at| &entries[at]);
    let equal = comparison(test.function().to_u32(), test.inputcollid());
    matches!(column, Some(Entry::Attribute(_))) && matches!(equal, Some((Comparison::Equal, _)))
}

/// Whether a subquery is run once, for a hash table of its rows, and quietly.
fn runs_once(subquery: &SubPlan, parent: &PlanState) -> bool {
    let plans = parent.state().statement().subplans();
    let plan = plans.get(subquery.plan_id() as usize - 1);
    let hashed = subquery.useHashTable() && !subquery.args().is_some();
    hashed && plan.is_some_and(|plan| is_quiet_tree(Plan::of_node(plan)))
}

/// Of plans of some kinds, and without subqueries.
fn is_quiet_tree(plan: &Plan) -> bool {
    let known = matches!(
        plan.tag(),
        T_SeqScan
            | T_IndexScan
            | T_IndexOnlyScan
            | T_BitmapHeapScan
            | T_BitmapIndexScan
            | T_CustomScan
            | T_Material
            | T_Memoize
            | T_Hash
            | T_Sort
            | T_HashJoin
            | T_NestLoop
    );
    let below = [plan.lefttree(), plan.righttree()];
    let are_pure = |list: Nodes| list.as_node().is_none_or(is_pure);
    known
        && expressions(plan).into_iter().chain([joinqual(plan)]).all(are_pure)
        && below.into_iter().flatten().all(is_quiet_tree)
}

fn expressions(plan: &Plan) -> [Nodes<'_>; 3] {
    let own = plan.as_a::<CustomScan>().map_or(Nodes::NONE, CustomScan::custom_exprs);
    [plan.targetlist(), plan.qual(), own]
}

/// A join's conditions, but those that a hash join compares its keys by.
fn joinqual(plan: &Plan) -> Nodes<'_> {
    plan.as_join().map_or(Nodes::NONE, Joins::joinqual)
}
