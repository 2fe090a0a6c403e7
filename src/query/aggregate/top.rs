//! ORDER BY … LIMIT over groups: only the best of them are handed up, as the first sort key has it, with all that are
//! equal to the last. PostgreSQL's sort and limit stay above; they have less to do.

use super::functions::function_of;
use crate::query::expr::path::call_of;
use crate::query::expr::tree::{equal, is_a, nodes};
use crate::query::plan::private::{Reader, Writer};
use amax_exec::{Aggregator, Function, Output, Scalar};
use pgrx::pg_sys::*;
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
pub struct Top {
    /// How many groups are asked for.
    pub count: usize,
    by: By,
    descending: bool,
    nulls_first: bool,
}

impl Top {
    /// Of a query whose groups go nowhere but to a sort and a limit; None if all of them are needed.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn of_query(root: *mut PlannerInfo, keys: &[*mut Node], aggregates: &[*mut Node]) -> Option<Top> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let parse = &*(*root).parse;
            if !parse.havingQual.is_null()
                || !parse.distinctClause.is_null()
                || parse.hasWindowFuncs
                || !parse.setOperations.is_null()
            {
                return None;
            }
            let count = constant(parse.limitCount)?;
            let offset = match parse.limitOffset.is_null() {
                true => 0,
                false => constant(parse.limitOffset)?,
            };
            let first = *nodes(parse.sortClause).first()? as *mut SortGroupClause;
            let entry = get_sortgroupclause_tle(first, (*root).processed_tlist);
            let sorted = (*entry).expr as *mut Node;
            let groups = Groups { keys, aggregates };
            let by = groups.by(sorted)?;
            // Nothing else is computed of groups: it might raise an error.
            let all = nodes((*root).processed_tlist).into_iter().all(|entry| {
                let node = (*(entry as *mut TargetEntry)).expr as *mut Node;
                equal(node, sorted) || groups.is_plain(node)
            });
            let order = lookup_type_cache(exprType(sorted), (TYPECACHE_LT_OPR | TYPECACHE_GT_OPR) as i32);
            let descending = match (*first).sortop {
                op if op == (*order).lt_opr => false,
                op if op == (*order).gt_opr => true,
                _ => return None,
            };
            all.then_some(Top {
                count: usize::try_from(count.checked_add(offset)?).ok()?,
                by,
                descending,
                nulls_first: (*first).nulls_first,
            })
        }
    }

    /// In a plan.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
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
    }
    /// # Safety
    /// A node of ours, begun and not ended.
    pub unsafe fn read(from: &mut Reader) -> Top {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let (count, kind, a, b) = (from.count(), from.count(), from.count(), from.count());
            Top {
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
    }

    /// The groups to hand up; None if it has to be all of them.
    pub fn best(&self, aggregator: &Aggregator) -> Option<Vec<u32>> {
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
///
/// # Safety
/// A node of ours, begun and not ended.
unsafe fn constant(node: *mut Node) -> Option<i32> {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let constant = node as *mut Const;
        let known = is_a(node, NodeTag::T_Const) && !(*constant).constisnull;
        known
            .then(|| (*constant).constvalue.value() as i64)
            .and_then(|rows| i32::try_from(rows).ok())
            .filter(|&rows| rows >= 0)
    }
}

struct Groups<'a> {
    keys: &'a [*mut Node],
    aggregates: &'a [*mut Node],
}

impl Groups<'_> {
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn by(&self, sorted: *mut Node) -> Option<By> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            if let Some(key) = self.keys.iter().position(|&key| equal(key, sorted)) {
                return Some(By::Key(key));
            }
            if let Some(aggregate) = self.aggregate(sorted) {
                return Some(By::Aggregate(aggregate));
            }
            let (function, args) = call_of(sorted)?;
            if !matches!(function, F_TIMESTAMP_MI | F_TIMESTAMPTZ_MI) {
                return None;
            }
            let side = |at: usize| args.get(at).and_then(|&arg| self.aggregate(arg));
            Some(By::Difference(side(0)?, side(1)?))
        }
    }

    /// One whose result is a number of 64 bits, and cannot be an error.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn aggregate(&self, node: *mut Node) -> Option<usize> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let at = self.aggregates.iter().position(|&a| equal(a, node))?;
            self.is_plain(node).then_some(at)
        }
    }

    /// A key, a constant, or an aggregate whose result cannot be an error.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn is_plain(&self, node: *mut Node) -> bool {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let is_key = self.keys.iter().any(|&key| equal(key, node));
            is_key
                || is_a(node, NodeTag::T_Const)
                || is_a(node, NodeTag::T_Aggref)
                    && function_of(&*(node as *mut Aggref)).is_some_and(|(function, _)| {
                        use Function::*;
                        matches!(function, Count | CountDistinct | Min | Max | BoolAnd | BoolOr)
                    })
        }
    }
}
