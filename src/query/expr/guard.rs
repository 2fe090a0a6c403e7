//! Errors that a query guards against: CASE WHEN jsonb_typeof(x) = 'array' THEN jsonb_array_length(x) END.
//!
//! A scan computes its entries before the expression that reads them is evaluated, all of them. So what may raise an
//! error is an entry only in queries that always evaluate it.

use super::path::call_of;
use super::tree::{nodes, walk};
use pgrx::pg_sys::*;

/// A call of a function that could be an entry, and may raise an error.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn may_raise(node: *mut Node) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        call_of(node).is_some_and(|(function, _)| {
            matches!(
                function,
                F_JSONB_ARRAY_LENGTH
                    | F_JSONB_PATH_EXISTS
                    | F_JSONB_PATH_MATCH
                    | F_JSONB_PATH_QUERY_FIRST
                    | F_JSONB_PATH_QUERY_ARRAY
            )
        })
    }
}

/// Whether the query has such a call where it is evaluated only if something else is so.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn guards(root: *mut PlannerInfo) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let parse = &*(*root).parse;
        let mut found = false;
        let mut look = |node: *mut Node| {
            walk(node, &mut |node| {
                found = found || guarded(node).into_iter().any(|part| has_call(part));
                !found
            });
        };
        look(parse.targetList as *mut Node);
        look(parse.returningList as *mut Node);
        look(parse.jointree as *mut Node);
        look(parse.mergeActionList as *mut Node);
        look(parse.havingQual);
        for relation in nodes(parse.rtable) {
            let relation = &*(relation as *mut RangeTblEntry);
            look(relation.functions as *mut Node);
            look(relation.securityQuals as *mut Node);
        }
        // What the arms of UNION ALL select.
        for arm in nodes((*root).append_rel_list) {
            look((*(arm as *mut AppendRelInfo)).translated_vars as *mut Node);
        }
        found
    }
}
/// # Safety
/// A well-formed expression tree.
unsafe fn has_call(node: *mut Node) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let mut found = false;
        walk(node, &mut |node| {
            found = found || may_raise(node);
            !found
        });
        found
    }
}

/// The parts of an expression that may be left out when it is evaluated (execExpr.c).
///
/// # Safety
/// A well-formed expression tree.
unsafe fn guarded(node: *mut Node) -> Vec<*mut Node> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let but_first = |list: *mut List| nodes(list).split_off(1);
        match (*node).type_ {
            NodeTag::T_BoolExpr => but_first((*(node as *mut BoolExpr)).args),
            NodeTag::T_CoalesceExpr => but_first((*(node as *mut CoalesceExpr)).args),
            NodeTag::T_RowCompareExpr => {
                let rows = &*(node as *mut RowCompareExpr);
                [but_first(rows.largs), but_first(rows.rargs)].concat()
            }
            NodeTag::T_CaseExpr => {
                let case = &*(node as *mut CaseExpr);
                let mut parts = vec![case.defresult as *mut Node];
                for (at, when) in nodes(case.args).into_iter().enumerate() {
                    let when = &*(when as *mut CaseWhen);
                    parts.push(when.result as *mut Node);
                    if at > 0 {
                        parts.push(when.expr as *mut Node);
                    }
                }
                parts
            }
            // Of what is NULL no element is looked up.
            NodeTag::T_SubscriptingRef => {
                let subscripting = &*(node as *mut SubscriptingRef);
                [nodes(subscripting.refupperindexpr), nodes(subscripting.reflowerindexpr)].concat()
            }
            _ => Vec::new(),
        }
    }
}
