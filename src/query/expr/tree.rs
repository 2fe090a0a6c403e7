//! Walking and changing expression trees, and evaluating them.
//!
//! PostgreSQL's walkers are asked for the parts of one node at a time, and what they call only collects those. So no code
//! of ours runs below them, an error raised there has no frame of ours to cross, and a deep tree takes no stack.

use pgrx::prelude::*;
use std::ffi::c_void;

/// Calls `visit` for a node and those below, in order; where it says false, what is below is left out.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn walk(node: *mut pg_sys::Node, visit: &mut dyn FnMut(*mut pg_sys::Node) -> bool) {
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        if !node.is_null() && visit(node) {
            let before = left.len();
            // SAFETY: a well-formed tree; the context is what the callback takes it for.
            unsafe { pg_sys::expression_tree_walker(node, Some(collect_part), (&raw mut left).cast()) };
            left[before..].reverse();
        }
    }
}

/// Adds a node to the vector that `parts` points to.
///
/// # Safety
/// As [`walk`] calls it.
#[pg_guard]
unsafe extern "C-unwind" fn collect_part(node: *mut pg_sys::Node, parts: *mut c_void) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*parts.cast::<Vec<*mut pg_sys::Node>>()).push(node) };
    false
}

/// A copy of the tree in which `change` has replaced what it wants to.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn rewrite(
    node: *mut pg_sys::Node,
    change: &mut dyn FnMut(*mut pg_sys::Node) -> Option<*mut pg_sys::Node>,
) -> *mut pg_sys::Node {
    /// A node some of whose parts have been rewritten.
    struct Begun {
        node: *mut pg_sys::Node,
        parts: Vec<*mut pg_sys::Node>,
        rewritten: usize,
    }
    if node.is_null() {
        return node;
    }
    let mut begun: Vec<Begun> = Vec::new();
    let mut next = node;
    loop {
        let mut done = match change(next) {
            Some(other) => other,
            None => {
                let mut parts = Vec::new();
                // SAFETY: a well-formed tree.
                let copy = unsafe { mutate(next, list_part, &mut parts) };
                if let Some(&first) = parts.first() {
                    // It was only made to see the parts.
                    // SAFETY: a list or another node by itself, which nobody else knows.
                    unsafe {
                        if is_a(copy, pg_sys::NodeTag::T_List) {
                            pg_sys::list_free(copy.cast());
                        } else {
                            pg_sys::pfree(copy.cast());
                        }
                    }
                    begun.push(Begun {
                        node: next,
                        parts,
                        rewritten: 0,
                    });
                    next = first;
                    continue;
                }
                copy
            }
        };
        loop {
            let Some(above) = begun.last_mut() else {
                return done;
            };
            above.parts[above.rewritten] = done;
            above.rewritten += 1;
            if let Some(&part) = above.parts.get(above.rewritten) {
                next = part;
                break;
            }
            above.parts.reverse();
            // SAFETY: a well-formed tree, whose parts come in the order in which they were listed.
            done = unsafe { mutate(above.node, next_part, &mut above.parts) };
            begun.pop();
        }
    }
}

/// Lists a part of a node that is copied, which keeps it.
///
/// # Safety
/// As [`mutate`] has it called.
#[pg_guard]
unsafe extern "C-unwind" fn list_part(node: *mut pg_sys::Node, parts: *mut c_void) -> *mut pg_sys::Node {
    if !node.is_null() {
        // SAFETY: as the caller promises.
        unsafe { (*parts.cast::<Vec<*mut pg_sys::Node>>()).push(node) };
    }
    node
}

/// Replaces a part of a node that is copied by the last of those given.
///
/// # Safety
/// As [`mutate`] has it called, with a node for each part.
#[pg_guard]
unsafe extern "C-unwind" fn next_part(node: *mut pg_sys::Node, parts: *mut c_void) -> *mut pg_sys::Node {
    if node.is_null() {
        return node;
    }
    // SAFETY: as the caller promises.
    let part = unsafe { (*parts.cast::<Vec<*mut pg_sys::Node>>()).pop() };
    part.expect("a node has the same parts when it is looked at again")
}

type Part = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> *mut pg_sys::Node;

/// A copy of the node alone, with what `part` returns for each of its parts.
///
/// # Safety
/// A well-formed expression tree; a function that is content with these parts.
unsafe fn mutate(node: *mut pg_sys::Node, part: Part, parts: &mut Vec<*mut pg_sys::Node>) -> *mut pg_sys::Node {
    let context = (parts as *mut Vec<_>).cast();
    // SAFETY: as the caller promises.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            // Declared without arguments in nodeFuncs.h.
            let part: unsafe extern "C-unwind" fn() -> *mut pg_sys::Node = std::mem::transmute(part);
            pg_sys::expression_tree_mutator(node, Some(part), context)
        }
        #[cfg(not(feature = "pg15"))]
        pg_sys::expression_tree_mutator_impl(node, Some(part), context)
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

/// The function of an operator. Until the plan is finished there may be none in the node (negate_clause() of prepqual.c).
///
/// # Safety
/// An operator of the catalogs.
pub unsafe fn operator_function(op: &pg_sys::OpExpr) -> pg_sys::Oid {
    match op.opfuncid {
        // SAFETY: looks the operator up.
        pg_sys::InvalidOid => unsafe { pg_sys::get_opcode(op.opno) },
        function => function,
    }
}

/// The same of an operator between a value and those of an array.
///
/// # Safety
/// As there.
pub unsafe fn array_operator_function(op: &pg_sys::ScalarArrayOpExpr) -> pg_sys::Oid {
    match op.opfuncid {
        // SAFETY: looks the operator up.
        pg_sys::InvalidOid => unsafe { pg_sys::get_opcode(op.opno) },
        function => function,
    }
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
