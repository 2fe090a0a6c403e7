//! What a top node's path and plan carry, apart from expressions.

use super::wanted::{Key, Wanted};
use crate::pg::node::Node;
use crate::pg::plan::CustomScan;
use crate::query::plan::private::{Private, Reader, Writer};

impl<'a> Private<'a> for Wanted<'a> {
    const KIND: &'static std::ffi::CStr = c"amax top path 4";

    fn write(&self, out: &mut Writer<'a>) {
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
        out.int(self.more);
        out.bool(self.peers);
    }

    fn read(from: &mut Reader<'a>) -> Wanted<'a> {
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
            limits: from.nodes(),
            more: from.int(),
            peers: from.bool(),
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
    /// How many rows are asked for beside what LIMIT and OFFSET say, and whether rows equal to the last one are, too.
    pub more: i32,
    pub peers: bool,
    /// How many expressions are only computed for their errors.
    pub checks: usize,
    /// Whether leaves may be skipped by their bounds: how many pages are read, which EXPLAIN shows, would tell of rows that
    /// a policy hides.
    pub bounds: bool,
}

/// A plan's expressions.
pub struct Expressions<'a> {
    pub groups: Vec<&'a Node>,
    pub keys: Vec<&'a Node>,
    pub checks: Vec<&'a Node>,
    pub limits: Vec<&'a Node>,
}

impl TopPlan {
    /// Of the plan that this one is of.
    pub fn expressions<'a>(&self, plan: &'a CustomScan) -> Expressions<'a> {
        let mut groups = plan.custom_exprs().to_vec();
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

impl<'a> Private<'a> for TopPlan {
    const KIND: &'static std::ffi::CStr = c"amax top 3";

    fn write(&self, out: &mut Writer<'a>) {
        out.count(self.groups);
        out.count(self.keys.len());
        for key in &self.keys {
            out.bool(key.descending);
            out.bool(key.nulls_first);
        }
        out.bool(self.ties);
        out.int(self.more);
        out.bool(self.peers);
        out.count(self.checks);
        out.bool(self.bounds);
    }

    fn read(from: &mut Reader<'a>) -> TopPlan {
        TopPlan {
            groups: from.count(),
            keys: (0..from.count())
                .map(|_| Direction {
                    descending: from.bool(),
                    nulls_first: from.bool(),
                })
                .collect(),
            ties: from.bool(),
            more: from.int(),
            peers: from.bool(),
            checks: from.count(),
            bounds: from.bool(),
        }
    }
}
