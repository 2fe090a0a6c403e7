//! Walking and changing expression trees, and evaluating them.

use pgrx::pg_sys;

/// Calls `visit` for a node and those below, in order; where it says false, what is below is left out.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn walk(node: *mut pg_sys::Node, visit: &mut dyn FnMut(*mut pg_sys::Node) -> bool) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        unsafe extern "C-unwind" fn step(node: *mut pg_sys::Node, context: *mut std::ffi::c_void) -> bool {
            if node.is_null() {
                return false;
            }
            // SAFETY: the context is `visit` below.
            let visit = unsafe { &mut *(context as *mut &mut dyn FnMut(*mut pg_sys::Node) -> bool) };
            if visit(node) {
                // SAFETY: a well-formed tree.
                unsafe { pg_sys::expression_tree_walker(node, Some(step), context) };
            }
            false
        }
        let mut visit = visit;
        step(node, &mut visit as *mut _ as *mut std::ffi::c_void);
    }
}

/// A copy of the tree in which `change` has replaced what it wants to.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn rewrite(
    node: *mut pg_sys::Node,
    change: &mut dyn FnMut(*mut pg_sys::Node) -> Option<*mut pg_sys::Node>,
) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        type Change<'a> = &'a mut dyn FnMut(*mut pg_sys::Node) -> Option<*mut pg_sys::Node>;
        unsafe extern "C-unwind" fn step(node: *mut pg_sys::Node, context: *mut std::ffi::c_void) -> *mut pg_sys::Node {
            if node.is_null() {
                return node;
            }
            // SAFETY: the context is `change` below.
            let change = unsafe { &mut *(context as *mut Change) };
            // SAFETY: a well-formed tree.
            change(node).unwrap_or_else(|| unsafe { mutate(node, step, context) })
        }
        let mut change = change;
        step(node, &mut change as *mut _ as *mut std::ffi::c_void)
    }
}

type Mutator = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut std::ffi::c_void) -> *mut pg_sys::Node;
/// # Safety
/// A well-formed expression tree.
unsafe fn mutate(node: *mut pg_sys::Node, step: Mutator, context: *mut std::ffi::c_void) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            // Declared without arguments in nodeFuncs.h.
            let step: unsafe extern "C-unwind" fn() -> *mut pg_sys::Node = std::mem::transmute(step);
            pg_sys::expression_tree_mutator(node, Some(step), context)
        }
        #[cfg(not(feature = "pg15"))]
        pg_sys::expression_tree_mutator_impl(node, Some(step), context)
    }
}
/// # Safety
/// A well-formed expression tree.
pub unsafe fn is_a(node: *const pg_sys::Node, tag: pg_sys::NodeTag) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe { !node.is_null() && (*node).type_ == tag }
}
/// # Safety
/// A well-formed expression tree.
pub unsafe fn equal<A, B>(a: *const A, b: *const B) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe { pg_sys::equal(a as _, b as _) }
}

/// The nodes of a list.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn nodes(list: *mut pg_sys::List) -> Vec<*mut pg_sys::Node> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        match list.as_ref() {
            None => Vec::new(),
            Some(list) => (0..list.length as usize)
                .map(|i| (*list.elements.add(i)).ptr_value as *mut pg_sys::Node)
                .collect(),
        }
    }
}

/// A list of nodes.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn list<T>(nodes: impl IntoIterator<Item = *mut T>) -> *mut pg_sys::List {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        nodes.into_iter().fold(std::ptr::null_mut(), |list, node| {
            pg_sys::lappend(list, node as *mut std::ffi::c_void)
        })
    }
}

/// A node of type `T`, zeroed.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn make<T>(tag: pg_sys::NodeTag) -> *mut T {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let node = pg_sys::palloc0(std::mem::size_of::<T>()) as *mut T;
        (*(node as *mut pg_sys::Node)).type_ = tag;
        node
    }
}

/// ExecEvalExpr() in the expression context's memory for one row. PostgreSQL's errors must not jump over our frames.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn eval(state: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> (pg_sys::Datum, bool) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let old = pg_sys::MemoryContextSwitchTo((*econtext).ecxt_per_tuple_memory);
        let mut null = false;
        let function = (*state)
            .evalfunc
            .expect("an expression is ready when it is initialized");
        let value = pg_sys::ffi::pg_guard_ffi_boundary(|| function(state, econtext, &mut null));
        pg_sys::MemoryContextSwitchTo(old);
        (value, null)
    }
}

/// ExecProcNode() (executor.h).
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn next_row(node: *mut pg_sys::PlanState) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        if !(*node).chgParam.is_null() {
            pg_sys::ExecReScan(node);
        }
        let function = (*node).ExecProcNode.expect("every node can be executed");
        pg_sys::ffi::pg_guard_ffi_boundary(|| function(node))
    }
}

/// Whether a condition holds: not false, not NULL.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn holds(state: *mut pg_sys::ExprState, econtext: *mut pg_sys::ExprContext) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let (value, null) = eval(state, econtext);
        !null && value.value() & 0xff != 0
    }
}

/// ExecProject() (executor.h).
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn project(projection: *mut pg_sys::ProjectionInfo) -> *mut pg_sys::TupleTableSlot {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let econtext = (*projection).pi_exprContext;
        let state = &mut (*projection).pi_state;
        let slot = state.resultslot;
        crate::pg::executor::clear_slot(slot);
        eval(state, econtext);
        (*slot).tts_flags &= !(pg_sys::TTS_FLAG_EMPTY as u16);
        (*slot).tts_nvalid = (*(*slot).tts_tupleDescriptor).natts as i16;
        slot
    }
}

/// MemoryContextReset(), where there is something to reset: it is asked for with every row.
///
/// # Safety
/// A well-formed expression tree.
#[inline]
pub unsafe fn reset(context: pg_sys::MemoryContext) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        if !(*context).isReset || !(*context).firstchild.is_null() {
            pg_sys::MemoryContextReset(context);
        }
    }
}

/// Whether the expression may be evaluated for other rows, in another order or less often than written.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn is_pure(node: *mut pg_sys::Node) -> bool {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe { !pg_sys::contain_volatile_functions(node) && !pg_sys::contain_subplans(node) }
}
