//! GROUPING SETS, ROLLUP and CUBE: what a query's sets are, and when a batch's groups by all keys are made first.

#[cfg(feature = "pg18")]
use crate::pg::expr::Var;
use crate::pg::expr::{Aggref, GroupingFunc};
use crate::pg::node::Node;
use crate::pg::parse::{Query, SortGroupClause};
use crate::query::batch::raise::raise;
#[cfg(feature = "pg18")]
use crate::query::expr::tree::{rewrite, walk};
use crate::query::plan::aggregates::{argument, function_of};
use crate::query::plan::private::{Reader, Writer};
use amax_exec::{Aggregator, Function, GroupingSets, Type};
use std::cell::Cell;

/// Those of a query, in terms of its keys' numbers.
#[derive(Clone, Default)]
pub struct Sets {
    /// Which keys each has; none if rows are grouped once, by all keys.
    pub sets: Vec<Vec<bool>>,
    /// The keys of each GROUPING().
    pub groupings: Vec<Vec<usize>>,
}

impl Sets {
    /// Of a query that has some, which the planner has expanded: lists of numbers of groupClause's entries, whose order is
    /// that of the keys.
    pub fn of_query(parse: &Query, groupings: &[&Node]) -> Sets {
        let clauses = parse.groupClause().all::<SortGroupClause>();
        let references: Vec<i32> = clauses.map(|clause| clause.tleSortGroupRef() as i32).collect();
        let sets = parse.groupingSets();
        let set = |at| sets.get(at).map(Node::integers).unwrap_or_default();
        let has = |set: Vec<i32>| references.iter().map(|key| set.contains(key)).collect();
        let key = |reference| references.iter().position(|&key| key == reference);
        let groupings = groupings.iter().filter_map(|node| node.as_a::<GroupingFunc>());
        let keys = |grouping: &GroupingFunc| grouping.refs().map(Node::integers).unwrap_or_default();
        Sets {
            sets: (0..sets.len()).map(|at| has(set(at))).collect(),
            groupings: groupings
                .map(|grouping| keys(grouping).into_iter().filter_map(key).collect())
                .collect(),
        }
    }

    /// How often rows are grouped.
    pub fn times(&self) -> usize {
        self.sets.len().max(1)
    }

    /// What GROUPING() says of a set: a bit for each of its keys that the set lacks.
    pub fn grouping(&self, at: usize, set: usize) -> i32 {
        let lacks = |&key: &usize| i32::from(!self.sets[set][key]);
        self.groupings[at].iter().fold(0, |bits, key| bits << 1 | lacks(key))
    }

    /// In a plan.
    pub fn write(&self, out: &mut Writer<'_>) {
        out.count(self.sets.len());
        for set in &self.sets {
            out.count(set.len());
            set.iter().for_each(|&has| out.bool(has));
        }
        out.count(self.groupings.len());
        for keys in &self.groupings {
            out.count(keys.len());
            keys.iter().for_each(|&key| out.count(key));
        }
    }

    pub fn read(from: &mut Reader<'_>) -> Sets {
        Sets {
            sets: (0..from.count())
                .map(|_| (0..from.count()).map(|_| from.bool()).collect())
                .collect(),
            groupings: (0..from.count())
                .map(|_| (0..from.count()).map(|_| from.count()).collect())
                .collect(),
        }
    }
}

/// Keys as the rows below have them, whose columns these are. From PostgreSQL 18 on a query's keys say that grouping sets
/// may make them NULL, as outer joins may.
#[cfg(feature = "pg18")]
pub fn keys_of_rows<'a>(keys: &[&'a Node], columns: &[&'a Node]) -> Vec<&'a Node> {
    let same = |below: &Var, var: &Var| (below.varno(), below.varattno()) == (var.varno(), var.varattno());
    let mut of_rows = |node: &'a Node| {
        let var = node.as_a::<Var>()?;
        let mut found = None;
        columns.iter().for_each(|&column| {
            walk(column, &mut |node| {
                found = found.or_else(|| node.as_a::<Var>().filter(|below| same(below, var)).map(|_| node));
                found.is_none()
            });
        });
        found
    };
    keys.iter().map(|&key| rewrite(key, &mut of_rows)).collect()
}

/// So many rows for each of a batch's groups make it worth to add the groups, not the rows, to those of each set.
const ROWS: usize = 4;
/// After so many batches that had too many groups no other is tried.
const TRIES: u32 = 4;

/// Grouping rows by each of the sets.
pub struct Grouped {
    pub of_query: Sets,
    pub sets: GroupingSets,
    /// In how many batches to find that groups are too many; 0 once that is known.
    tries: Cell<u32>,
}

impl Grouped {
    /// None if there are no sets.
    pub fn new(of_query: Sets, keys: &[Type], aggregates: &[&Node]) -> Option<Grouped> {
        let mut aggregates = aggregates.iter().filter_map(|node| node.as_a::<Aggref>());
        let all = aggregates.all(is_in_any_order);
        (!of_query.sets.is_empty()).then(|| Grouped {
            sets: GroupingSets::new(keys, of_query.sets.clone()),
            of_query,
            tries: Cell::new(if all { TRIES } else { 0 }),
        })
    }

    /// Whether a batch's groups by all keys are worth a try.
    pub fn tries(&self) -> bool {
        self.tries.get() > 0
    }

    /// Whether so many groups of a batch's rows are worth it.
    pub fn are_few(&self, groups: usize, rows: usize) -> bool {
        let few = groups <= 1 || groups.saturating_mul(ROWS) <= rows;
        self.tries.set(if few { TRIES } else { self.tries.get() - 1 });
        few
    }

    /// Has the groups that are there without any row.
    pub fn begin(&self, aggregator: &mut Aggregator) {
        self.sets.begin(aggregator).unwrap_or_else(|e| raise(e));
    }
}

/// Whether an aggregate of groups is that of their rows, whatever the order of these.
fn is_in_any_order(aggregate: &Aggref) -> bool {
    // Others that are equal may look different.
    let one_scale = argument(aggregate).is_some_and(|argument| argument.typmod() >= 0);
    match function_of(aggregate) {
        Some((Function::Count | Function::BoolAnd | Function::BoolOr, _)) => true,
        Some((Function::BitAnd | Function::BitOr | Function::BitXor, _)) => true,
        Some((Function::Sum | Function::Accumulate, Some(Type::Int | Type::Numeric))) => true,
        Some((Function::Min | Function::Max, Some(Type::Int | Type::Text))) => true,
        Some((Function::Min | Function::Max, Some(Type::Numeric))) => one_scale,
        _ => false,
    }
}
