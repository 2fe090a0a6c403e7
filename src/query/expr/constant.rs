//! The values of constants in expressions.

use crate::pg::datum::{elements, varlena};
use crate::pg::expr::Const;
use crate::pg::node::Node;
use pgrx::pg_sys;
use pgrx::pg_sys::Datum;

/// One that is not NULL.
pub fn value(node: &Node) -> Option<Datum> {
    node.as_a::<Const>()?.value()
}

/// One of a type that is not NULL.
pub fn constant(node: &Node, ty: pg_sys::Oid) -> Option<Datum> {
    node.as_a::<Const>().filter(|c| c.consttype() == ty)?.value()
}

/// A whole number of 64 bits.
pub fn integer(node: &Node) -> Option<i64> {
    constant(node, pg_sys::INT8OID).map(|value| value.value() as i64)
}

/// The bytes of a text.
pub fn bytes(node: &Node) -> Option<&[u8]> {
    // SAFETY: a text.
    constant(node, pg_sys::TEXTOID).map(|value| unsafe { varlena(value) })
}

pub fn text(node: &Node) -> Option<Vec<u8>> {
    bytes(node).map(<[u8]>::to_vec)
}

/// Texts of an array, each None if NULL.
pub fn texts(node: &Node) -> Option<Vec<Option<Vec<u8>>>> {
    let array = constant(node, pg_sys::TEXTARRAYOID)?;
    // SAFETY: an array of texts.
    let elements = unsafe { elements(array, pg_sys::TEXTOID) };
    // SAFETY: a text that is not NULL.
    let text = |(value, null): (Datum, bool)| (!null).then(|| unsafe { varlena(value) }.to_vec());
    Some(elements.into_iter().map(text).collect())
}

/// The payload of a document.
pub fn json(node: &Node) -> Option<&[u8]> {
    // SAFETY: jsonb.
    constant(node, pg_sys::JSONBOID).map(|value| unsafe { varlena(value) })
}

/// An interval.
pub fn interval(node: &Node) -> Option<&pg_sys::Interval> {
    // SAFETY: an interval, which lives as long as its constant.
    constant(node, pg_sys::INTERVALOID).map(|value| unsafe { &*value.cast_mut_ptr::<pg_sys::Interval>() })
}
