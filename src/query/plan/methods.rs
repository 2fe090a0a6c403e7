//! The callbacks of our nodes: tables that PostgreSQL knows a path, a plan and a plan's state by.

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
