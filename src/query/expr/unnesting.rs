//! The functions that a scan unnests by.

use super::path::{call_of, path_of};
use super::tree::rewrite;
use crate::pg::expr::{PlaceHolderVar, Var};
use crate::pg::node::Node;
use crate::pg::parse::{RangeTblEntry, RangeTblFunction};
use amax_format::{Parts, PathStep};
use pgrx::pg_sys;

/// A function in FROM that takes arrays or objects apart.
#[derive(Clone, Copy)]
pub struct Unnesting {
    pub relation: pg_sys::Index,
    function: u32,
}

/// What a column of its result is; a further one is the ordinality.
pub enum Column {
    Key,
    Value,
}

impl Unnesting {
    /// By this function; None if it does something else.
    pub fn by(relation: pg_sys::Index, function: u32) -> Option<Unnesting> {
        let found = Unnesting { relation, function };
        (!found.columns().is_empty()).then_some(found)
    }

    pub fn parts(self) -> Parts {
        match self.function {
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT => Parts::Elements,
            _ => Parts::Fields,
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self.function {
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT => &[Column::Value],
            pg_sys::F_JSONB_EACH | pg_sys::F_JSONB_EACH_TEXT => &[Column::Key, Column::Value],
            pg_sys::F_JSONB_OBJECT_KEYS => &[Column::Key],
            _ => &[],
        }
    }
}

/// The expression without the PlaceHolderVars in it.
pub fn bare(node: &Node) -> &Node {
    rewrite(node, &mut |node| Some(bare(node.as_a::<PlaceHolderVar>()?.phexpr()?)))
}

/// The relation of the documents that relation `function` takes apart, if it does no more.
pub fn unnests(function: pg_sys::Index, rte: &RangeTblEntry) -> Option<(pg_sys::Index, Unnesting)> {
    let calls = rte.functions();
    if rte.rtekind() != pg_sys::RTEKind::RTE_FUNCTION || calls.len() != 1 {
        return None;
    }
    unnested_by(calls.get(0)?.as_a::<RangeTblFunction>()?.funcexpr()?, function)
}

/// The relation of the documents that a call takes apart: jsonb_array_elements[_text], jsonb_each[_text] or
/// jsonb_object_keys of a path by keys, or of a whole document or element.
pub fn unnested_by(call: &Node, relation: pg_sys::Index) -> Option<(pg_sys::Index, Unnesting)> {
    let (function, args) = call_of(call)?;
    let by = Unnesting::by(relation, function)?;
    let array = bare(args[0]);
    let base = std::cell::Cell::new(0);
    let path = path_of(array, &|var| {
        base.set(var.relation());
        true
    });
    if let Some(path) = path {
        let keys = path.steps.iter().all(|s| matches!(s, PathStep::Key(_)));
        return (keys && !path.text).then(|| (base.get(), by));
    }
    let var = array.as_a::<Var>()?;
    (var.varattno() > 0 && var.varlevelsup() == 0 && var.vartype() == pg_sys::JSONBOID).then(|| (var.relation(), by))
}
