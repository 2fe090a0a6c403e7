//! What SQL/JSON paths look at: `doc @? '$.a.b[*] ? (@.c > $.d)'` needs `a.b` and `d` of a document, and nothing else.

use super::condition::text_of;
use super::constant::value;
use super::path::{attribute_of, call_of};
use crate::pg::expr::Var;
use crate::pg::node::Node;
use amax_jsonb::jsonpath::looked_at;
use pgrx::pg_sys;

/// A call of an SQL/JSON path function on a document, with a constant path: the document's attribute, and the keys that
/// lead to what the path looks at. Only lax paths: strict ones raise errors about what is missing.
pub fn jsonpath_of(node: &Node, is_base: &dyn Fn(&Var) -> bool) -> Option<(i16, Vec<Vec<Vec<u8>>>)> {
    let (function, args) = call_of(node)?;
    let known = matches!(
        function,
        pg_sys::F_JSONB_PATH_EXISTS_OPR
            | pg_sys::F_JSONB_PATH_MATCH_OPR
            | pg_sys::F_JSONB_PATH_EXISTS
            | pg_sys::F_JSONB_PATH_MATCH
            | pg_sys::F_JSONB_PATH_QUERY_FIRST
            | pg_sys::F_JSONB_PATH_QUERY_ARRAY
    );
    let (base, rest) = args.split_first().filter(|_| known)?;
    let attribute = attribute_of(base, is_base)?;
    let constant = rest.iter().all(|node| value(node).is_some());
    let path = rest.first().filter(|_| constant)?;
    Some((attribute, looked_at(text_of(path)?)?))
}
