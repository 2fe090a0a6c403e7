//! Offering join filters: when a query starts we look for our scans on the outer sides of hash joins.

use super::filter::JoinFilter;
use crate::query::batch::Batches;
use crate::query::expr::compile::reads;
use crate::query::expr::datum;
use crate::query::expr::operators::comparison;
use crate::query::expr::tree::{is_a, is_pure, nodes, rewrite, walk};
use crate::query::scan::node::METHODS;
use crate::query::scan::of;
use amax_exec::{Comparison, Type};
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::*;
use pgrx::prelude::*;

/// outerPlanState() (execnodes.h).
///
/// # Safety
/// What the planner hands over.
unsafe fn outer(node: *mut PlanState) -> *mut PlanState {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe { (*node).lefttree }
}

/// Of all hash joins of a query that begins.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn offer_keys(query: *mut QueryDesc) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let old = MemoryContextSwitchTo((*(*query).estate).es_query_cxt);
        visit((*query).planstate, std::ptr::null_mut());
        MemoryContextSwitchTo(old);
    }
}

/// # Safety
/// What the planner hands over.
#[pg_guard]
unsafe extern "C-unwind" fn visit(node: *mut PlanState, context: *mut std::ffi::c_void) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if node.is_null() {
            return false;
        }
        if (*node).type_ == T_HashJoinState {
            offer(node as *mut HashJoinState);
        }
        planstate_tree_walker(node, Some(visit), context)
    }
}

/// Offers a join's keys to the scan on its outer side.
///
/// # Safety
/// What the planner hands over.
unsafe fn offer(join: *mut HashJoinState) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let plan = (*join).js.ps.plan as *mut HashJoin;
        if !drops_unmatched((*plan).join.jointype) {
            return;
        }
        let hash = (*plan).join.plan.righttree as *mut Hash;
        let operators = (*plan).hashoperators;
        let collations = (*plan).hashcollations;
        let keys = nodes((*plan).hashkeys).into_iter();
        for (i, (key, inner)) in keys.zip(nodes((*hash).hashkeys)).enumerate() {
            let operator = (*(*operators).elements.add(i)).oid_value;
            let collation = (*(*collations).elements.add(i)).oid_value;
            let found = comparison(get_opcode(operator).to_u32(), collation);
            let Some((Comparison::Equal, ty @ (Type::Int | Type::Text))) = found else {
                continue;
            };
            if is_pure(inner) && datum::type_of(exprType(inner), collation) == Some(ty) {
                push(outer(join as *mut PlanState), key, &Offer { join, inner, ty });
            }
        }
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
fn keeps_outer(join: JoinType::Type) -> bool {
    matches!(
        join,
        JoinType::JOIN_INNER | JoinType::JOIN_LEFT | JoinType::JOIN_SEMI | JoinType::JOIN_ANTI
    )
}

struct Offer {
    join: *mut HashJoinState,
    inner: *mut Node,
    ty: Type,
}

/// Takes a key over the rows of `node` down to the scan that it comes from. Rows that are missing there must be missed
/// by nothing between.
///
/// # Safety
/// What the planner hands over.
unsafe fn push(node: *mut PlanState, key: *mut Node, offer: &Offer) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let plan = (*node).plan;
        let columns = nodes((*plan).targetlist);
        let key = rewrite(key, &mut |node| {
            let var = node as *mut Var;
            (is_a(node, T_Var) && (*var).varno == OUTER_VAR).then(|| {
                let column = columns[(*var).varattno as usize - 1] as *mut TargetEntry;
                copyObjectImpl((*column).expr as _) as *mut Node
            })
        });
        match (*node).type_ {
            T_CustomScanState => {
                let node = node as *mut CustomScanState;
                if std::ptr::eq((*node).methods, &METHODS.0) && is_quiet(plan) {
                    attach(node, key, offer);
                }
            }
            T_AppendState => {
                let append = node as *mut AppendState;
                for i in 0..(*append).as_nplans as usize {
                    push(*(*append).appendplans.add(i), key, offer);
                }
            }
            T_HashJoinState | T_NestLoopState => {
                let join = plan as *mut Join;
                let mut of_outer = true;
                walk(key, &mut |node| {
                    of_outer &= !is_a(node, T_Var) || (*(node as *mut Var)).varno == OUTER_VAR;
                    true
                });
                if of_outer && keeps_outer((*join).jointype) && is_quiet_join(join) {
                    push(outer(node), key, offer);
                }
            }
            _ => {}
        }
    }
}

/// Whether it shows in nothing but its rows how often a node is asked for one.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_quiet(plan: *mut Plan) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let own = match (*plan).type_ {
            T_CustomScan => (*(plan as *mut CustomScan)).custom_exprs,
            _ => std::ptr::null_mut(),
        };
        [(*plan).targetlist, (*plan).qual, own]
            .iter()
            .all(|&list| is_pure(list as *mut Node))
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn is_quiet_join(join: *mut Join) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        is_quiet(&mut (*join).plan) && is_pure((*join).joinqual as *mut Node) && is_quiet_tree((*join).plan.righttree)
    }
}

/// Of plans that only scan.
///
/// # Safety
/// What the planner hands over.
unsafe fn is_quiet_tree(plan: *mut Plan) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if plan.is_null() {
            return true;
        }
        let is_scan = matches!(
            (*plan).type_,
            T_SeqScan
                | T_IndexScan
                | T_IndexOnlyScan
                | T_BitmapHeapScan
                | T_BitmapIndexScan
                | T_CustomScan
                | T_Material
                | T_Memoize
                | T_Hash
                | T_Sort
        );
        is_scan && is_quiet(plan) && is_quiet_tree((*plan).lefttree)
    }
}
/// # Safety
/// What the planner hands over.
unsafe fn attach(node: *mut CustomScanState, key: *mut Node, offer: &Offer) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let scan = of(node);
        if datum::type_of(exprType(key), exprCollation(key)) != Some(offer.ty) {
            return;
        }
        let compiled = scan.compile(&[key]).pop().flatten();
        // What may raise an error must not be computed for rows that are perhaps never asked for.
        let Some(compiled) = compiled.filter(|key| scan.is_flat() && !key.calls_out()) else {
            return;
        };
        let estate = (*node).ss.ps.state;
        let desc = (*(*offer.join).hj_HashTupleSlot).tts_tupleDescriptor;
        let slot = ExecInitExtraTupleSlot(estate, desc, &TTSOpsMinimalTuple);
        let econtext = CreateExprContext(estate);
        (*econtext).ecxt_outertuple = slot;
        let filter = JoinFilter::new(
            offer.join,
            (compiled, reads(key)),
            // Without a parent: it would say what kind of slot a row comes in.
            ExecInitExpr(offer.inner as *mut pg_sys::Expr, std::ptr::null_mut()),
            (exprType(offer.inner), offer.ty),
            (slot, econtext),
            (*(*node).ss.ps.plan).plan_rows,
        );
        scan.add_join_filter(filter);
    }
}
