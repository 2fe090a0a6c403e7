//! What a query's ORDER BY … LIMIT, DISTINCT ON or bounded row numbers ask of the rows of a scan.

use crate::pg::expr::Const;
use crate::pg::lookup::order;
use crate::pg::node::{Node, is_pure};
use crate::pg::parse::{Query, SortGroupClause};
use crate::pg::planner::{PathTarget, PlannerInfo};
use crate::query::expr::datum::type_of;
use crate::query::expr::raises::raises;
use crate::query::expr::tree::has;
use crate::query::expr::unnesting::bare;
use crate::query::plan::costs::operator;
use crate::query::plan::sorts::is_descending;
use pgrx::pg_sys::*;

/// The most rows that are asked for: each keeps what is decoded of the leaf it is in.
pub const MOST: i64 = 10_000;
/// What a limit is taken for that is not known before the query runs: a page. With more rows than are kept nothing is lost.
const UNKNOWN: f64 = 100.0;

/// A sort key that is compared here.
#[derive(Clone, Copy)]
pub struct Key<'a> {
    pub node: &'a Node,
    pub descending: bool,
    pub nulls_first: bool,
}

pub struct Wanted<'a> {
    /// DISTINCT ON, PARTITION BY: only the best rows of each group by these are asked for.
    pub groups: Vec<&'a Node>,
    /// The first keys, as many as vectors can compare.
    pub keys: Vec<Key<'a>>,
    /// Whether there are others.
    pub ties: bool,
    /// What else is computed of each row below a sort, and may raise an error.
    pub checks: Vec<&'a Node>,
    /// LIMIT, and OFFSET if there is one, or what row numbers are bounded by; none for DISTINCT ON, which asks for one row.
    pub limits: Vec<&'a Node>,
    /// How many rows are asked for beside those: -1, 0 or 1.
    pub more: i32,
    /// Whether rows that are equal to the last one are asked for, too.
    pub peers: bool,
}

impl<'a> Wanted<'a> {
    /// Of a query whose rows go nowhere but to a sort and a limit; None if all of them are needed, or PostgreSQL has to
    /// compare them.
    pub fn of(root: &'a PlannerInfo, target: &'a PathTarget) -> Option<Wanted<'a>> {
        let parse = root.parse();
        if !is_plain(root) || !root.sort_pathkeys().is_some() {
            return None;
        }
        let limits = limits(parse)?;
        let clauses: Vec<&SortGroupClause> = parse.sortClause().all().collect();
        let (keys, ties) = keys(&clauses, target);
        if keys.is_empty() {
            return None;
        }
        let below = target.exprs().iter().filter(|node| !is_postponed(root, node));
        Some(Wanted {
            groups: Vec::new(),
            checks: checks(&[], &keys, below)?,
            ties,
            keys,
            limits,
            more: 0,
            peers: false,
        })
    }

    /// Of a query whose rows go nowhere but to a sort and DISTINCT ON; None if all of them are needed, or PostgreSQL has to
    /// compare them.
    pub fn of_each(root: &'a PlannerInfo, target: &'a PathTarget) -> Option<Wanted<'a>> {
        let parse = root.parse();
        if !is_plain(root) || !parse.hasDistinctOn() || !root.distinct_pathkeys().is_some() {
            return None;
        }
        let clauses: Vec<&SortGroupClause> = parse.distinctClause().all().collect();
        let groups: Vec<&Node> = clauses
            .iter()
            .map(|clause| group(clause, target))
            .collect::<Option<_>>()?;
        let mut others: Vec<&SortGroupClause> = parse.sortClause().all().collect();
        others.retain(|other| {
            let same = |clause: &&SortGroupClause| clause.tleSortGroupRef() == other.tleSortGroupRef();
            !clauses.iter().any(same)
        });
        let (keys, ties) = keys(&others, target);
        // All rows would be equal.
        if keys.is_empty() && ties {
            return None;
        }
        Some(Wanted {
            checks: checks(&groups, &keys, target.exprs().iter())?,
            groups,
            ties,
            keys,
            limits: Vec::new(),
            more: 0,
            peers: false,
        })
    }

    /// What is computed of all rows.
    pub fn computed(&self) -> impl Iterator<Item = &'a Node> {
        let keys = self.keys.iter().map(|key| key.node);
        self.groups
            .iter()
            .copied()
            .chain(keys)
            .chain(self.checks.iter().copied())
    }

    /// How many rows are asked for, if that is known: more than there can be if all are.
    pub fn count(&self) -> Option<i64> {
        let mut sum = i64::from(self.more);
        if self.limits.is_empty() {
            return Some(1);
        }
        for (at, limit) in self.limits.iter().enumerate() {
            match limit.as_a::<Const>()?.value() {
                Some(rows) => sum = sum.saturating_add(rows.value() as i64),
                // LIMIT NULL.
                None if at == 0 => return Some(i64::MAX),
                None => {}
            }
        }
        Some(sum.max(0))
    }

    /// How many of so many rows, or of those of a group, are expected to be asked for.
    pub fn expected(&self, rows: f64) -> f64 {
        let expected = match self.count() {
            Some(count) => count as f64,
            None => UNKNOWN,
        };
        expected.clamp(1.0, rows.max(1.0))
    }
}

