//! SQL/JSON paths, as `jsonpath_out` writes them.

mod condition;

pub use condition::{Comparison, Condition, Finds, Literal, Sought, Step};

use crate::{Value, json, root};

/// The keys that lead from a document's root to all that a lax path looks at: those after each `$`. `None` if a `$` has
/// none, if positions in the document matter (`.keyvalue()`), or if the path is strict, because then what is missing
/// matters.
#[must_use]
pub fn looked_at(path: &str) -> Option<Vec<Vec<Vec<u8>>>> {
    if path.starts_with("strict") {
        return None;
    }
    let mut found = Vec::new();
    let mut rest = path;
    while let Some(at) = rest.find(['$', '"', 'k']) {
        match rest.as_bytes()[at] {
            b'"' => rest = string(&rest[at..])?.1,
            b'k' if rest[at..].starts_with("keyvalue") => return None,
            b'k' => rest = &rest[at + 1..],
            _ => {
                rest = &rest[at + 1..];
                let mut keys = Vec::new();
                while rest.starts_with(".\"") {
                    let (key, after) = string(&rest[1..])?;
                    keys.push(key);
                    rest = after;
                }
                if keys.is_empty() {
                    return None;
                }
                found.push(keys);
            }
        }
    }
    (!found.is_empty()).then_some(found)
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
    use super::looked_at;

    #[test]
    fn keys_after_each_root() {
        let keys = |path| {
            looked_at(path).map(|found| {
                found
                    .into_iter()
                    .map(|keys| String::from_utf8(keys.join(&b'/')).expect("UTF-8"))
                    .collect::<Vec<_>>()
            })
        };
        let is = |list: &[&str]| Some(list.iter().map(|s| (*s).to_string()).collect::<Vec<_>>());
        assert_eq!(keys(r#"$."a"."b"[*]?(@."c" > $."d")"#), is(&["a/b", "d"]));
        assert_eq!(keys(r#"($."x \"$\u0031" == "$.\"k")"#), is(&["x \"$1"]));
        assert_eq!(keys(r#"$."k".type()"#), is(&["k"]));
        for path in [
            "$",
            "$.*",
            r#"$[*]."a""#,
            r#"strict $."a""#,
            r#"$."a".keyvalue()"#,
            r#"$."a" == $"variable""#,
            "1",
        ] {
            assert_eq!(keys(path), None, "{path}");
        }
    }
}
