//! The top node's callbacks for PostgreSQL's executor.

use super::private::{Expressions, TopPlan};
use super::state::{Node, State, of};
use crate::encoding::shown;
use crate::pg::executor::{clear_slot, project};
use crate::query::batch::child::{begin_child, child, input, rescan_child};
use crate::query::batch::explain::{named_columns, number, text};
use crate::query::expr::compile::reads;
use crate::query::expr::tree::is_a;
use crate::query::plan::methods::ExecMethods;
use crate::query::plan::private::Private;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;

static METHODS: ExecMethods = ExecMethods::new(c"AmaxTop", begin, exec, end, rescan, explain);

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
pub unsafe extern "C-unwind" fn create(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: it begins with PostgreSQL's state, and has pointers besides.
    unsafe { METHODS.new_state::<Node>() }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn begin(node: *mut pg_sys::CustomScanState, estate: *mut pg_sys::EState, eflags: i32) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        begin_child(node, estate, eflags);
        let mut context = PgMemoryContexts::For((*estate).es_query_cxt);
        (*(node as *mut Node)).state = crate::memory::keep(&mut context, State::new(node));
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn exec(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        crate::memory::check_for_interrupts();
        let (state, input) = (of(node), input(node));
        let econtext = (*node).ss.ps.ps_ExprContext;
        pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
        if !state.next(input, econtext) {
            let result = (*node).ss.ps.ps_ResultTupleSlot;
            clear_slot(result);
            return result;
        }
        let rows = input.rows();
        rows.fill(&state.output);
        (*econtext).ecxt_scantuple = rows.scan_slot;
        project(&(*node).ss.ps, rows.scan_slot)
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn end(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        of(node).restart();
        pg_sys::ExecEndNode(child(node));
    }
}

/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn rescan(node: *mut pg_sys::CustomScanState) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        of(node).restart();
        rescan_child(node);
    }
}

/// By what the best rows are found, how many are asked for, and what is read of those alone.
///
/// # Safety
/// A node of ours, begun and not ended.
#[pg_guard]
unsafe extern "C-unwind" fn explain(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let context = pg_sys::set_deparse_context_plan((*es).deparse_cxt, plan as *mut pg_sys::Plan, ancestors);
        let shown = |expression: *mut pg_sys::Node| {
            let shown_as = pg_sys::deparse_expression(expression, context, (*es).verbose, false);
            shown(CStr::from_ptr(shown_as).to_bytes()).into_owned()
        };
        let private = TopPlan::of_plan(plan);
        let Expressions {
            groups,
            keys,
            checks,
            limits,
        } = private.expressions(plan);
        let mut by: Vec<String> = Vec::new();
        for (&key, direction) in keys.iter().zip(&private.keys) {
            // As show_sortorder_options() of explain.c.
            let order = match (direction.descending, direction.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            };
            by.push(shown(key) + order);
        }
        if private.ties {
            by.push("...".into());
        }
        if !groups.is_empty() {
            let groups: Vec<String> = groups.iter().map(|&group| shown(group)).collect();
            text(c"Group Key", &groups.join(", "), es);
        }
        if !by.is_empty() {
            text(c"Best By", &by.join(", "), es);
        }
        let known = |&limit: &*mut pg_sys::Node| {
            let constant = limit as *mut pg_sys::Const;
            (is_a(limit, pg_sys::NodeTag::T_Const) && !(*constant).constisnull)
                .then(|| (*constant).constvalue.value() as u64)
        };
        match limits.iter().map(known).sum::<Option<u64>>() {
            _ if !groups.is_empty() => {}
            Some(count) => number(c"Best Rows", count, es),
            None => {
                let limits: Vec<String> = limits.iter().map(|&limit| shown(limit)).collect();
                text(c"Best Rows", &limits.join(" + "), es);
            }
        }
        let computed = groups.iter().chain(&keys).chain(&checks).flat_map(|&node| reads(node));
        let computed: Vec<usize> = computed.collect();
        let mut late = of(node).output.clone();
        late.retain(|at| !computed.contains(at));
        named_columns(c"Late Columns", input(node).rows(), late, &[], es);
        let state = of(node);
        if (*es).analyze && state.all {
            text(c"Handed Up", "all rows", es);
        } else if (*es).analyze && state.parts > 1 {
            text(c"Handed Up", &format!("best rows of {} parts", state.parts), es);
        }
    }
}
