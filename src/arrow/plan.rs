//! `amax.arrow_plan(query)`: how the columns of a query's result become Arrow's.

use super::direct::Direct;
use super::query::{Execution, Plan, with_context};
use super::scope::Scope;
use crate::encoding;
use crate::pg::plan::CustomScan;
use crate::pg::snapshot::Active;
use crate::pg::state::PlanState;
use crate::pg::tupdesc::name_of;
use pgrx::prelude::*;
use std::ffi::CString;

/// A column's name, on which path it is, and why if not on the direct one.
type Line = (String, &'static str, Option<String>);

/// `amax.arrow_plan(query)`: a row per column. A text's bytes are a bytea's.
#[pg_extern]
#[allow(clippy::type_complexity)]
fn arrow_plan(
    query: &[u8],
) -> TableIterator<
    'static,
    (
        name!(column, String),
        name!(path, &'static str),
        name!(reason, Option<String>),
    ),
> {
    let source = CString::new(query).expect("texts have no NULs");
    let active = Active::of_transaction();
    // SAFETY: nothing of it is left when the function returns.
    let scope = unsafe { Scope::of(&source, std::ptr::null_mut()) };
    let lines = with_context(scope.source(), || {
        Execution::show(Plan::of_select(scope), scope, &active, lines)
    });
    TableIterator::new(lines)
}

fn lines(query: &Execution<'_>) -> Vec<Line> {
    let names: Vec<String> = query.columns().attributes().map(name_of).collect();
    let (paths, others): (Vec<_>, _) = query.with_top(|top| match Direct::of(top) {
        Some(direct) => (direct.reasons(), None),
        None => (Vec::new(), Some(above(top))),
    });
    let mut paths = paths.into_iter();
    let line = |name| match (&others, paths.next().flatten()) {
        (Some(reason), _) => (name, "executor", Some(reason.clone())),
        (None, Some(reason)) => (name, "rows", Some(reason)),
        (None, None) => (name, "vectors", None),
    };
    names.into_iter().map(line).collect()
}

/// Of a node that hands up rows.
fn above(top: &PlanState) -> String {
    let plan = top.plan();
    let name = match plan.as_a::<CustomScan>() {
        Some(custom) => encoding::shown(custom.custom_name().to_bytes()).into_owned(),
        None => format!("{:?}", plan.tag()).trim_start_matches("T_").to_owned(),
    };
    format!("the plan's top node is {name}")
}
