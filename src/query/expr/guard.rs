//! Errors that a query guards against: CASE WHEN jsonb_typeof(x) = 'array' THEN jsonb_array_length(x) END.
//!
//! A scan computes its entries before the expression that reads them is evaluated, all of them. So what may raise an
//! error is an entry only in queries that always evaluate it.

use super::condition::{asked_by, condition_of, text_of};
use super::path::call_of;
use super::tree::any;
use crate::pg::expr::{BoolExpr, CaseExpr, CaseWhen, CoalesceExpr, RowCompareExpr, SubscriptingRef};
use crate::pg::node::{Node, Nodes};
use crate::pg::parse::RangeTblEntry;
use crate::pg::planner::{AppendRelInfo, PlannerInfo};
use pgrx::pg_sys::*;

/// A call of a function that could be an entry, and may raise an error.
pub fn may_raise(node: &Node) -> bool {
    call_of(node).is_some_and(|(function, args)| match function {
        F_JSONB_ARRAY_LENGTH | F_JSONB_DELETE_JSONB_TEXT | F_JSONB_DELETE_JSONB__TEXT => true,
        // These suppress errors, but for times that would need a time zone (checkTimezoneIsUsedForCast() of jsonpath_exec.c)
        // and, from 17 on, variables (getJsonPathVariable()).
        F_JSONB_PATH_EXISTS_OPR | F_JSONB_PATH_MATCH_OPR => {
            let path = args.get(1).and_then(|path| text_of(path));
            path.is_some_and(|path| path.contains("datetime") || path.contains("$\""))
        }
        _ => asked_by(function).is_some() && condition_of(function, &args).is_none(),
    })
}

/// Whether the query has such a call where it is evaluated only if something else is so.
pub fn guards(root: &PlannerInfo) -> bool {
    let parse = root.parse();
    let lists = [parse.targetList(), parse.returningList(), parse.mergeActionList()];
    let relations = parse.rtable().all::<RangeTblEntry>();
    let of_relations = relations.flat_map(|relation| [relation.functions(), relation.securityQuals()]);
    // What the arms of UNION ALL select.
    let arms = root.append_rel_list().all::<AppendRelInfo>();
    let lists = lists
        .into_iter()
        .chain(of_relations)
        .chain(arms.map(AppendRelInfo::translated_vars));
    let from = parse.jointree().map(|from| &**from);
    lists
        .filter_map(Nodes::as_node)
        .chain(from)
        .chain(parse.havingQual())
        .any(|node| any(node, |node| guarded(node).into_iter().any(|part| any(part, may_raise))))
}

fn but_first(list: Nodes<'_>) -> Vec<&Node> {
    list.iter().skip(1).collect()
}

/// The parts of an expression that may be left out when it is evaluated (execExpr.c).
fn guarded(node: &Node) -> Vec<&Node> {
    match node.tag() {
        NodeTag::T_BoolExpr => node.as_a::<BoolExpr>().map(|op| but_first(op.args())),
        NodeTag::T_CoalesceExpr => node.as_a::<CoalesceExpr>().map(|c| but_first(c.args())),
        NodeTag::T_RowCompareExpr => {
            let rows = node.as_a::<RowCompareExpr>();
            rows.map(|rows| [but_first(rows.largs()), but_first(rows.rargs())].concat())
        }
        NodeTag::T_CaseExpr => node.as_a::<CaseExpr>().map(|case| {
            let mut parts: Vec<&Node> = case.defresult().into_iter().collect();
            for (at, when) in case.args().all::<CaseWhen>().enumerate() {
                parts.extend(when.result());
                parts.extend(when.expr().filter(|_| at > 0));
            }
            parts
        }),
        // Of what is NULL no element is looked up.
        NodeTag::T_SubscriptingRef => {
            let subscripting = node.as_a::<SubscriptingRef>();
            subscripting.map(|s| [s.refupperindexpr().to_vec(), s.reflowerindexpr().to_vec()].concat())
        }
        _ => None,
    }
    .unwrap_or_default()
}
