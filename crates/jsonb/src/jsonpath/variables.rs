//! Variables of SQL/JSON paths.

use super::string;
use crate::{Container, Value, json};

/// The path, as `jsonpath_out` writes it, with literals in place of its variables; `None` if one of them is not there, which is an
/// error, or is no scalar.
#[must_use]
pub fn with_variables(path: &str, variables: Container<'_>) -> Option<String> {
    let mut found = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find(['$', '"']) {
        let (before, from) = rest.split_at(at);
        found.push_str(before);
        if !from.starts_with("$\"") {
            let length = match from.starts_with('"') {
                true => from.len() - string(from)?.1.len(),
                false => 1,
            };
            found.push_str(&from[..length]);
            rest = &from[length..];
            continue;
        }
        let (name, after) = string(&from[1..])?;
        let value = variables.get(&name).ok()??;
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            return None;
        }
        let mut text = Vec::new();
        json::write_text(value, &mut text).ok()?;
        found.push_str(std::str::from_utf8(&text).ok()?);
        rest = after;
    }
    found.push_str(rest);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn literals_take_the_place_of_variables() {
        let variables = json::parse(r#"{"x": "a\"$", "n": -1.50, "none": null, "list": [1]}"#).expect("JSON");
        let Ok(Value::Object(variables)) = root(&variables) else {
            panic!("an object");
        };
        let of = |path| with_variables(path, variables);
        assert_eq!(
            of(r#"$."a"?(@ == $"x" || $."$\"x" > $"n" && @ != $"none")"#).as_deref(),
            Some(r#"$."a"?(@ == "a\"$" || $."$\"x" > -1.50 && @ != null)"#)
        );
        assert_eq!(of(r#"$."$\"x\"""#).as_deref(), Some(r#"$."$\"x\"""#));
        assert_eq!(of(r#"($."a" == $"y")"#), None);
        assert_eq!(of(r#"($."a" == $"list")"#), None);
    }
}
