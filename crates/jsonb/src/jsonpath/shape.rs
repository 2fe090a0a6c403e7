//! What SQL/JSON paths look at: the least that a document has to have for them.

use super::string;

/// Expressions within others. What has more is not looked into.
const DEEPEST: usize = 64;
/// Keys of a path. What has more is not looked into.
const MOST_KEYS: usize = 256;

/// What is looked at of a value, and of the elements of an array, as if each were in its place, and of the elements of those: which
/// containers and which elements there are, scalars, and of objects some keys. Whether a key that is looked at is there counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// All of it.
    pub whole: bool,
    /// Otherwise these keys, in the order in which they were met.
    pub keys: Vec<(Vec<u8>, Shape)>,
    /// Of an object that is a whole document, nobody looks at these keys.
    pub without: Vec<Vec<u8>>,
}

impl Shape {
    /// What a path, as `jsonpath_out` writes it, looks at. `values`: its results are values, and not only whether there are any. In
    /// strict mode, too: what raises errors there is seen. `None` if that is all, if places in the document matter (`.keyvalue()`), or if it is not known.
    #[must_use]
    pub fn of_path(path: &str, values: bool) -> Option<Self> {
        let mut parser = Parser {
            rest: path.strip_prefix("strict ").unwrap_or(path),
            root: Self::default(),
            depth: 0,
            keys: 0,
        };
        parser.expression(&None, values)?;
        let is_all = !parser.rest.is_empty() || parser.root.whole;
        (!is_all).then_some(parser.root)
    }

    /// The same of what is at a key.
    #[must_use]
    pub fn below(self, key: Vec<u8>) -> Self {
        Self {
            keys: vec![(key, self)],
            ..Self::default()
        }
    }

    /// All that is at these keys, one below the other, is looked at as well.
    pub fn add(&mut self, keys: impl IntoIterator<Item = Vec<u8>>) {
        let mut at = self;
        for key in keys {
            if at.whole {
                return;
            }
            at = at.below_key(&key);
        }
        *at = Self {
            whole: true,
            ..Self::default()
        };
    }

    fn below_key(&mut self, key: &[u8]) -> &mut Self {
        let known = self.keys.iter().position(|(known, _)| known == key);
        let at = known.unwrap_or_else(|| {
            self.keys.push((key.to_vec(), Self::default()));
            self.keys.len() - 1
        });
        &mut self.keys[at].1
    }

    /// All of a document but some keys.
    #[must_use]
    pub fn without(keys: Vec<Vec<u8>>) -> Self {
        Self {
            whole: true,
            without: keys,
            ..Self::default()
        }
    }

    fn at(&mut self, place: &[Vec<u8>]) -> &mut Self {
        let mut at = self;
        for key in place {
            at = at.below_key(key);
        }
        at
    }
}

/// Keys from the root; `None`: not in the document, or in what is looked at as a whole.
type Place = Option<Vec<Vec<u8>>>;

struct Parser<'a> {
    rest: &'a str,
    root: Shape,
    depth: usize,
    keys: usize,
}

