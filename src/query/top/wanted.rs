//! What a query's ORDER BY … LIMIT or DISTINCT ON asks of the rows of a scan.

use super::raises::raises;
use crate::query::expr::datum::type_of;
use crate::query::expr::tree::{equal, is_a, is_pure, nodes};
use pgrx::pg_sys::*;

/// The most rows that are asked for: each keeps what is decoded of the leaf it is in.
pub const MOST: i64 = 10_000;
/// What a limit is taken for that is not known before the query runs: a page. With more rows than are kept nothing is lost.
const UNKNOWN: f64 = 100.0;

/// A sort key that is compared here.
#[derive(Clone, Copy)]
pub struct Key {
    pub node: *mut Node,
    pub descending: bool,
    pub nulls_first: bool,
}

pub struct Wanted {
    /// DISTINCT ON: only the best row of each group by these is asked for.
    pub groups: Vec<*mut Node>,
    /// The first keys, as many as vectors can compare.
    pub keys: Vec<Key>,
    /// Whether there are others.
    pub ties: bool,
    /// What else is computed of each row below a sort, and may raise an error.
    pub checks: Vec<*mut Node>,
    /// LIMIT and OFFSET, of which the latter may be null; both are if there are groups.
    pub limits: [*mut Node; 2],
}

impl Wanted {
    /// Of a query whose rows go nowhere but to a sort and a limit; None if all of them are needed, or PostgreSQL has to
    /// compare them.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn of(root: *mut PlannerInfo, target: *mut PathTarget) -> Option<Wanted> {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let parse = &*(*root).parse;
            let limited = !parse.limitCount.is_null() && parse.limitOption != LimitOption::LIMIT_OPTION_WITH_TIES;
            if !is_plain(root) || !limited || (*root).sort_pathkeys.is_null() {
                return None;
            }
            let limits = [parse.limitCount, parse.limitOffset];
            let known = |&limit: &*mut Node| limit.is_null() || is_pure(limit);
            if !limits.iter().all(known) {
                return None;
            }
            let all = nodes((*target).exprs);
            let (keys, ties) = keys(&nodes(parse.sortClause), target, &all);
            if keys.is_empty() {
                return None;
            }
            Some(Wanted {
                groups: Vec::new(),
                checks: checks(&[], &keys, all)?,
                ties,
                keys,
                limits,
            })
        }
    }

    /// Of a query whose rows go nowhere but to a sort and DISTINCT ON; None if all of them are needed, or PostgreSQL has to
    /// compare them.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn of_each(root: *mut PlannerInfo, target: *mut PathTarget) -> Option<Wanted> {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let parse = &*(*root).parse;
            if !is_plain(root) || !parse.hasDistinctOn || (*root).distinct_pathkeys.is_null() {
                return None;
            }
            let all = nodes((*target).exprs);
            let clauses = nodes(parse.distinctClause);
            let groups = clauses
                .iter()
                .map(|&clause| group(clause as *mut SortGroupClause, target, &all));
            let groups: Vec<*mut Node> = groups.collect::<Option<_>>()?;
            let number = |clause: *mut Node| (*(clause as *mut SortGroupClause)).tleSortGroupRef;
            let mut others = nodes(parse.sortClause);
            others.retain(|&other| !clauses.iter().any(|&clause| number(clause) == number(other)));
            let (keys, ties) = keys(&others, target, &all);
            // All rows would be equal.
            if keys.is_empty() && ties {
                return None;
            }
            Some(Wanted {
                checks: checks(&groups, &keys, all)?,
                groups,
                ties,
                keys,
                limits: [std::ptr::null_mut(); 2],
            })
        }
    }

    /// What is computed of all rows.
    pub fn computed(&self) -> impl Iterator<Item = *mut Node> {
        let keys = self.keys.iter().map(|key| key.node);
        self.groups
            .iter()
            .copied()
            .chain(keys)
            .chain(self.checks.iter().copied())
    }

    /// How many rows are asked for, if that is known: more than there can be if all are.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn count(&self) -> Option<i64> {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut sum = 0_i64;
            for (at, limit) in self.limits.into_iter().enumerate() {
                let constant = limit as *mut Const;
                match limit {
                    limit if limit.is_null() => {}
                    limit if !is_a(limit, NodeTag::T_Const) => return None,
                    _ if !(*constant).constisnull => sum = sum.saturating_add((*constant).constvalue.value() as i64),
                    // LIMIT NULL.
                    _ if at == 0 => return Some(i64::MAX),
                    _ => {}
                }
            }
            Some(sum)
        }
    }

    /// How many of so many rows are expected to be asked for.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn expected(&self, rows: f64) -> f64 {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        let expected = match unsafe { self.count() } {
            Some(count) => count as f64,
            None => UNKNOWN,
        };
        expected.clamp(1.0, rows.max(1.0))
    }
}

