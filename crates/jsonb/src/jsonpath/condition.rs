//! SQL/JSON paths that are conditions on a document: whether a path finds something, or what a predicate says.

use super::string;
use crate::numeric::{self, Reduced};
use crate::{Value, json, root};

/// Conditions within others, and steps of all paths. What has more is not taken apart: whoever evaluates it calls himself.
const DEEPEST: usize = 64;
const MOST_STEPS: usize = 256;

/// What is true, false or unknown of a document, in lax mode. It raises no error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `&&`
    And(Box<[Condition; 2]>),
    /// `||`
    Or(Box<[Condition; 2]>),
    /// `!`
    Not(Box<Condition>),
    /// `is unknown`
    IsUnknown(Box<Condition>),
    /// True if one of the values that a path finds is as it is sought; unknown if none is, but of one that is unknown.
    Finds(Finds),
}

/// A path, and what it should find.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finds {
    /// It starts from `$`, not from `@`.
    pub from_root: bool,
    /// From there.
    pub steps: Vec<Step>,
    /// The value that is sought.
    pub sought: Sought,
}

/// A step of a path, from each of the values found before. Where a step takes anything but arrays, it is from an
/// array's elements, one level of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// `."key"`: of objects.
    Key(Vec<u8>),
    /// `[*]`: of arrays; anything else stays.
    Elements,
    /// `[n]`: of arrays; anything else is its own first element.
    Element(u32),
    /// `[last]`
    Last,
    /// `?(…)`: those of which the condition is true. `@` is each of them.
    Filter(Box<Condition>),
}

/// What a value should be like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sought {
    /// There: `exists`.
    Anything,
    /// To the left of a comparison with this.
    Compared(Comparison, Literal),
    /// A string that starts with this.
    Prefixed(Vec<u8>),
    /// Anything, to be taken: of a path whose values are wanted. Not of one in a filter.
    Taken,
}

/// `==` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A scalar in a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// Its payload, and what it is if it has few digits.
    Number(Vec<u8>, Option<Reduced>),
    /// Its bytes.
    String(Vec<u8>),
}

impl Comparison {
    /// Whether it holds of two values in this order.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// The same with its sides exchanged.
    fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

impl Condition {
    /// The condition that a predicate is (`@@`), as `jsonpath_out` writes it. `None` for other paths, strict ones, and what
    /// is not known here.
    #[must_use]
    pub fn of_predicate(path: &str) -> Option<Self> {
        Parser::new(path).whole(Parser::term)
    }

    /// That a path finds something (`@?`).
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        Parser::new(path).whole(|parser| parser.path()?.finding(Sought::Anything))
    }

    /// The path whose values are wanted (`jsonb_path_query` and its like): in lax mode, with steps.
    #[must_use]
    pub fn of_values(path: &str) -> Option<Self> {
        let found = Parser::new(path).whole(|parser| parser.path()?.finding(Sought::Taken))?;
        let has_steps = matches!(&found, Self::Finds(finds) if finds.from_root && !finds.steps.is_empty());
        has_steps.then_some(found)
    }

    /// Calls `visit` for all paths in the condition, but those that lead on from what filters are asked about.
    pub fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Finds)) {
        match self {
            Self::And(both) | Self::Or(both) => both.iter().for_each(|one| one.each(visit)),
            Self::Not(one) | Self::IsUnknown(one) => one.each(visit),
            Self::Finds(finds) => visit(finds),
        }
    }

    /// Calls `visit` for all paths in the condition and in its filters.
    pub fn each_within<'a>(&'a self, visit: &mut dyn FnMut(&'a Finds)) {
        self.each(&mut |finds| {
            visit(finds);
            for step in &finds.steps {
                if let Step::Filter(condition) = step {
                    condition.each_within(visit);
                }
            }
        });
    }

    /// Whether it is true only where a path from `@` finds something.
    #[must_use]
    pub fn needs_value(&self) -> bool {
        match self {
            Self::And(both) => both.iter().any(Self::needs_value),
            Self::Or(both) => both.iter().all(Self::needs_value),
            Self::Not(_) | Self::IsUnknown(_) => false,
            Self::Finds(finds) => !finds.from_root,
        }
    }

    /// Whether it depends on the order of strings, which depends on their encoding.
    #[must_use]
    pub fn orders_strings(&self) -> bool {
        let mut found = false;
        self.each_within(&mut |finds| {
            found |= match &finds.sought {
                Sought::Compared(comparison, Literal::String(_)) => {
                    !matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                }
                _ => false,
            };
        });
        found
    }
}