/// LIMIT, and OFFSET if there is one; None if all rows are asked for, or ties.
pub(super) fn limits(parse: &Query) -> Option<Vec<&Node>> {
    let limits: Vec<&Node> = [parse.limitCount()?].into_iter().chain(parse.limitOffset()).collect();
    let ties = parse.limitOption() == LimitOption::LIMIT_OPTION_WITH_TIES;
    (!ties && limits.iter().all(|limit| is_pure(limit))).then_some(limits)
}

/// Whether a query's rows are a scan's, which nobody locks.
pub(super) fn is_plain(root: &PlannerInfo) -> bool {
    let parse = root.parse();
    parse.commandType() == CmdType::CMD_SELECT
        && !parse.rowMarks().is_some()
        && !parse.hasTargetSRFs()
        // They would put a node between ours and the scan.
        && !root.hasPseudoConstantQuals()
}

/// The first sort keys, as many as vectors can compare, and whether there are others.
pub(super) fn keys<'a>(clauses: &[&SortGroupClause], target: &'a PathTarget) -> (Vec<Key<'a>>, bool) {
    let keys: Vec<Key> = clauses.iter().map_while(|clause| key(clause, target)).collect();
    let others = keys.len() < clauses.len();
    (keys, others)
}

/// What else is computed of all rows and may raise an error; None if vectors have not all of it.
pub(super) fn checks<'a>(
    groups: &[&Node],
    keys: &[Key],
    computed: impl Iterator<Item = &'a Node>,
) -> Option<Vec<&'a Node>> {
    let keys: Vec<&Node> = keys.iter().map(|key| key.node).collect();
    let others = computed.filter(|node| !has(groups, node) && !has(&keys, node));
    let checks: Vec<&Node> = others.filter(|node| raises(node)).collect();
    checks.iter().all(|node| is_computed(node)).then_some(checks)
}

/// Whether heap computes an expression that is selected above the sort, of the rows that remain: with a limit it does so with what costs more
/// than ten operators (make_sort_input_target() of planner.c), which wrapped paths hide.
fn is_postponed(root: &PlannerInfo, node: &Node) -> bool {
    root.cost_of(bare(node)).per_tuple > 10.0 * operator()
}

/// Whether vectors have the values of an expression for all rows, and can order them.
fn is_computed(node: &Node) -> bool {
    type_of(node.type_oid(), node.collation()).is_some() && is_pure(node)
}

/// Whether PostgreSQL could compare values of it, if they are text.
fn is_collated(node: &Node) -> bool {
    !matches!(node.type_oid(), TEXTOID | VARCHAROID) || node.collation() != InvalidOid
}

/// What a clause is about.
fn expression_of<'a>(clause: &SortGroupClause, target: &'a PathTarget) -> Option<&'a Node> {
    let at = target
        .sort_refs()?
        .iter()
        .position(|&number| number == clause.tleSortGroupRef())?;
    target.exprs().get(at)
}

/// None for one by which vectors cannot group as PostgreSQL would.
pub(super) fn group<'a>(clause: &SortGroupClause, target: &'a PathTarget) -> Option<&'a Node> {
    let node = expression_of(clause, target)?;
    let [_, equal, _] = order(node.type_oid());
    (clause.eqop() == equal && is_collated(node) && is_computed(node)).then_some(node)
}

/// None for one that vectors cannot compare as PostgreSQL would.
fn key<'a>(clause: &SortGroupClause, target: &'a PathTarget) -> Option<Key<'a>> {
    let node = expression_of(clause, target)?;
    (is_collated(node) && is_computed(node)).then_some(())?;
    Some(Key {
        node,
        descending: is_descending(clause, node)?,
        nulls_first: clause.nulls_first(),
    })
}
