//! What is done to a query before PostgreSQL plans it, and to the plan.

use super::{jit, unnest_select};
use pgrx::pg_sys;
use pgrx::prelude::*;

pub static mut NEXT: pg_sys::planner_hook_type = None;

/// planner_hook.
#[pg_guard]
pub unsafe extern "C-unwind" fn plan(
    parse: *mut pg_sys::Query,
    text: *const std::ffi::c_char,
    options: i32,
    params: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    unnest_select::in_subqueries(parse);
    let planned = match NEXT {
        Some(next) => next(parse, text, options, params),
        None => pg_sys::standard_planner(parse, text, options, params),
    };
    jit::decide(&mut *planned);
    planned
}
