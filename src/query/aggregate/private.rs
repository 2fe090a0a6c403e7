//! What an aggregate's path and plan carry, apart from expressions.

use super::best::Best;
use super::sets::Sets;
use crate::pg::node::Node;
use crate::pg::plan::CustomScan;
use crate::query::plan::private::{Private, Reader, Writer};

/// The node by itself, or one of the two parts of a parallel aggregate, below and above a Gather node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Lower,
    Upper,
}

const PARTS: [Part; 3] = [Part::Whole, Part::Lower, Part::Upper];

/// Of a path.
pub struct AggregatePath<'a> {
    pub part: Part,
    pub keys: Vec<&'a Node>,
    pub aggregates: Vec<&'a Node>,
    /// Calls of GROUPING().
    pub groupings: Vec<&'a Node>,
    pub sets: Sets,
    /// Whether bounds may leave leaves out: how many are read, which EXPLAIN shows, would tell of rows that a policy hides.
    pub bounds: bool,
}

impl<'a> Private<'a> for AggregatePath<'a> {
    const KIND: &'static std::ffi::CStr = c"amax aggregate path 3";

    fn write(&self, out: &mut Writer<'a>) {
        out.int(self.part as i32);
        out.nodes(&self.keys);
        out.nodes(&self.aggregates);
        out.nodes(&self.groupings);
        self.sets.write(out);
        out.bool(self.bounds);
    }

    fn read(from: &mut Reader<'a>) -> AggregatePath<'a> {
        AggregatePath {
            part: from.one_of(&PARTS),
            keys: from.nodes(),
            aggregates: from.nodes(),
            groupings: from.nodes(),
            sets: Sets::read(from),
            bounds: from.bool(),
        }
    }
}

/// Of a plan.
pub struct AggregatePlan {
    pub part: Part,
    /// How many of the entries are keys, and then aggregates; after those are calls of GROUPING(), and the lower part's
    /// output.
    pub keys: usize,
    pub aggregates: usize,
    pub sets: Sets,
    /// Whether bounds may leave leaves out.
    pub bounds: bool,
    pub best: Option<Best>,
}

impl AggregatePlan {
    /// What HAVING says, of a plan of another part than the lower one: custom_exprs have the entries before.
    pub fn conditions(plan: &CustomScan) -> Vec<&Node> {
        plan.custom_exprs().to_vec().split_off(plan.custom_scan_tlist().len())
    }
}

impl<'a> Private<'a> for AggregatePlan {
    const KIND: &'static std::ffi::CStr = c"amax aggregate 4";

    fn write(&self, out: &mut Writer<'a>) {
        out.int(self.part as i32);
        out.count(self.keys);
        out.count(self.aggregates);
        self.sets.write(out);
        out.bool(self.bounds);
        out.bool(self.best.is_some());
        if let Some(best) = &self.best {
            best.write(out);
        }
    }

    fn read(from: &mut Reader<'a>) -> AggregatePlan {
        AggregatePlan {
            part: from.one_of(&PARTS),
            keys: from.count(),
            aggregates: from.count(),
            sets: Sets::read(from),
            bounds: from.bool(),
            best: from.bool().then(|| Best::read(from)),
        }
    }
}
