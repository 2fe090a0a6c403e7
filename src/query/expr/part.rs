//! Expressions over a part of a document: what they look at.

use super::constant::{text, texts};
use super::jsonpath::jsonpath_of;
use super::path::{attribute_of, call_of};
use crate::pg::expr::{FuncExpr, Var};
use crate::pg::node::Node;
use amax_jsonb::jsonpath::Shape;
use pgrx::pg_sys;

/// The document's attribute and what an expression looks at of it, if that is known and not all.
pub fn part_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<(i16, Shape)> {
    jsonpath_of(node, is_base)
        .or_else(|| known_part(node, is_base))
        .or_else(|| {
            let mut keys = Vec::new();
            let attribute = without(node, is_base, &mut keys)?;
            (!keys.is_empty()).then(|| (attribute, Shape::without(keys)))
        })
}

/// A call of ours, whose result is its first argument: which keys of that are looked at is said by the second, key by key, with NULL between paths.
pub fn known_part(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<(i16, Shape)> {
    let call = node.as_a::<FuncExpr>().filter(|call| call.is_marked())?;
    let &[document, paths] = &call.args().to_vec()[..] else {
        return None;
    };
    let attribute = attribute_of(document, is_base)?;
    let mut shape = Shape::default();
    for path in texts(paths)?.split(Option::is_none) {
        shape.add(path.iter().flatten().cloned());
    }
    Some((attribute, shape))
}

/// The document that keys are taken from: `doc - 'a' - '{b,c}'`. They need not be there for what remains.
fn without(node: &Node, is_base: &dyn Fn(&Var) -> bool, keys: &mut Vec<Vec<u8>>) -> Option<i16> {
    if let Some(attribute) = attribute_of(node, is_base) {
        return Some(attribute);
    }
    let (function, args) = call_of(node)?;
    let &[from, taken] = &args[..] else {
        return None;
    };
    match function {
        pg_sys::F_JSONB_DELETE_JSONB_TEXT => keys.push(text(taken)?),
        pg_sys::F_JSONB_DELETE_JSONB__TEXT => keys.extend(texts(taken)?.into_iter().flatten()),
        _ => return None,
    }
    without(from, is_base, keys)
}
