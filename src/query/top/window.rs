//! What a query asks of rows that window functions number: the first of all, or of each partition.

use super::wanted::{Wanted, checks, group, is_plain, keys, limits};
use crate::pg::expr::{Const, OpExpr, WindowFunc};
use crate::pg::node::{Node, Nodes, is_pure};
use crate::pg::parse::{SortGroupClause, WindowClause};
use crate::pg::planner::{PathTarget, PlannerInfo, sorts_as};
use crate::query::expr::raises::raises;
use crate::query::expr::tree::{any, has, walk};
use pgrx::pg_sys::UpperRelationKind::UPPERREL_WINDOW;
use pgrx::pg_sys::*;

/// The only window of a query, all of whose functions tell of a row from those before it: row_number(), rank() and
/// dense_rank().
pub struct Window<'a> {
    pub clause: &'a WindowClause,
    pub functions: Nodes<'a>,
}

/// Which rows a condition on a row number or a rank lets pass.
struct Bound<'a> {
    to: &'a Node,
    /// Whether `to` itself is not among them.
    below: bool,
    /// Whether it is a rank, which equal rows share.
    rank: bool,
}

impl<'a> Window<'a> {
    /// Of a query whose rows go nowhere but to a sort and this window; None if all of them are needed, or PostgreSQL has to
    /// compare them.
    pub fn of(root: &'a PlannerInfo, target: &'a PathTarget) -> Option<(Window<'a>, Wanted<'a>)> {
        let mut clauses = root.parse().windowClause().all::<WindowClause>();
        let (Some(clause), None) = (clauses.next(), clauses.next()) else {
            return None;
        };
        if !is_plain(root) || !root.window_pathkeys().is_some() {
            return None;
        }
        let mut functions: Vec<&Node> = Vec::new();
        for expression in root.target_of(UPPERREL_WINDOW).exprs().iter() {
            walk(expression, &mut |node| {
                functions.extend(node.is_a::<WindowFunc>().then_some(node));
                true
            });
        }
        let numbers = [F_ROW_NUMBER, F_RANK_, F_DENSE_RANK_];
        if !functions.iter().all(|node| numbers.contains(&function_of(node))) {
            return None;
        }
        let functions = functions.into_iter().collect();
        let window = Window { clause, functions };
        let wanted = window.bounded(root, target).or_else(|| window.limited(root, target))?;
        Some((window, wanted))
    }

    /// For a condition on a row number or a rank. The window's node makes its target of the first row that does not pass as
    /// well, of those after it in the partition no more (nodeWindowAgg.c).
    fn bounded(&self, root: &'a PlannerInfo, target: &'a PathTarget) -> Option<Wanted<'a>> {
        let conditions = self.clause.run_conditions(self.functions);
        let bound = conditions.all::<OpExpr>().find_map(bound)?;
        let partitions: Vec<&SortGroupClause> = self.clause.partitionClause().all().collect();
        let groups: Vec<&Node> = partitions.iter().map(|by| group(by, target)).collect::<Option<_>>()?;
        let order: Vec<&SortGroupClause> = self.clause.orderClause().all().collect();
        let (keys, ties) = keys(&order, target);
        // All rows would be equal.
        if keys.is_empty() && (ties || groups.is_empty()) {
            return None;
        }
        let mut more = -i32::from(bound.below);
        // What is computed below the sort is only handed up there.
        let below = target.exprs().to_vec();
        let mut computed = root.target_of(UPPERREL_WINDOW).exprs().iter();
        if computed.any(|node| !node.is_a::<WindowFunc>() && !has(&below, node) && raises(node)) {
            // Of the first row even where none passes.
            let passes = |to: &Const| to.value().is_some_and(|to| to.value() as i64 > 0);
            if bound.rank || !bound.to.as_a().is_some_and(passes) {
                return None;
            }
            more += 1;
        }
        Some(Wanted {
            checks: checks(&groups, &keys, target.exprs().iter())?,
            groups,
            ties,
            keys,
            limits: vec![bound.to],
            more,
            peers: bound.rank,
        })
    }

    /// For a LIMIT above, where the window's order is the query's.
    fn limited(&self, root: &'a PlannerInfo, target: &'a PathTarget) -> Option<Wanted<'a>> {
        let parse = root.parse();
        if parse.distinctClause().is_some() || !sorts_as(root.sort_pathkeys(), root.window_pathkeys()) {
            return None;
        }
        let limits = limits(parse)?;
        let partitions = self.clause.partitionClause().all();
        let order: Vec<&SortGroupClause> = partitions.chain(self.clause.orderClause().all()).collect();
        let (keys, ties) = keys(&order, target);
        if keys.is_empty() {
            return None;
        }
        Some(Wanted {
            groups: Vec::new(),
            checks: checks(&[], &keys, target.exprs().iter())?,
            ties,
            keys,
            limits,
            more: 0,
            peers: false,
        })
    }
}

fn function_of(node: &Node) -> u32 {
    node.as_a::<WindowFunc>().map_or(0, |call| call.winfnoid().to_u32())
}

/// Of a condition with a row number or a rank on one side.
fn bound(condition: &OpExpr) -> Option<Bound<'_>> {
    let (left, right) = (condition.args().get(0)?, condition.args().get(1)?);
    let (number, to, turned) = match left.is_a::<WindowFunc>() {
        true => (left, right, false),
        false => (right, left, true),
    };
    let rank = match function_of(number) {
        F_ROW_NUMBER => false,
        F_RANK_ => true,
        _ => return None,
    };
    let below = match (condition.function().to_u32(), turned) {
        (F_INT8LE | F_INT84LE | F_INT82LE, false) | (F_INT8GE | F_INT48GE | F_INT28GE, true) => false,
        (F_INT8LT | F_INT84LT | F_INT82LT, false) | (F_INT8GT | F_INT48GT | F_INT28GT, true) => true,
        _ => return None,
    };
    (is_pure(to) && !any(to, Node::is_a::<WindowFunc>)).then_some(Bound { to, below, rank })
}
