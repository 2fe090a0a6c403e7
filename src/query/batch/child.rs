//! The node below one of ours.

use super::contract::{Batches, of};
use crate::pg::plan::Plan;
use crate::pg::state::{CustomScanState, EState, PlanState};
use std::cell::RefMut;

/// Begins it, when its parent begins, a node of a plan above one other.
pub fn begin_child<'a>(node: &CustomScanState, estate: &'a EState, flags: i32) -> &'a PlanState {
    let plan = node.scan().custom_plans().get(0).expect("a plan above another");
    let below = PlanState::begin(Plan::of_node(plan), estate, flags);
    node.set_child(below);
    below
}

/// It has begun.
pub fn child(node: &CustomScanState) -> &PlanState {
    PlanState::of_node(node.children().get(0).expect("a node above another"))
}

/// The same as one that hands up batches.
pub fn input(node: &CustomScanState) -> RefMut<'static, dyn Batches> {
    let below = of(child(node)).expect("the planner put us above what hands up batches");
    below.borrow_mut()
}

/// Has it start again, with the parameters that have changed.
pub fn rescan_child(node: &CustomScanState) {
    node.tell(child(node));
    child(node).rescan();
}
