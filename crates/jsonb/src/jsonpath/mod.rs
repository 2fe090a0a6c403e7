//! SQL/JSON paths, as `jsonpath_out` writes them.

mod condition;
mod shape;
mod variables;

pub use condition::{Comparison, Condition, Finds, Literal, Sought, Step};
pub use shape::Shape;
pub use variables::with_variables;

use crate::{Value, json, root};

/// The string literal that a text begins with, and what follows it.
fn string(text: &str) -> Option<(Vec<u8>, &str)> {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })? + 2;
    match root(&json::parse(&text[..end]).ok()?).ok()? {
        Value::String(key) => Some((key.to_vec(), &text[end..])),
        _ => None,
    }
}
