//! One custom node for all of ours: PostgreSQL's callbacks, and the state that they work on.
//!
//! The state is in the query's memory context and is dropped with it, also after an error. It is borrowed while one of the
//! node's callbacks runs, and by a node above that drives it; whoever borrows it again panics.

use crate::pg::node::Nodes;
use crate::pg::state::{CustomScanState, EState};
use crate::pg::{Slot, explain::ExplainState};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use std::any::TypeId;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// A node of ours, between ExecInitNode() and ExecEndNode().
pub trait CustomNode: Sized + 'static {
    fn methods() -> &'static ExecMethods;

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Self;

    /// The next row, in a slot; None after the last.
    fn next(&mut self, node: &'static CustomScanState) -> Option<&'static Slot>;

    fn end(&mut self, node: &CustomScanState);

    /// From its start again, with the parameters that have changed.
    fn rescan(&mut self, node: &CustomScanState);

    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState);
}

/// One whose processes share something, in the memory of their query.
pub trait SharedNode: CustomNode {
    /// Bytes that it needs with so many workers.
    fn shared_size(&mut self, workers: usize) -> usize;

    /// Of a query that begins, or begins `again`, in the process that leads others.
    ///
    /// # Safety
    /// Memory of that size, which stays until [`SharedNode::leave`].
    unsafe fn share(
        &mut self,
        node: &CustomScanState,
        leads: *mut pg_sys::ParallelContext,
        memory: NonNull<u8>,
        again: bool,
    );

    /// In a worker that begins.
    ///
    /// # Safety
    /// As above; `share` has been called there.
    unsafe fn join(&mut self, node: &CustomScanState, memory: NonNull<u8>);

    /// Before the memory goes.
    fn leave(&mut self);
}

/// PostgreSQL's state, and ours once it has begun.
#[repr(C)]
struct Node<T: 'static> {
    base: pg_sys::CustomScanState,
    /// Of `T`.
    kind: TypeId,
    state: Option<&'static RefCell<T>>,
}

/// The state of a node that has begun.
///
/// # Panics
/// If it is of another kind.
pub fn state_of<T: CustomNode>(node: &CustomScanState) -> &'static RefCell<T> {
    assert!(T::methods().are_of(node), "a node of this kind");
    let ours = node.raw().cast::<Node<T>>();
    // SAFETY: by its methods we have made it, for a type of ours; for this one if it says so.
    unsafe {
        assert!((*ours).kind == TypeId::of::<T>(), "a node of this kind");
        (*ours).state.expect("a node that has begun")
    }
}

