//! What a top node's path and plan carry, apart from expressions.

use super::wanted::{Key, Wanted};
use crate::query::expr::tree::nodes;
use crate::query::plan::private::{Private, Reader, Writer};
use pgrx::pg_sys::{CustomScan, Node};

impl Private for Wanted {
    const KIND: &'static std::ffi::CStr = c"amax top path 2";
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            out.nodes(&self.groups);
            out.count(self.keys.len());
            for key in &self.keys {
                out.node(key.node);
                out.bool(key.descending);
                out.bool(key.nulls_first);
            }
            out.bool(self.ties);
            out.nodes(&self.checks);
            out.nodes(&self.limits);
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn read(from: &mut Reader) -> Wanted {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            Wanted {
                groups: from.nodes(),
                keys: (0..from.count())
                    .map(|_| Key {
                        node: from.node(),
                        descending: from.bool(),
                        nulls_first: from.bool(),
                    })
                    .collect(),
                ties: from.bool(),
                checks: from.nodes(),
                limits: from.nodes().try_into().expect("LIMIT and OFFSET"),
            }
        }
    }
}

/// How a key orders rows.
#[derive(Clone, Copy)]
pub struct Direction {
    pub descending: bool,
    pub nulls_first: bool,
}

/// Of a plan, whose expressions are the keys of groups, the sort keys, what else is computed of all rows, LIMIT, and OFFSET if there is one.
pub struct TopPlan {
    /// How many keys of groups.
    pub groups: usize,
    pub keys: Vec<Direction>,
    /// Whether there are further keys, which only PostgreSQL can compare.
    pub ties: bool,
    /// How many expressions are only computed for their errors.
    pub checks: usize,
    /// Whether leaves may be skipped by their bounds: how many pages are read, which EXPLAIN shows, would tell of rows that
    /// a policy hides.
    pub bounds: bool,
}

/// A plan's expressions.
pub struct Expressions {
    pub groups: Vec<*mut Node>,
    pub keys: Vec<*mut Node>,
    pub checks: Vec<*mut Node>,
    pub limits: Vec<*mut Node>,
}

impl TopPlan {
    /// # Safety
    /// The plan that this one is of.
    pub unsafe fn expressions(&self, plan: *mut CustomScan) -> Expressions {
        // SAFETY: as the caller promises.
        let mut groups = unsafe { nodes((*plan).custom_exprs) };
        let mut keys = groups.split_off(self.groups);
        let mut checks = keys.split_off(self.keys.len());
        let limits = checks.split_off(self.checks);
        Expressions {
            groups,
            keys,
            checks,
            limits,
        }
    }
}

impl Private for TopPlan {
    const KIND: &'static std::ffi::CStr = c"amax top 2";
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            out.count(self.groups);
            out.count(self.keys.len());
            for key in &self.keys {
                out.bool(key.descending);
                out.bool(key.nulls_first);
            }
            out.bool(self.ties);
            out.count(self.checks);
            out.bool(self.bounds);
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn read(from: &mut Reader) -> TopPlan {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            TopPlan {
                groups: from.count(),
                keys: (0..from.count())
                    .map(|_| Direction {
                        descending: from.bool(),
                        nulls_first: from.bool(),
                    })
                    .collect(),
                ties: from.bool(),
                checks: from.count(),
                bounds: from.bool(),
            }
        }
    }
}
