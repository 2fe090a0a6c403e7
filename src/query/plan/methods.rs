//! The callbacks of our nodes: tables that PostgreSQL knows a path, a plan and a plan's state by.

use super::kept::kept;
use crate::query::expr::tree::{is_a, make, nodes};
use pgrx::pg_sys;
use std::ffi::CStr;

/// Of a path.
pub struct PathMethods(pub pg_sys::CustomPathMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for PathMethods {}

type Plan = unsafe extern "C-unwind" fn(
    *mut pg_sys::PlannerInfo,
    *mut pg_sys::RelOptInfo,
    *mut pg_sys::CustomPath,
    *mut pg_sys::List,
    *mut pg_sys::List,
    *mut pg_sys::List,
) -> *mut pg_sys::Plan;

impl PathMethods {
    pub const fn new(name: &'static CStr, plan: Plan) -> PathMethods {
        PathMethods(pg_sys::CustomPathMethods {
            CustomName: name.as_ptr(),
            PlanCustomPath: Some(plan),
            ReparameterizeCustomPathByChild: None,
        })
    }
}

/// Of a plan.
pub struct ScanMethods(pub pg_sys::CustomScanMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ScanMethods {}

impl ScanMethods {
    pub const fn new(
        name: &'static CStr,
        create: unsafe extern "C-unwind" fn(*mut pg_sys::CustomScan) -> *mut pg_sys::Node,
    ) -> ScanMethods {
        ScanMethods(pg_sys::CustomScanMethods {
            CustomName: name.as_ptr(),
            CreateCustomScanState: Some(create),
        })
    }
}

/// Of a plan's state.
pub struct ExecMethods(pub pg_sys::CustomExecMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ExecMethods {}

type Begin = unsafe extern "C-unwind" fn(*mut pg_sys::CustomScanState, *mut pg_sys::EState, i32);
type Exec = unsafe extern "C-unwind" fn(*mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot;
type Act = unsafe extern "C-unwind" fn(*mut pg_sys::CustomScanState);
type Explain = unsafe extern "C-unwind" fn(*mut pg_sys::CustomScanState, *mut pg_sys::List, *mut pg_sys::ExplainState);

impl ExecMethods {
    /// Of a node that shares nothing with other processes, and goes back to no mark.
    pub const fn new(
        name: &'static CStr,
        begin: Begin,
        exec: Exec,
        end: Act,
        rescan: Act,
        explain: Explain,
    ) -> ExecMethods {
        ExecMethods(pg_sys::CustomExecMethods {
            CustomName: name.as_ptr(),
            BeginCustomScan: Some(begin),
            ExecCustomScan: Some(exec),
            EndCustomScan: Some(end),
            ReScanCustomScan: Some(rescan),
            MarkPosCustomScan: None,
            RestrPosCustomScan: None,
            EstimateDSMCustomScan: None,
            InitializeDSMCustomScan: None,
            ReInitializeDSMCustomScan: None,
            InitializeWorkerCustomScan: None,
            ShutdownCustomScan: None,
            ExplainCustomScan: Some(explain),
        })
    }

    /// A plan's state that has them.
    ///
    /// # Safety
    /// `T` begins with PostgreSQL's state, and is right if it is all zeros.
    pub unsafe fn new_state<T>(&'static self) -> *mut pg_sys::Node {
        // SAFETY: as the caller promises.
        unsafe {
            let state = make::<T>(pg_sys::NodeTag::T_CustomScanState) as *mut pg_sys::CustomScanState;
            (*state).methods = &self.0;
            state as *mut pg_sys::Node
        }
    }
}

/// A path of a relation that has such methods and needs nothing of other relations: the one that was kept, or the first of
/// PostgreSQL's list, but for a projection above it. `partial`: one that workers share.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn path_with(
    rel: *mut pg_sys::RelOptInfo,
    partial: bool,
    has: impl Fn(*const pg_sys::CustomPathMethods) -> bool,
) -> Option<*mut pg_sys::Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let listed = match partial {
            true => (*rel).partial_pathlist,
            false => (*rel).pathlist,
        };
        let listed = nodes(listed).into_iter().map(|path| match (*path).type_ {
            pg_sys::NodeTag::T_ProjectionPath => (*(path as *mut pg_sys::ProjectionPath)).subpath,
            _ => path as *mut pg_sys::Path,
        });
        kept(rel, partial).into_iter().chain(listed).find(|&path| {
            let custom = path as *mut pg_sys::CustomPath;
            is_a(path as *mut pg_sys::Node, pg_sys::NodeTag::T_CustomPath)
                && has((*custom).methods)
                && (*path).param_info.is_null()
        })
    }
}