/// A path before it is known what it should find.
struct Path {
    from_root: bool,
    steps: Vec<Step>,
}

impl Path {
    fn finding(self, sought: Sought) -> Option<Condition> {
        let Self { from_root, steps } = self;
        Some(Condition::Finds(Finds {
            from_root,
            steps,
            sought,
        }))
    }

    /// As an operand, whose arrays are taken apart.
    fn matching(mut self, sought: Sought) -> Option<Condition> {
        self.steps.push(Step::Elements);
        self.finding(sought)
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    steps: usize,
}

impl<'a> Parser<'a> {
    fn new(rest: &'a str) -> Self {
        Self {
            rest,
            depth: 0,
            steps: 0,
        }
    }

    fn whole(mut self, parse: impl FnOnce(&mut Self) -> Option<Condition>) -> Option<Condition> {
        parse(&mut self).filter(|_| self.rest.is_empty())
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What comes next, and the bracket that ends it.
    fn inner<T>(&mut self, parse: fn(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let found = (self.depth <= DEEPEST).then(|| parse(self))??;
        self.depth -= 1;
        self.eat(")").then_some(found)
    }

    fn condition(&mut self) -> Option<Condition> {
        let mut found = self.all_of()?;
        // Within its like it is in brackets.
        if self.eat(" || ") {
            found = Condition::Or(Box::new([found, self.all_of()?]));
        }
        Some(found)
    }

    fn all_of(&mut self) -> Option<Condition> {
        let mut found = self.term()?;
        if self.eat(" && ") {
            found = Condition::And(Box::new([found, self.term()?]));
        }
        Some(found)
    }

    fn term(&mut self) -> Option<Condition> {
        if self.eat("!(") {
            return Some(Condition::Not(Box::new(self.inner(Self::condition)?)));
        }
        if self.eat("exists (") {
            return self.inner(Self::path)?.finding(Sought::Anything);
        }
        if self.eat("(") {
            let inner = self.inner(Self::condition)?;
            return Some(match self.eat(" is unknown") {
                true => Condition::IsUnknown(Box::new(inner)),
                false => inner,
            });
        }
        if !self.rest.starts_with(['$', '@']) {
            let literal = self.literal()?;
            let comparison = self.comparison()?.turned();
            return self.path()?.matching(Sought::Compared(comparison, literal));
        }
        let path = self.path()?;
        if self.eat(" starts with ") {
            let Literal::String(prefix) = self.literal()? else {
                return None;
            };
            return path.matching(Sought::Prefixed(prefix));
        }
        let comparison = self.comparison()?;
        path.matching(Sought::Compared(comparison, self.literal()?))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        use Comparison::*;
        let known = [
            (" == ", Equal),
            (" != ", NotEqual),
            (" < ", Less),
            (" <= ", LessOrEqual),
            (" > ", Greater),
            (" >= ", GreaterOrEqual),
        ];
        let found = known.into_iter().find(|(text, _)| self.eat(text));
        found.map(|(_, comparison)| comparison)
    }

    fn path(&mut self) -> Option<Path> {
        let from_root = self.eat("$");
        if !from_root && !self.eat("@") {
            return None;
        }
        let mut steps = Vec::new();
        while self.steps < MOST_STEPS {
            self.steps += 1;
            steps.push(if self.rest.starts_with(".\"") {
                let (key, rest) = string(&self.rest[1..])?;
                self.rest = rest;
                Step::Key(key)
            } else if self.eat("[*]") {
                Step::Elements
            } else if self.eat("[last]") {
                Step::Last
            } else if self.eat("[") {
                let (number, rest) = self.rest.split_once(']')?;
                let index: u32 = number.parse().ok()?;
                self.rest = rest;
                // PostgreSQL's indexes are integers.
                Step::Element(i32::try_from(index).ok().map(|_| index)?)
            } else if self.eat("?(") {
                Step::Filter(Box::new(self.inner(Self::condition)?))
            } else {
                return Some(Path { from_root, steps });
            });
        }
        None
    }

    fn literal(&mut self) -> Option<Literal> {
        for (text, literal) in [
            ("null", Literal::Null),
            ("true", Literal::Bool(true)),
            ("false", Literal::Bool(false)),
        ] {
            if self.eat(text) {
                return Some(literal);
            }
        }
        if self.rest.starts_with('"') {
            let (found, rest) = string(self.rest)?;
            self.rest = rest;
            return Some(Literal::String(found));
        }
        let is_part = |c: char| c.is_ascii_digit() || c == '-' || c == '.';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        match root(&json::parse(number).ok()?).ok()? {
            Value::Numeric(payload) => Some(Literal::Number(payload.to_vec(), numeric::reduced(payload))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Step {
        Step::Key(name.into())
    }

    fn finds(from_root: bool, steps: &[Step], sought: Sought) -> Condition {
        Condition::Finds(Finds {
            from_root,
            steps: steps.to_vec(),
            sought,
        })
    }

    fn number(text: &str) -> Literal {
        let payload = numeric::from_text(text).expect("a number");
        let reduced = numeric::reduced(&payload);
        Literal::Number(payload, reduced)
    }

    #[test]
    fn paths_and_predicates() {
        use Comparison::*;
        let price = Sought::Compared(Greater, number("99"));
        let price = finds(false, &[key("price"), Step::Elements], price);
        let filter = Step::Filter(Box::new(price));
        assert_eq!(
            Condition::of_path(r#"$."items"[*]?(@."price" > 99)"#),
            Some(finds(true, &[key("items"), Step::Elements, filter], Sought::Anything))
        );
        let small = finds(
            true,
            &[key("a"), Step::Element(3), Step::Last, Step::Elements],
            Sought::Compared(Less, number("-1.50")),
        );
        let there = finds(true, &[key("b")], Sought::Anything);
        let word = finds(true, &[key("c"), Step::Elements], Sought::Prefixed(b"x\"".to_vec()));
        assert_eq!(
            Condition::of_predicate(
                r#"(-1.50 > $."a"[3][last] && (exists ($."b")) is unknown || !($."c" starts with "x\""))"#
            ),
            Some(Condition::Or(Box::new([
                Condition::And(Box::new([small, Condition::IsUnknown(Box::new(there))])),
                Condition::Not(Box::new(word)),
            ])))
        );
    }

    #[test]
    fn what_is_not_known() {
        for path in [
            r#"$."a""#,
            r#"strict $."a""#,
            r#"strict ($."a" == 1)"#,
            r#"($."a" == $"x")"#,
            r#"($."a" == $."b")"#,
            r#"($."a" + 1 == 2)"#,
            r#"((-$."a") == 2)"#,
            r#"($."a".type() == "x")"#,
            r#"($."a".* == 1)"#,
            r#"($."a"[0 to 1] == 1)"#,
            r#"($."a"[0,1] == 1)"#,
            r#"($."a"[-1] == 1)"#,
            r#"($."a"[2147483648] == 1)"#,
            r#"($."a"[1.5] == 1)"#,
            r#"($."a"[last - 1] == 1)"#,
            r#"($."a" like_regex "x")"#,
            r#"($."a" == 1)[*]"#,
            r#"($."a" == 1"#,
            "1",
            "",
        ] {
            assert_eq!(Condition::of_predicate(path), None, "{path}");
        }
        for path in [
            r#"($."a" == 1)"#,
            r#"$."a".*"#,
            r#"$."a".size()"#,
            r#"$."a"?(@.type() == 1)"#,
        ] {
            assert_eq!(Condition::of_path(path), None, "{path}");
        }
        let long = |steps| Condition::of_path(&("$".to_string() + &"[0]".repeat(steps)));
        assert!(long(MOST_STEPS - 1).is_some());
        assert!(long(MOST_STEPS).is_none());
        let nested = |depth| "!(".repeat(depth) + r#"$."a" == 1"# + &")".repeat(depth);
        assert!(Condition::of_predicate(&nested(DEEPEST)).is_some());
        assert!(Condition::of_predicate(&nested(DEEPEST + 1)).is_none());
    }

    #[test]
    fn what_conditions_depend_on() {
        let of = |path| Condition::of_predicate(path).expect("known");
        assert!(of(r#"($."a" < "x")"#).orders_strings());
        assert!(of(r#"exists ($?(exists ($?(@."a" >= "x"))))"#).orders_strings());
        assert!(!of(r#"($."a" != "x" && $."b" < 1)"#).orders_strings());
        assert!(of(r#"(@."a" == 1 && !(@."b" == 1))"#).needs_value());
        assert!(!of(r#"(@."a" == 1 || !(@."b" == 1))"#).needs_value());
        assert!(!of(r#"($."a" == 1)"#).needs_value());
    }
}
