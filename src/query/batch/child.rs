//! The node below one of ours.

use super::contract::{Batches, of};
use crate::query::expr::tree::{list, nodes};
use pgrx::pg_sys;

/// Begins it, when its parent begins.
///
/// # Safety
/// A node of ours that begins, of a plan above one other.
pub unsafe fn begin_child(
    node: *mut pg_sys::CustomScanState,
    estate: *mut pg_sys::EState,
    eflags: i32,
) -> *mut pg_sys::PlanState {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let below = pg_sys::ExecInitNode(nodes((*plan).custom_plans)[0] as *mut pg_sys::Plan, estate, eflags);
        (*node).custom_ps = list([below]);
        below
    }
}

/// # Safety
/// A node of ours, whose child has begun and not ended.
pub unsafe fn child(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::PlanState {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { nodes((*node).custom_ps)[0] as *mut pg_sys::PlanState }
}

/// The same as one that hands up batches.
///
/// # Safety
/// As of [`child`], which does.
pub unsafe fn input<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut dyn Batches {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { of(child(node)).expect("the planner put us above what hands up batches") }
}

/// Has it start again, with the parameters that have changed.
///
/// # Safety
/// As of [`child`].
pub unsafe fn rescan_child(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        if !(*node).ss.ps.chgParam.is_null() {
            pg_sys::UpdateChangedParamSet(child(node), (*node).ss.ps.chgParam);
        }
        pg_sys::ExecReScan(child(node));
    }
}
