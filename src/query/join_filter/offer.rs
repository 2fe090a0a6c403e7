//! Offering join filters: when a query starts we look for our scans on the outer sides of hash joins.

use super::filter::{JoinFilter, Tried};
use crate::pg::expr::{TargetEntry, Var};
use crate::pg::lookup::operator_function;
use crate::pg::node::{Node, is_pure};
use crate::pg::plan::{Hash, HashJoin, Joins, Plan};
use crate::pg::state::*;
use crate::query::batch::Batches;
use crate::query::expr::compile::reads;
use crate::query::expr::datum::{type_of, type_of_node};
use crate::query::expr::operators::comparison;
use crate::query::expr::quiet::{is_quiet, is_quiet_join};
use crate::query::expr::tree::{any, rewrite};
use crate::query::plan::node::state_of;
use crate::query::plan::private::Private;
use crate::query::scan::node::METHODS;
use crate::query::scan::private::ScanPlan;
use crate::query::scan::state::Scan;
use amax_exec::{Comparison, Type};
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::{JoinType, OUTER_VAR, Oid, TTSOpsMinimalTuple};

/// Of all hash joins of a query that begins.
pub fn offer_keys(query: &'static QueryDesc) {
    let Some(top) = query.planstate() else {
        return;
    };
    query.estate().within(|| {
        let mut joins = Vec::new();
        top.walk(&mut |node| joins.extend(node.as_a::<HashJoinState>()));
        joins.into_iter().for_each(offer);
    });
}

/// Offers a join's keys to the scan on its outer side.
fn offer(join: &'static HashJoinState) {
    let (Some(plan), Some(outer)) = (join.plan().as_a::<HashJoin>(), join.lefttree()) else {
        return;
    };
    let hash = plan.righttree().and_then(|plan| plan.as_a::<Hash>());
    let Some(hash) = hash.filter(|_| drops_unmatched(plan.kind())) else {
        return;
    };
    for (i, (key, inner)) in plan.hashkeys().iter().zip(hash.hashkeys().iter()).enumerate() {
        let (operator, collation) = plan.operator(i);
        let Some(ty) = key_type(operator_function(operator), collation) else {
            continue;
        };
        if is_pure(inner) && type_of(inner.type_oid(), collation) == Some(ty) {
            push(outer, key, &Offer { join, inner, ty });
        }
    }
}

/// What a filter holds of keys that this function compares.
pub fn key_type(function: Oid, collation: Oid) -> Option<Type> {
    match comparison(function.to_u32(), collation)? {
        (Comparison::Equal, ty @ (Type::Int | Type::Text)) => Some(ty),
        _ => None,
    }
}

/// Whether a join leaves out rows of its outer side that have no match.
fn drops_unmatched(join: JoinType::Type) -> bool {
    #[cfg(not(feature = "pg15"))]
    if join == JoinType::JOIN_RIGHT_ANTI {
        return true;
    }
    #[cfg(feature = "pg18")]
    if join == JoinType::JOIN_RIGHT_SEMI {
        return true;
    }
    matches!(join, JoinType::JOIN_INNER | JoinType::JOIN_SEMI | JoinType::JOIN_RIGHT)
}

/// Whether what a join returns are rows of its outer side, each some number of times, whatever other rows there are.
fn keeps_outer(plan: &Plan) -> bool {
    matches!(
        plan.as_join().map(Joins::kind),
        Some(JoinType::JOIN_INNER | JoinType::JOIN_LEFT | JoinType::JOIN_SEMI | JoinType::JOIN_ANTI)
    )
}

struct Offer {
    join: &'static HashJoinState,
    inner: &'static Node,
    ty: Type,
}

/// Takes a key over the rows of `node` down to the scan that it comes from. Rows that are missing there must be missed
/// by nothing between.
fn push(node: &'static PlanState, key: &Node, offer: &Offer) {
    let plan = node.plan();
    let column = |var: &Var| {
        let entry = plan
            .targetlist()
            .get(var.varattno() as usize - 1)?
            .as_a::<TargetEntry>()?;
        Some(entry.expr()?.copy())
    };
    let key = rewrite(key, &mut |node| {
        let var = node.as_a::<Var>().filter(|var| var.varno() == OUTER_VAR)?;
        Some(column(var).expect("the node below computes it"))
    });
    match node.tag() {
        T_CustomScanState => {
            let scan = node.as_a::<CustomScanState>().filter(|node| METHODS.are_of(node));
            if let Some(scan) = scan.filter(|_| is_quiet(node)) {
                attach(scan, key, offer);
            }
        }
        T_AppendState => {
            let parts = node.as_a::<AppendState>().map(AppendState::plans);
            parts.into_iter().flatten().for_each(|part| push(part, key, offer));
        }
        T_HashJoinState | T_NestLoopState => {
            let of_inner = any(key, |node| {
                node.as_a::<Var>().is_some_and(|var| var.varno() != OUTER_VAR)
            });
            if !of_inner
                && keeps_outer(plan)
                && is_quiet_join(node)
                && let Some(outer) = node.lefttree()
            {
                push(outer, key, offer);
            }
        }
        _ => {}
    }
}

fn attach(node: &'static CustomScanState, key: &Node, offer: &Offer) {
    let mut scan = state_of::<Scan>(node).borrow_mut();
    if type_of_node(key) != Some(offer.ty) {
        return;
    }
    let compiled = scan.compile(&[key]).pop().flatten();
    // What may raise an error must not be computed for rows that are perhaps never asked for.
    let Some(compiled) = compiled.filter(|key| scan.is_flat() && scan.takes_join_filters() && !key.calls_out()) else {
        return;
    };
    let passing = node.plan().as_a().map_or(0, |plan| ScanPlan::of_plan(plan).passing);
    let estate = node.state();
    // SAFETY: a table of functions that is never changed.
    let slot = estate.new_slot(offer.join.inner_desc(), unsafe { &TTSOpsMinimalTuple });
    let econtext = estate.new_context();
    econtext.set_outer_row(slot);
    scan.add_join_filter(JoinFilter {
        join: offer.join,
        key: compiled,
        reads: reads(key),
        // Without a parent: it would say what kind of slot a row comes in.
        inner: Prepared::new(offer.inner, None),
        inner_type: (offer.inner.type_oid(), offer.ty),
        slot,
        econtext,
        passing: passing.into(),
        tried: Tried::default(),
    });
}