/// Of a plan's state.
pub struct ExecMethods(pg_sys::CustomExecMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ExecMethods {}

impl ExecMethods {
    /// Of a node that shares nothing with other processes.
    pub const fn of<T: CustomNode>(name: &'static CStr) -> ExecMethods {
        ExecMethods(pg_sys::CustomExecMethods {
            CustomName: name.as_ptr(),
            BeginCustomScan: Some(begin::<T>),
            ExecCustomScan: Some(exec::<T>),
            EndCustomScan: Some(end::<T>),
            ReScanCustomScan: Some(rescan::<T>),
            MarkPosCustomScan: None,
            RestrPosCustomScan: None,
            EstimateDSMCustomScan: None,
            InitializeDSMCustomScan: None,
            ReInitializeDSMCustomScan: None,
            InitializeWorkerCustomScan: None,
            ShutdownCustomScan: None,
            ExplainCustomScan: Some(explain::<T>),
        })
    }

    pub const fn of_shared<T: SharedNode>(name: &'static CStr) -> ExecMethods {
        ExecMethods(pg_sys::CustomExecMethods {
            EstimateDSMCustomScan: Some(estimate::<T>),
            InitializeDSMCustomScan: Some(initialize::<T, false>),
            ReInitializeDSMCustomScan: Some(initialize::<T, true>),
            InitializeWorkerCustomScan: Some(initialize_worker::<T>),
            ShutdownCustomScan: Some(shutdown::<T>),
            ..ExecMethods::of::<T>(name).0
        })
    }

    pub fn are_of(&self, node: &CustomScanState) -> bool {
        std::ptr::eq(node.methods(), &self.0)
    }
}

// All below are called by PostgreSQL's executor alone, with a node of this kind. They call the guard themselves: the attribute takes
// no type parameters.

/// # Safety
/// As ExecInitCustomScan() calls it.
pub unsafe extern "C-unwind" fn create<T: CustomNode>(_plan: *mut pg_sys::CustomScan) -> *mut pg_sys::Node {
    // SAFETY: the struct begins with PostgreSQL's, and may be all zeros.
    unsafe {
        pgrx_extern_c_guard(|| {
            let made = pg_sys::palloc0(size_of::<Node<T>>()) as *mut Node<T>;
            (*made.cast::<pg_sys::Node>()).type_ = pg_sys::NodeTag::T_CustomScanState;
            (*made).base.methods = &T::methods().0;
            (*made).kind = TypeId::of::<T>();
            made.cast()
        })
    }
}

/// Calls `f` with a node and its state.
///
/// # Safety
/// A node of this kind that has begun, called by PostgreSQL.
unsafe fn with_guard<T: CustomNode, R>(
    node: *mut pg_sys::CustomScanState,
    f: impl FnOnce(&mut T, &'static CustomScanState) -> R,
) -> R {
    // SAFETY: as the caller promises: it lives as long as the query.
    unsafe {
        pgrx_extern_c_guard(|| {
            let node = CustomScanState::of(node);
            f(&mut state_of::<T>(node).borrow_mut(), node)
        })
    }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn begin<T: CustomNode>(
    node: *mut pg_sys::CustomScanState,
    estate: *mut pg_sys::EState,
    flags: i32,
) {
    // SAFETY: see above.
    unsafe {
        pgrx_extern_c_guard(|| {
            let estate = EState::of(estate);
            let state = RefCell::new(T::begin(CustomScanState::of(node), estate, flags));
            let kept = crate::memory::keep(&mut estate.query_context(), state);
            (*node.cast::<Node<T>>()).state = Some(&*kept);
        })
    }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn exec<T: CustomNode>(node: *mut pg_sys::CustomScanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: see above.
    unsafe {
        with_guard(node, |state: &mut T, node| {
            state.next(node).unwrap_or_else(|| node.no_row()).raw()
        })
    }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn end<T: CustomNode>(node: *mut pg_sys::CustomScanState) {
    // SAFETY: see above.
    unsafe { with_guard(node, |state: &mut T, node| state.end(node)) }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn rescan<T: CustomNode>(node: *mut pg_sys::CustomScanState) {
    // SAFETY: see above.
    unsafe { with_guard(node, |state: &mut T, node| state.rescan(node)) }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn explain<T: CustomNode>(
    node: *mut pg_sys::CustomScanState,
    ancestors: *mut pg_sys::List,
    es: *mut pg_sys::ExplainState,
) {
    // SAFETY: see above.
    unsafe {
        with_guard(node, |state: &mut T, node| {
            state.explain(node, Nodes::of(ancestors), ExplainState::of(es))
        })
    }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn estimate<T: SharedNode>(
    node: *mut pg_sys::CustomScanState,
    context: *mut pg_sys::ParallelContext,
) -> pg_sys::Size {
    // SAFETY: see above.
    unsafe { with_guard(node, |state: &mut T, _| state.shared_size((*context).nworkers as usize)) }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn initialize<T: SharedNode, const AGAIN: bool>(
    node: *mut pg_sys::CustomScanState,
    context: *mut pg_sys::ParallelContext,
    memory: *mut c_void,
) {
    // SAFETY: see above.
    unsafe {
        with_guard(node, |state: &mut T, node| {
            state.share(node, context, address(memory), AGAIN)
        })
    }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn initialize_worker<T: SharedNode>(
    node: *mut pg_sys::CustomScanState,
    _toc: *mut pg_sys::shm_toc,
    memory: *mut c_void,
) {
    // SAFETY: see above.
    unsafe { with_guard(node, |state: &mut T, node| state.join(node, address(memory))) }
}

/// # Safety
/// See above.
unsafe extern "C-unwind" fn shutdown<T: SharedNode>(node: *mut pg_sys::CustomScanState) {
    // SAFETY: see above.
    unsafe { with_guard(node, |state: &mut T, _| state.leave()) }
}

fn address(memory: *mut c_void) -> NonNull<u8> {
    NonNull::new(memory.cast()).expect("memory of the query")
}
