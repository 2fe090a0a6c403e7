//! Which keys of a parameter the plan of a subquery looks at.

use crate::pg::expr::{Param, SubPlan};
use crate::pg::node::Node;
use crate::pg::plan::Plan;
use crate::pg::planner::PlannerInfo;
use crate::query::expr::path::keys_of;
use crate::query::expr::tree::walk;
use pgrx::pg_sys;

/// Keys from the root of a document to what is looked at.
pub type Keys = Vec<Vec<u8>>;

/// More paths than this are not told apart.
const MOST: usize = 64;

/// Those of plan `plan_id`; None if it looks at the whole of it, or if that is not known.
pub fn of_plan(root: &PlannerInfo, plan_id: i32, parameter: i32) -> Option<Vec<Keys>> {
    let plans = root.glob().subplans();
    // With those of the subqueries in it.
    let (mut found, mut ids, mut looked) = (Vec::new(), vec![plan_id], 0);
    while let Some(&id) = ids.get(looked) {
        looked += 1;
        let mut left = vec![Plan::of_node(plans.get(id as usize - 1)?)];
        while let Some(plan) = left.pop() {
            left.extend(plan.below());
            for node in plan.expressions()? {
                looked_at(node, parameter, &mut found, &mut ids)?;
            }
        }
    }
    Some(found)
}

/// What an expression looks at; the plans of subqueries in it are added to `plans`, each once.
fn looked_at(node: &Node, parameter: i32, found: &mut Vec<Keys>, plans: &mut Vec<i32>) -> Option<()> {
    let is_ours = |node: &Node| {
        let param = node.as_a::<Param>();
        param.is_some_and(|param| param.paramkind() == pg_sys::ParamKind::PARAM_EXEC && param.paramid() == parameter)
    };
    let mut known = true;
    walk(node, &mut |node| {
        if let Some((base, keys)) = keys_of(node)
            && is_ours(base)
        {
            known &= !keys.is_empty();
            if !found.contains(&keys) {
                found.push(keys);
            }
            return false;
        }
        let plan = node.as_a::<SubPlan>().map(SubPlan::plan_id);
        plans.extend(plan.filter(|plan| !plans.contains(plan)));
        known &= !is_ours(node) && found.len() <= MOST;
        known
    });
    known.then_some(())
}