/// Whether a query's rows are a scan's, which nobody locks.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_plain(root: *mut PlannerInfo) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let parse = &*(*root).parse;
        parse.commandType == CmdType::CMD_SELECT
            && parse.rowMarks.is_null()
            && !parse.hasTargetSRFs
            // They would put a node between ours and the scan.
            && !(*root).hasPseudoConstantQuals
    }
}

/// The first sort keys, as many as vectors can compare, and whether there are others.
///
/// # Safety
/// What the planner hands over.
unsafe fn keys(clauses: &[*mut Node], target: *mut PathTarget, all: &[*mut Node]) -> (Vec<Key>, bool) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    let key = |&clause: &*mut Node| unsafe { key(clause as *mut SortGroupClause, target, all) };
    let keys: Vec<Key> = clauses.iter().map_while(key).collect();
    let others = keys.len() < clauses.len();
    (keys, others)
}

/// What else is computed of all rows and may raise an error; None if vectors have not all of it.
///
/// # Safety
/// What the planner hands over.
unsafe fn checks(groups: &[*mut Node], keys: &[Key], all: Vec<*mut Node>) -> Option<Vec<*mut Node>> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut checks = Vec::new();
        for node in all {
            let mut compared = groups.iter().copied().chain(keys.iter().map(|key| key.node));
            if compared.any(|key| equal(key, node)) || !raises(node) {
                continue;
            }
            if !is_computed(node) {
                return None;
            }
            checks.push(node);
        }
        Some(checks)
    }
}

/// Whether vectors have the values of an expression for all rows.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_computed(node: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe { type_of(exprType(node), exprCollation(node)).is_some() && is_pure(node) }
}

/// Whether PostgreSQL could compare values of it, if they are text.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_collated(node: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe { !matches!(exprType(node), TEXTOID | VARCHAROID) || exprCollation(node) != InvalidOid }
}

/// What a clause is about.
///
/// # Safety
/// What the planner hands over.
unsafe fn expression_of(clause: *mut SortGroupClause, target: *mut PathTarget, all: &[*mut Node]) -> Option<*mut Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let refs = (*target).sortgrouprefs;
        if refs.is_null() {
            return None;
        }
        let at = (0..all.len()).find(|&at| *refs.add(at) == (*clause).tleSortGroupRef)?;
        Some(all[at])
    }
}

/// None for one by which vectors cannot group as PostgreSQL would.
///
/// # Safety
/// What the planner hands over.
unsafe fn group(clause: *mut SortGroupClause, target: *mut PathTarget, all: &[*mut Node]) -> Option<*mut Node> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let node = expression_of(clause, target, all)?;
        let ty = lookup_type_cache(exprType(node), TYPECACHE_EQ_OPR as i32);
        ((*clause).eqop == (*ty).eq_opr && is_collated(node) && is_computed(node)).then_some(node)
    }
}

/// None for one that vectors cannot compare as PostgreSQL would.
///
/// # Safety
/// What the planner hands over.
unsafe fn key(clause: *mut SortGroupClause, target: *mut PathTarget, all: &[*mut Node]) -> Option<Key> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let node = expression_of(clause, target, all)?;
        // The type's own order: that of an operator class by default, in the expression's collation.
        let ty = lookup_type_cache(exprType(node), (TYPECACHE_LT_OPR | TYPECACHE_GT_OPR) as i32);
        let descending = match (*clause).sortop {
            op if op == (*ty).lt_opr => false,
            op if op == (*ty).gt_opr => true,
            _ => return None,
        };
        (is_collated(node) && is_computed(node)).then_some(Key {
            node,
            descending,
            nulls_first: (*clause).nulls_first,
        })
    }
}