impl Parser<'_> {
    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Up to a bracket that ends it, or the end. `current` is what `@` is.
    fn expression(&mut self, current: &Place, values: bool) -> Option<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        while let Some(&first) = self.rest.as_bytes().first() {
            match first {
                b')' | b']' => break,
                b'$' if self.rest.starts_with("$\"") => {
                    self.rest = string(&self.rest[1..])?.1;
                    self.accessors(None, current, false)?;
                }
                b'$' => {
                    self.rest = &self.rest[1..];
                    self.accessors(Some(Vec::new()), current, values)?;
                }
                b'@' => {
                    self.rest = &self.rest[1..];
                    self.accessors(current.clone(), current, values)?;
                }
                b'"' => {
                    self.rest = string(self.rest)?.1;
                    self.is_alone()?;
                }
                b'(' => {
                    self.rest = &self.rest[1..];
                    self.expression(current, values)?;
                    if !self.eat(")") {
                        return None;
                    }
                    self.is_alone()?;
                }
                b'0'..=b'9' => {
                    let is_part = |c: char| c.is_ascii_digit() || c == '.';
                    self.rest = self.rest.trim_start_matches(is_part);
                }
                b'a'..=b'z' => {
                    let end = self.rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
                    let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                    self.rest = rest;
                    match word {
                        "exists" => {
                            if !self.eat(" (") {
                                return None;
                            }
                            self.expression(current, false)?;
                            if !self.eat(")") {
                                return None;
                            }
                        }
                        "true" | "false" | "null" | "last" | "to" | "is" | "unknown" | "starts" | "with"
                        | "like_regex" | "flag" => {}
                        _ => return None,
                    }
                    self.is_alone()?;
                }
                b' ' | b',' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' => {
                    self.rest = &self.rest[1..];
                }
                _ => return None,
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// What follows is no accessor: those of literals and of results are not looked into.
    fn is_alone(&self) -> Option<()> {
        (!self.rest.starts_with(['.', '[', '?'])).then_some(())
    }

    /// Of a place, and what becomes of the values there.
    fn accessors(&mut self, mut place: Place, current: &Place, values: bool) -> Option<()> {
        loop {
            if self.rest.starts_with(".\"") {
                let (key, rest) = string(&self.rest[1..])?;
                self.rest = rest;
                self.keys += 1;
                if self.keys > MOST_KEYS {
                    return None;
                }
                if let Some(place) = &mut place {
                    place.push(key);
                    self.root.at(place);
                }
            } else if self.eat(".**") {
                self.whole(&place.take());
                if self.eat("{") {
                    let (_, rest) = self.rest.split_once('}')?;
                    self.rest = rest;
                }
            } else if self.eat(".*") {
                self.whole(&place.take());
            } else if self.eat("[") {
                self.expression(current, false)?;
                if !self.eat("]") {
                    return None;
                }
            } else if self.eat("?(") {
                // Operands are scalars: whatever is in a container, it is not comparable, and no number or string.
                self.expression(&place, false)?;
                if !self.eat(")") {
                    return None;
                }
            } else if self.eat(".") {
                let (method, rest) = self.rest.split_once('(')?;
                self.rest = rest;
                let known = matches!(
                    method,
                    "type" | "size" | "abs" | "floor" | "ceiling" | "double" | "datetime"
                );
                if self.rest.starts_with('"') {
                    self.rest = string(self.rest)?.1;
                }
                if !known || !self.eat(")") {
                    return None;
                }
                // They are about scalars, and kinds and lengths of others.
                place = None;
            } else {
                break;
            }
        }
        if values {
            self.whole(&place);
        }
        Some(())
    }

    fn whole(&mut self, place: &Place) {
        if let Some(place) = place {
            self.root.at(place).whole = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a{b,c}`: keys; `*`: all of it.
    fn shown(shape: &Shape) -> String {
        if shape.whole {
            return "*".to_string();
        }
        let keys = shape.keys.iter();
        let keys: Vec<String> = keys
            .map(|(key, shape)| match shown(shape) {
                below if below.is_empty() => String::from_utf8_lossy(key).into_owned(),
                below => format!("{}{{{below}}}", String::from_utf8_lossy(key)),
            })
            .collect();
        keys.join(",")
    }

    fn of(path: &str, values: bool) -> Option<String> {
        Shape::of_path(path, values).map(|shape| shown(&shape))
    }

    #[test]
    fn keys_below_each_root() {
        for (path, values, exists) in [
            (r#"$."a"."b"[*]?(@."c" > $."d")"#, "a{b{*}},d", "a{b{c}},d"),
            (r#"($."x \"$\u0031" == "$.\"k")"#, "x \"$1{*}", "x \"$1"),
            (r#"strict $."k".type()"#, "k", "k"),
            (r#"$."a"[*].size()"#, "a", "a"),
            (r#"$."a".*?(@."b" == 1)"#, "a{*}", "a{*}"),
            (r#"$."a".**{1 to last}."b""#, "a{*}", "a{*}"),
            (r#"$[*]."a"[last - 1,$."n" to 3]"#, "a{*},n", "a,n"),
            (
                r#"$?(@."a" == $"x" && exists (@."b"[0]?(@."c" like_regex "^a" flag "i")))."d""#,
                "a,b{c},d{*}",
                "a,b{c},d",
            ),
            (
                r#"$."a"?(($."b" + 1.5 > @."c".double()) is unknown || !(@ starts with "x"))"#,
                "a{*},b",
                "a{c},b",
            ),
        ] {
            assert_eq!(of(path, true).as_deref(), Some(values), "{path}");
            assert_eq!(of(path, false).as_deref(), Some(exists), "{path}");
        }
    }

    #[test]
    fn what_is_not_known() {
        for path in [
            "$",
            "$.*",
            r#"$[*].*"#,
            r#"$."a".keyvalue()"#,
            r#"$."a".other()"#,
            r#"($."a" + 1).abs()"#,
            r#"$."a" == 1)"#,
        ] {
            assert_eq!(of(path, true), None, "{path}");
        }
        let nested = |depth| "(".repeat(depth) + r#"$."a" == 1"# + &")".repeat(depth);
        assert!(of(&nested(DEEPEST - 1), true).is_some());
        assert!(of(&nested(DEEPEST), true).is_none());
        let long = |keys| format!("$.{}", vec![r#""a""#; keys].join("."));
        assert!(of(&long(MOST_KEYS), false).is_some());
        assert!(of(&long(MOST_KEYS + 1), false).is_none());
        // A variable is not in the document.
        assert_eq!(of(r#"$."a" == $"x"."y"?(@."z" == 1)"#, false).as_deref(), Some("a"));
    }
}
