//! The callbacks of our nodes: tables that PostgreSQL knows a path, a plan and a plan's state by.

use crate::query::expr::tree::{is_a, nodes};
use pgrx::pg_sys;

/// Of a path.
pub struct PathMethods(pub pg_sys::CustomPathMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for PathMethods {}

/// Of a plan.
pub struct ScanMethods(pub pg_sys::CustomScanMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ScanMethods {}

/// Of a plan's state.
pub struct ExecMethods(pub pg_sys::CustomExecMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ExecMethods {}

/// The first of these paths, but for a projection above it, that has such methods and needs nothing of other relations.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn path_with(
    paths: *mut pg_sys::List,
    has: impl Fn(*const pg_sys::CustomPathMethods) -> bool,
) -> Option<*mut pg_sys::Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        nodes(paths).into_iter().find_map(|path| {
            let path = match (*path).type_ {
                pg_sys::NodeTag::T_ProjectionPath => (*(path as *mut pg_sys::ProjectionPath)).subpath,
                _ => path as *mut pg_sys::Path,
            };
            let custom = path as *mut pg_sys::CustomPath;
            let found = is_a(path as *mut pg_sys::Node, pg_sys::NodeTag::T_CustomPath)
                && has((*custom).methods)
                && (*path).param_info.is_null();
            found.then_some(path)
        })
    }
}
