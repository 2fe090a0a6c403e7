//! Walking and changing expression trees.
//!
//! PostgreSQL's walkers are asked for the parts of one node at a time, and what they call only collects those. So no code
//! of ours runs below them, an error raised there has no frame of ours to cross, and a deep tree takes no stack.

use crate::pg::node::{Node, Nodes};
use crate::pg::parse::Query;
use pgrx::prelude::*;
use std::ffi::c_void;

/// Calls `visit` for a node and those below, in order; where it says false, what is below is left out.
pub fn walk<'a>(node: &'a Node, visit: &mut dyn FnMut(&'a Node) -> bool) {
    let mut left = vec![node];
    while let Some(node) = left.pop() {
        if visit(node) {
            let before = left.len();
            let parts: *mut Vec<&Node> = &mut left;
            // SAFETY: a well-formed tree; the context is what the callback takes it for.
            unsafe { pg_sys::expression_tree_walker(node.raw(), Some(collect_part), parts.cast()) };
            left[before..].reverse();
        }
    }
}

/// The same for all nodes of a list, and for none if there is no list.
pub fn walk_all<'a>(nodes: Nodes<'a>, visit: &mut dyn FnMut(&'a Node) -> bool) {
    if let Some(list) = nodes.as_node() {
        walk(list, visit);
    }
}

/// Whether `is` is true of a node or of one below it.
pub fn any<'a>(node: &'a Node, mut is: impl FnMut(&'a Node) -> bool) -> bool {
    let mut found = false;
    walk(node, &mut |node| {
        found = found || is(node);
        !found
    });
    found
}

/// Adds a node to the vector that `parts` points to.
///
/// # Safety
/// As [`walk`] calls it.
#[pg_guard]
unsafe extern "C-unwind" fn collect_part(node: *mut pg_sys::Node, parts: *mut c_void) -> bool {
    // SAFETY: as the caller promises.
    unsafe { (*parts.cast::<Vec<&Node>>()).extend(Node::of_any(node)) };
    false
}

/// A copy of the tree in which `change` has replaced what it wants to.
pub fn rewrite<'a>(node: &'a Node, change: &mut dyn FnMut(&'a Node) -> Option<&'a Node>) -> &'a Node {
    /// A node some of whose parts have been rewritten.
    struct Begun<'a> {
        node: &'a Node,
        parts: Vec<&'a Node>,
        rewritten: usize,
    }
    let mut begun: Vec<Begun> = Vec::new();
    let mut next = node;
    loop {
        let mut done = match change(next) {
            Some(other) => other,
            None => {
                let mut parts = Vec::new();
                let copy = mutate(next, list_part, &mut parts);
                if let Some(&first) = parts.first() {
                    // It was only made to see the parts.
                    free_alone(copy);
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
            // The parts come in the order in which they were listed.
            done = mutate(above.node, next_part, &mut above.parts);
            begun.pop();
        }
    }
}

/// The same for all nodes of a list.
pub fn rewrite_all<'a>(nodes: Nodes<'a>, change: &mut dyn FnMut(&'a Node) -> Option<&'a Node>) -> Nodes<'a> {
    Nodes::of_node(nodes.as_node().map(|list| rewrite(list, change)))
}

/// The same for the expressions of a query, but for those of its subqueries.
pub fn rewrite_query<'a>(query: &'a Query, change: &mut dyn FnMut(&'a Node) -> Option<&'a Node>) -> &'a Query {
    let mut parts = Vec::new();
    mutate_query(query, list_part, &mut parts);
    for part in parts.iter_mut().filter(|part| !part.is_a::<Query>()) {
        *part = rewrite(part, change);
    }
    parts.reverse();
    mutate_query(query, next_part, &mut parts)
}

/// Frees a list or another node by itself, which nobody else knows.
fn free_alone(node: &Node) {
    // SAFETY: as said.
    unsafe {
        match node.tag() {
            pg_sys::NodeTag::T_List => pg_sys::list_free(node.raw().cast()),
            _ => pg_sys::pfree(node.raw().cast()),
        }
    }
}

/// Lists a part of a node that is copied, which keeps it.
///
/// # Safety
/// As [`mutate`] has it called.
#[pg_guard]
unsafe extern "C-unwind" fn list_part(node: *mut pg_sys::Node, parts: *mut c_void) -> *mut pg_sys::Node {
    // SAFETY: as the caller promises.
    unsafe { (*parts.cast::<Vec<&Node>>()).extend(Node::of_any(node)) };
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
    let part = unsafe { (*parts.cast::<Vec<&Node>>()).pop() };
    part.expect("a node has the same parts when it is looked at again")
        .raw()
}

type Part = unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> *mut pg_sys::Node;

/// A copy of the node alone, with what `part`, which is content with these parts, returns for each of its parts.
fn mutate<'a>(node: &Node, part: Part, parts: &mut Vec<&'a Node>) -> &'a Node {
    let context = (parts as *mut Vec<_>).cast();
    // SAFETY: a well-formed tree; the context is what the callback takes it for.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            // Declared without arguments in nodeFuncs.h.
            let part: unsafe extern "C-unwind" fn() -> *mut pg_sys::Node = std::mem::transmute(part);
            Node::of(pg_sys::expression_tree_mutator(node.raw(), Some(part), context))
        }
        #[cfg(not(feature = "pg15"))]
        Node::of(pg_sys::expression_tree_mutator_impl(node.raw(), Some(part), context))
    }
}

/// The same of a query.
fn mutate_query<'a>(query: &Query, part: Part, parts: &mut Vec<&'a Node>) -> &'a Query {
    let context = (parts as *mut Vec<_>).cast();
    // SAFETY: as above.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            let part: unsafe extern "C-unwind" fn() -> *mut pg_sys::Node = std::mem::transmute(part);
            Query::of(pg_sys::query_tree_mutator(query.raw(), Some(part), context, 0))
        }
        #[cfg(not(feature = "pg15"))]
        Query::of(pg_sys::query_tree_mutator_impl(query.raw(), Some(part), context, 0))
    }
}

/// Whether one of these is the same expression.
pub fn has(nodes: &[&Node], node: &Node) -> bool {
    nodes.iter().any(|known| known.equals(node))
}
