//! What SQL/JSON paths look at: `doc @? '$.a.b[*] ? (@.c > $.d)'` needs `c` of what is in `a.b`, and `d` of a document, and nothing else.

use super::condition::{Asked, asked_by, text_of};
use super::constant::value;
use super::path::{attribute_of, call_of, path_of};
use crate::pg::expr::Var;
use crate::pg::node::Node;
use amax_format::PathStep;
use amax_jsonb::jsonpath::Shape;

/// A call of an SQL/JSON path function on a document, or on what is at a path in one, with a constant path: the document's attribute,
/// and what is looked at of it.
pub fn jsonpath_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<(i16, Shape)> {
    let (function, args) = call_of(node)?;
    // Of other results than values it only matters what scalars there are.
    let values = matches!(asked_by(function)?, Asked::First | Asked::All);
    let (base, rest) = args.split_first()?;
    let (attribute, steps) = match attribute_of(base, is_base) {
        Some(attribute) => (attribute, Vec::new()),
        None => path_of(base, is_base).map(|path| (path.attribute, path.steps))?,
    };
    let constant = rest.iter().all(|node| value(node).is_some());
    let path = rest.first().filter(|_| constant)?;
    let mut shape = Shape::of_path(text_of(path)?, values)?;
    for step in steps.into_iter().rev() {
        shape = match step {
            PathStep::Key(key) => shape.below(key),
            // Elements are as what is in the array's place.
            PathStep::Item(_) | PathStep::Index(_) => shape,
            PathStep::KeyOrIndex(..) => return None,
        };
    }
    Some((attribute, shape))
}
