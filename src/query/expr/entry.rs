//! What a scan hands out: the entries of its custom_scan_tlist, each a column of the leaf where it can be.

use super::guard::{guards, may_raise};
use super::jsonpath::jsonpath_of;
use super::path::{JsonPath, path_of, question_of};
use super::tree::{equal, is_a, nodes, walk};
use super::unnesting::{Column, Unnesting};
use crate::columnar::Keys;
use amax_format::Question;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;
use std::cell::{Cell, LazyCell};

/// How an entry's value is found in a row of the table.
pub enum Entry {
    /// In its own columns.
    Path(JsonPath),
    /// What a path's structure tells.
    Answer(JsonPath, Question),
    /// Evaluated over a part of a document.
    Part(i16, Keys),
    /// An attribute, from 1.
    Attribute(i16),
    /// An element's number in its array, from 1; of the arrays unnested at a level, from 1.
    Ordinality(usize),
    /// The key of a field, of the objects unnested at a level.
    Key(usize),
    /// Evaluated over the row: system columns, whole rows.
    Expression,
}

impl Entry {
    /// 0: of the row. n: of an element of the n-th arrays that the scan unnests.
    pub fn level(&self) -> usize {
        match self {
            Entry::Path(path) => path.level,
            Entry::Ordinality(level) | Entry::Key(level) => *level,
            Entry::Answer(..) | Entry::Part(..) | Entry::Attribute(_) | Entry::Expression => 0,
        }
    }
}

/// The entry that an expression is, given the functions that unnest.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn entry_of(expression: *mut pg_sys::Node, functions: &[Unnesting]) -> Entry {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let level_of = |var: &pg_sys::Var| {
            let at = functions.iter().position(|f| f.relation == var.varno as pg_sys::Index);
            at.map_or(0, |at| at + 1)
        };
        let level = Cell::new(0);
        let note = |var: &pg_sys::Var| {
            level.set(level_of(var));
            true
        };
        if let Some(path) = path_of(expression, &note) {
            let level = level.get();
            return Entry::Path(JsonPath { level, ..path });
        }
        if let Some((path, question)) = question_of(expression, &|_| true) {
            return Entry::Answer(path, question);
        }
        if let Some((attribute, keys)) = jsonpath_of(expression, &|_| true) {
            return Entry::Part(attribute, keys);
        }
        let var = expression as *mut pg_sys::Var;
        if is_a(expression, NodeTag::T_Var) && (*var).varattno > 0 {
            let (level, attribute) = (level_of(&*var), (*var).varattno);
            if level == 0 {
                return Entry::Attribute(attribute);
            }
            return match functions[level - 1].columns().get(attribute as usize - 1) {
                Some(Column::Value) => Entry::Path(JsonPath {
                    attribute,
                    steps: Vec::new(),
                    text: (*var).vartype == pg_sys::TEXTOID,
                    level,
                }),
                Some(Column::Key) => Entry::Key(level),
                None => Entry::Ordinality(level),
            };
        }
        Entry::Expression
    }
}

/// Adds the longest paths, what is asked about paths and the other variables of relation `relid` in `node` to `found`,
/// each once.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn collect(
    root: *mut pg_sys::PlannerInfo,
    node: *mut pg_sys::Node,
    relid: pg_sys::Index,
    found: &mut Vec<*mut pg_sys::Node>,
) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let is_ours = is_of(relid);
        let guards = LazyCell::new(|| guards(root));
        let asks = |node| {
            let asks = question_of(node, &is_ours).is_some() || jsonpath_of(node, &is_ours).is_some();
            asks && !(may_raise(node) && *guards)
        };
        collect_of(node, relid, &asks, found);
    }
}

/// The same of elements' relations, about whose paths nothing can be asked.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn collect_elements(node: *mut pg_sys::Node, relid: pg_sys::Index, found: &mut Vec<*mut pg_sys::Node>) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        collect_of(node, relid, &|_| false, found);
    }
}

/// What several expressions read of a relation; see [`collect`].
///
/// # Safety
/// Well-formed expression trees.
pub unsafe fn collected(
    root: *mut pg_sys::PlannerInfo,
    all: impl IntoIterator<Item = *mut pg_sys::Node>,
    relid: pg_sys::Index,
) -> Vec<*mut pg_sys::Node> {
    let mut found = Vec::new();
    for node in all {
        // SAFETY: as the caller promises.
        unsafe { collect(root, node, relid, &mut found) }
    }
    found
}

/// Whether what is collected is a whole document.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn is_document(node: *mut pg_sys::Node) -> bool {
    // SAFETY: as the caller promises.
    unsafe { is_a(node, NodeTag::T_Var) && pg_sys::exprType(node) == pg_sys::JSONBOID }
}

fn is_of(relid: pg_sys::Index) -> impl Fn(&pg_sys::Var) -> bool {
    move |var| var.varno as pg_sys::Index == relid && var.varlevelsup == 0
}
/// # Safety
/// A well-formed expression tree.
unsafe fn collect_of(
    node: *mut pg_sys::Node,
    relid: pg_sys::Index,
    asks: &dyn Fn(*mut pg_sys::Node) -> bool,
    found: &mut Vec<*mut pg_sys::Node>,
) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let is_ours = is_of(relid);
        walk(node, &mut |node| {
            let is_path = path_of(node, &is_ours).is_some() || asks(node);
            let is_var = is_a(node, NodeTag::T_Var) && is_ours(&*(node as *mut pg_sys::Var));
            if (is_path || is_var) && !found.iter().any(|&f| equal(f, node)) {
                found.push(node);
            }
            !is_path
        });
    }
}

/// Adds all variables of relation `relid` in `node` to `found`, each once.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn variables(node: *mut pg_sys::Node, relid: pg_sys::Index, found: &mut Vec<*mut pg_sys::Node>) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        walk(node, &mut |node| {
            let var = node as *mut pg_sys::Var;
            if is_a(node, NodeTag::T_Var)
                && (*var).varno as pg_sys::Index == relid
                && (*var).varlevelsup == 0
                && !found.iter().any(|&f| equal(f, node))
            {
                found.push(node);
            }
            true
        });
    }
}

/// A target list of the expressions.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn target_list(expressions: &[*mut pg_sys::Node]) -> *mut pg_sys::List {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        super::tree::list(expressions.iter().enumerate().map(|(i, &expression)| {
            let copy = pg_sys::copyObjectImpl(expression as _) as *mut pg_sys::Expr;
            pg_sys::makeTargetEntry(copy, i as i16 + 1, std::ptr::null_mut(), false)
        }))
    }
}

/// The expressions of a target list.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn expressions(target_list: *mut pg_sys::List) -> Vec<*mut pg_sys::Node> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        nodes(target_list)
            .into_iter()
            .map(|entry| (*(entry as *mut pg_sys::TargetEntry)).expr as *mut pg_sys::Node)
            .collect()
    }
}

/// The tree with the entries' expressions replaced by references to them, as setrefs.c does for a scan's own
/// expressions.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn over_entries(node: *mut pg_sys::Node, entries: &[*mut pg_sys::Node]) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        super::tree::rewrite(node, &mut |node| {
            let at = entries.iter().position(|&entry| equal(entry, node))?;
            let entry = entries[at];
            let var = pg_sys::makeVar(
                pg_sys::INDEX_VAR as _,
                at as i16 + 1,
                pg_sys::exprType(entry),
                pg_sys::exprTypmod(entry),
                pg_sys::exprCollation(entry),
                0,
            );
            Some(var as *mut pg_sys::Node)
        })
    }
}
