//! The functions that a scan unnests by.

use super::condition::text_of;
use super::constant::{json, value};
use super::path::{JsonPath, call_of, path_of};
use super::tree::{rewrite, walk};
use crate::pg::expr::{PlaceHolderVar, Var};
use crate::pg::node::Node;
use crate::pg::parse::{RangeTblEntry, RangeTblFunction};
use amax_format::{Parts, PathStep};
use amax_jsonb::Value;
use amax_jsonb::jsonpath::pairs_at;
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
    /// An object of both, and a number that depends on where it is in its document.
    Pair,
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
            pg_sys::F_JSONB_PATH_QUERY => Parts::Pairs,
            _ => Parts::Fields,
        }
    }

    pub fn columns(self) -> &'static [Column] {
        match self.function {
            pg_sys::F_JSONB_ARRAY_ELEMENTS | pg_sys::F_JSONB_ARRAY_ELEMENTS_TEXT => &[Column::Value],
            pg_sys::F_JSONB_EACH | pg_sys::F_JSONB_EACH_TEXT => &[Column::Key, Column::Value],
            pg_sys::F_JSONB_OBJECT_KEYS => &[Column::Key],
            pg_sys::F_JSONB_PATH_QUERY => &[Column::Pair],
            _ => &[],
        }
    }

    /// A path from a row of its result, if that is in columns: one from a field's value.
    pub fn path(self, path: JsonPath) -> Option<JsonPath> {
        if self.parts() != Parts::Pairs {
            return Some(path);
        }
        let (first, rest) = path.steps.split_first()?;
        let steps = rest.to_vec();
        (*first == PathStep::Key(VALUE.to_vec())).then_some(JsonPath { steps, ..path })
    }

    /// Whether a path from a row of its result is a field's key.
    pub fn is_key(self, path: &JsonPath) -> bool {
        self.parts() == Parts::Pairs && path.text && path.steps == [PathStep::Key(KEY.to_vec())]
    }

    /// Whether nothing of its result is read in an expression but what is in columns.
    pub fn knows_all(self, expression: &Node) -> bool {
        let is_ours = |var: &Var| var.relation() == self.relation && var.varlevelsup() == 0;
        let reads_other = |node: &Node| node.as_a::<Var>().is_some_and(is_ours);
        let mut knows = true;
        walk(expression, &mut |node| {
            let path = path_of(node, &is_ours);
            let is_known = path.is_some_and(|path| self.is_key(&path) || self.path(path).is_some());
            knows &= is_known || !reads_other(node);
            !is_known
        });
        knows
    }
}

/// The keys of what `keyvalue()` gives.
const KEY: &[u8] = b"key";
const VALUE: &[u8] = b"value";

/// The keys from a call's argument to the objects that it takes apart; None if it is another function.
pub fn keys_to_pairs(call: &Node) -> Option<Vec<Vec<u8>>> {
    let (function, args) = call_of(call)?;
    let &[_, path, variables, silent] = &args[..] else {
        return None;
    };
    value(silent)?;
    // Other variables are an error.
    match (function, amax_jsonb::root(json(variables)?)) {
        (pg_sys::F_JSONB_PATH_QUERY, Ok(Value::Object(_))) => pairs_at(text_of(path)?),
        _ => None,
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

/// The relation of the documents that a call takes apart: jsonb_array_elements[_text], jsonb_each[_text],
/// jsonb_object_keys, or jsonb_path_query with keyvalue(), of a path by keys, or of a whole document or element.
pub fn unnested_by(call: &Node, relation: pg_sys::Index) -> Option<(pg_sys::Index, Unnesting)> {
    let (function, args) = call_of(call)?;
    let by = Unnesting::by(relation, function)?;
    if by.parts() == Parts::Pairs {
        keys_to_pairs(call)?;
    }
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
