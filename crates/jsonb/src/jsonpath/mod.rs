//! SQL/JSON paths, as `jsonpath_out` writes them.

mod condition;
mod shape;
mod variables;

pub use condition::{Comparison, Condition, Finds, Literal, Sought, Step};
pub use shape::Shape;
pub use variables::with_variables;

use crate::{Value, json, root};

/// The keys to the objects that a lax path takes apart: `$."a"."b".keyvalue()`, with or without a filter for objects before it.
/// `None` if it does something else.
#[must_use]
pub fn pairs_at(path: &str) -> Option<Vec<Vec<u8>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut keys = Vec::new();
    while let Some(key) = rest.strip_prefix('.').filter(|key| key.starts_with('"')) {
        let (key, behind) = string(key)?;
        keys.push(key);
        rest = behind;
    }
    let rest = rest.strip_prefix("?(@.type() == \"object\")").unwrap_or(rest);
    (rest == ".keyvalue()").then_some(keys)
}

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

#[cfg(test)]
mod tests {
    use super::pairs_at;

    #[test]
    fn paths_that_take_objects_apart() {
        let keys = |keys: &[&str]| Some(keys.iter().map(|key| key.as_bytes().to_vec()).collect::<Vec<_>>());
        let paths = [
            ("$.keyvalue()", keys(&[])),
            (r#"$."a"."b c".keyvalue()"#, keys(&["a", "b c"])),
            (r#"$."a\"b"?(@.type() == "object").keyvalue()"#, keys(&["a\"b"])),
            (r#"$."a".keyvalue().key"#, None),
            (r#"$."a"[*].keyvalue()"#, None),
            (r#"$."a"?(@.type() == "array").keyvalue()"#, None),
            (r#"$."a"?(@.type() == "object")?(@."b" == 1).keyvalue()"#, None),
            (r#"strict $."a".keyvalue()"#, None),
            (r#"$."a""#, None),
            (r#"$"a".keyvalue()"#, None),
        ];
        for (path, expected) in paths {
            assert_eq!(pairs_at(path), expected, "{path}");
        }
    }
}
