//! `amax.arrow_plan(query)`: how the columns of a query's result become Arrow's.

use super::direct::Direct;
use super::query::{Execution, Plan, with_context};
use super::scope::Scope;
use crate::encoding::{plain, shown};
use crate::pg::snapshot::Active;
use crate::pg::tupdesc::name_bytes;
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
    let attributes = query.columns().attributes();
    let names = attributes.map(|attribute| plain(shown(name_bytes(attribute).to_bytes()).into_owned()));
    let (reasons, others) = match query.with_top(Direct::of) {
        Ok(direct) => (direct.reasons(), None),
        Err(reason) => (Vec::new(), Some(plain(reason))),
    };
    let mut reasons = reasons.into_iter();
    let line = |name| match (&others, reasons.next().flatten()) {
        (Some(reason), _) => (name, "executor", Some(reason.clone())),
        (None, Some(reason)) => (name, "rows", Some(plain(reason))),
        (None, None) => (name, "vectors", None),
    };
    names.map(line).collect()
}
