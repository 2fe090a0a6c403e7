//! ORDER BY … LIMIT over groups: only the best of them are handed up, as the first sort key has it, with all that are
//! equal to the last. PostgreSQL's sort and limit stay above; they have less to do.

use crate::pg::expr::{Aggref, Const};
use crate::pg::node::Node;
use crate::pg::parse::SortGroupClause;
use crate::pg::planner::PlannerInfo;
use crate::query::expr::constant::integer;
use crate::query::expr::path::call_of;
use crate::query::expr::tree::has;
use crate::query::plan::aggregates::function_of;
use crate::query::plan::private::{Reader, Writer};
use crate::query::plan::sorts::is_descending;
use amax_exec::{Aggregator, Function, Output, Scalar};
use pgrx::pg_sys::{F_TIMESTAMP_MI, F_TIMESTAMPTZ_MI};
use std::collections::BinaryHeap;

/// The first sort key, of a group.
#[derive(Clone, Copy)]
enum By {
    Key(usize),
    Aggregate(usize),
    /// Of two times.
    Difference(usize, usize),
}

#[derive(Clone, Copy)]
pub struct Best {
    /// How many groups are asked for.
    pub count: usize,
    by: By,
    descending: bool,
    nulls_first: bool,
}

impl Best {
    /// Of a query whose groups go nowhere but to a sort and a limit; None if all of them are needed.
    pub fn of_query(root: &PlannerInfo, keys: &[&Node], aggregates: &[&Node]) -> Option<Best> {
        let parse = root.parse();
        if parse.havingQual().is_some()
            || parse.distinctClause().is_some() && parse.is_grouped()
            || parse.hasWindowFuncs()
            || parse.setOperations().is_some()
        {
            return None;
        }
        let count = rows(parse.limitCount()?)?;
        let offset = parse.limitOffset().map_or(Some(0), rows)?;
        let first = parse.sortClause().get(0)?.as_a::<SortGroupClause>()?;
        let sorted = first.expression(root.processed_tlist());
        let groups = Groups { keys, aggregates };
        let by = groups.by(sorted)?;
        // Nothing else is computed of groups: it might raise an error.
        let all = root.targets().all(|node| node.equals(sorted) || groups.is_plain(node));
        let descending = is_descending(first, sorted)?;
        all.then_some(Best {
            count: usize::try_from(count.checked_add(offset)?).ok()?,
            by,
            descending,
            nulls_first: first.nulls_first(),
        })
    }

    /// In a plan.
    pub fn write(&self, out: &mut Writer<'_>) {
        let (kind, a, b) = match self.by {
            By::Key(a) => (0, a, 0),
            By::Aggregate(a) => (1, a, 0),
            By::Difference(a, b) => (2, a, b),
        };
        out.count(self.count);
        out.int(kind);
        out.count(a);
        out.count(b);
        out.bool(self.descending);
        out.bool(self.nulls_first);
    }

    pub fn read(from: &mut Reader<'_>) -> Best {
        let (count, kind, a, b) = (from.count(), from.count(), from.count(), from.count());
        Best {
            count,
            by: match kind {
                0 => By::Key(a),
                1 => By::Aggregate(a),
                _ => By::Difference(a, b),
            },
            descending: from.bool(),
            nulls_first: from.bool(),
        }
    }

    /// The groups to hand up; None if it has to be all of them.
    pub fn groups(&self, aggregator: &Aggregator) -> Option<Vec<u32>> {
        let groups = aggregator.grouping().len();
        if groups <= self.count {
            return None;
        }
        let rank = |group: u32| {
            Some(match self.value(aggregator, group as usize)? {
                None => (!self.nulls_first, 0),
                Some(value) if self.descending => (self.nulls_first, -value),
                Some(value) => (self.nulls_first, value),
            })
        };
        // Groups are many, and those asked for mostly few: not all ranks are kept.
        let mut least = BinaryHeap::new();
        for group in 0..groups as u32 {
            let rank = rank(group)?;
            if least.len() < self.count {
                least.push(rank);
            } else if let Some(mut last) = least.peek_mut().filter(|last| rank < **last) {
                *last = rank;
            }
        }
        let Some(&last) = least.peek() else {
            return Some(Vec::new());
        };
        let best = (0..groups as u32).filter(|&group| rank(group).is_some_and(|rank| rank <= last));
        Some(best.collect())
    }

    /// The sort key, or NULL; None if PostgreSQL has to compute it.
    fn value(&self, aggregator: &Aggregator, group: usize) -> Option<Option<i128>> {
        let number = |aggregate| match aggregator.output(aggregate, group) {
            Ok(Output::Null) => Some(None),
            Ok(Output::Count(value) | Output::Int(value)) => Some(Some(i128::from(value))),
            _ => None,
        };
        // The greatest and the least are infinite times, which have no difference.
        let time = |aggregate| {
            let finite = |&value: &i128| value < i128::from(i64::MAX >> 1) && value > i128::from(i64::MIN >> 1);
            match number(aggregate)? {
                Some(value) => Some(value).filter(finite).map(Some),
                None => Some(None),
            }
        };
        match self.by {
            By::Key(key) => match aggregator.grouping().key(key, group) {
                Scalar::Null => Some(None),
                Scalar::Int(value) => Some(Some(i128::from(value))),
                _ => None,
            },
            By::Aggregate(aggregate) => number(aggregate),
            By::Difference(a, b) => Some(match (time(a)?, time(b)?) {
                (Some(a), Some(b)) => Some(a - b),
                _ => None,
            }),
        }
    }
}

/// A constant number of rows that fits a plan's integers.
fn rows(node: &Node) -> Option<i32> {
    let rows = i32::try_from(integer(node)?).ok()?;
    (rows >= 0).then_some(rows)
}

struct Groups<'a> {
    keys: &'a [&'a Node],
    aggregates: &'a [&'a Node],
}

impl Groups<'_> {
    fn by(&self, sorted: &Node) -> Option<By> {
        if let Some(key) = self.keys.iter().position(|key| key.equals(sorted)) {
            return Some(By::Key(key));
        }
        if let Some(aggregate) = self.aggregate(sorted) {
            return Some(By::Aggregate(aggregate));
        }
        let (function, args) = call_of(sorted)?;
        if !matches!(function, F_TIMESTAMP_MI | F_TIMESTAMPTZ_MI) {
            return None;
        }
        let side = |at: usize| args.get(at).and_then(|arg| self.aggregate(arg));
        Some(By::Difference(side(0)?, side(1)?))
    }

    /// One whose result is a number of 64 bits, and cannot be an error.
    fn aggregate(&self, node: &Node) -> Option<usize> {
        let at = self.aggregates.iter().position(|a| a.equals(node))?;
        self.is_plain(node).then_some(at)
    }

    /// A key, a constant, or an aggregate whose result cannot be an error.
    fn is_plain(&self, node: &Node) -> bool {
        has(self.keys, node)
            || node.is_a::<Const>()
            || node
                .as_a::<Aggref>()
                .and_then(function_of)
                .is_some_and(|(function, _)| {
                    use Function::*;
                    matches!(
                        function,
                        Count | CountDistinct | Min | Max | BoolAnd | BoolOr | BitAnd | BitOr | BitXor
                    )
                })
    }
}
