//! What an aggregate's path and plan carry, apart from expressions.

use super::top::Top;
use crate::query::expr::tree::nodes;
use crate::query::plan::private::{Private, Reader, Writer};
use pgrx::pg_sys::*;

/// The node by itself, or one of the two parts of a parallel aggregate, below and above a Gather node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Lower,
    Upper,
}

const PARTS: [Part; 3] = [Part::Whole, Part::Lower, Part::Upper];

/// Of a path.
pub struct AggregatePath {
    pub part: Part,
    pub keys: Vec<*mut Node>,
    pub aggregates: Vec<*mut Node>,
}

impl Private for AggregatePath {
    const KIND: &'static std::ffi::CStr = c"amax aggregate path 1";
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            out.int(self.part as i32);
            out.nodes(&self.keys);
            out.nodes(&self.aggregates);
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn read(from: &mut Reader) -> AggregatePath {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            AggregatePath {
                part: from.one_of(&PARTS),
                keys: from.nodes(),
                aggregates: from.nodes(),
            }
        }
    }
}

/// Of a plan.
#[derive(Clone, Copy)]
pub struct AggregatePlan {
    pub part: Part,
    /// How many of the entries are keys; the others are aggregates, and the lower part's last one is its output.
    pub keys: usize,
    pub top: Option<Top>,
}

impl AggregatePlan {
    /// What HAVING says: custom_exprs have the entries before.
    ///
    /// # Safety
    /// The plan that this one is of, of another part than the lower one.
    pub unsafe fn conditions(plan: *mut CustomScan) -> Vec<*mut Node> {
        // SAFETY: as the caller promises.
        unsafe { nodes((*plan).custom_exprs).split_off(nodes((*plan).custom_scan_tlist).len()) }
    }
}

impl Private for AggregatePlan {
    const KIND: &'static std::ffi::CStr = c"amax aggregate 2";
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            out.int(self.part as i32);
            out.count(self.keys);
            out.bool(self.top.is_some());
            if let Some(top) = &self.top {
                top.write(out);
            }
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn read(from: &mut Reader) -> AggregatePlan {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            AggregatePlan {
                part: from.one_of(&PARTS),
                keys: from.count(),
                top: from.bool().then(|| Top::read(from)),
            }
        }
    }
}
