//! Whether a value contains a jsonb constant (`@>`), over the columns of the value: JsonbDeepContains() of
//! jsonb_util.c.

use amax_jsonb::numeric::{self, Reduced};
use amax_jsonb::{Event, Value as Json, walk};

use crate::assemble::leaf;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::load::Wanted;
use crate::path::{everything, field, named, overflowing};
use crate::scalar::Scalar;
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::tokens::MAX_DEPTH;
use crate::tree::{Body, Object, Tree};
use crate::values::Values;

/// Whether a constant is sound, and not nested too deeply for functions that call themselves.
pub(crate) fn is_usable(payload: &[u8]) -> bool {
    let mut depth = 0;
    amax_jsonb::root(payload).is_ok_and(|sought| {
        walk(sought).all(|event| {
            match event {
                Ok(Event::BeginArray(_) | Event::BeginObject(_)) => depth += 1,
                Ok(Event::EndArray | Event::EndObject) => depth -= 1,
                _ => {}
            }
            event.is_ok() && depth <= MAX_DEPTH
        })
    })
}

/// Whether a value contains another. `whole`: as operands of `@>`, where an array contains a scalar as well.
pub(crate) fn contains(value: Json<'_>, sought: Json<'_>, whole: bool) -> Result<bool> {
    let any = |elements: amax_jsonb::Container<'_>, sought| {
        for element in elements.elements() {
            if contains(element?, sought, false)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    match (value, sought) {
        (Json::Object(fields), Json::Object(sought)) => {
            for pair in sought.pairs() {
                let (key, sought) = pair?;
                match fields.get(key)? {
                    Some(value) if contains(value, sought, false)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        (Json::Array(elements), Json::Array(sought)) => {
            for sought in sought.elements() {
                if !any(elements, sought?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Json::Array(elements), sought) if whole && is_scalar(&sought) => any(elements, sought),
        (Json::Null, Json::Null) => Ok(true),
        (Json::Bool(a), Json::Bool(b)) => Ok(a == b),
        (Json::String(a), Json::String(b)) => Ok(a == b),
        (Json::Numeric(a), Json::Numeric(b)) => Ok(numeric::equal(a, b)),
        _ => Ok(false),
    }
}

fn is_scalar(value: &Json<'_>) -> bool {
    !matches!(value, Json::Array(_) | Json::Object(_))
}

/// The columns needed to tell whether values of some kinds contain a constant. Of an array that is asked for elements
/// only the columns of those: it may seem to end after the last of them.
pub(crate) fn wanted(nodes: &[SchemaNode], sought: Json<'_>, whole: bool, arrays: usize, out: &mut Vec<Wanted>) {
    for node in nodes {
        match (&node.body, sought) {
            (SchemaBody::Leaf, sought) if may_contain(node.kind, &sought) => {
                everything(node, arrays, out);
            }
            (SchemaBody::Object { .. }, Json::Object(sought)) if sought.is_empty() => {
                levels(node, arrays, out);
            }
            (SchemaBody::Array(_), Json::Array(sought)) if sought.is_empty() => {
                levels(node, arrays, out);
            }
            (SchemaBody::Object { keys, rest }, Json::Object(sought)) => {
                for (name, sought) in sought.pairs().flatten() {
                    field(keys, *rest, name, arrays, out, |alternatives, out| {
                        wanted(alternatives, sought, false, arrays, out);
                    });
                }
            }
            (SchemaBody::Array(elements), Json::Array(sought)) => {
                for sought in sought.elements().flatten() {
                    wanted(elements, sought, false, arrays + 1, out);
                }
            }
            (SchemaBody::Array(elements), sought) if whole && is_scalar(&sought) => {
                wanted(elements, sought, false, arrays + 1, out);
            }
            _ => {}
        }
    }
}

/// All columns at or below a node, without their values.
pub(crate) fn levels(node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>) {
    let before = out.len();
    everything(node, arrays, out);
    out[before..].iter_mut().for_each(|w| w.values = false);
}

/// Whether a leaf of a kind may have a value that contains the constant.
fn may_contain(kind: Kind, sought: &Json<'_>) -> bool {
    match (kind, sought) {
        (Kind::EmptyObject, Json::Object(c)) | (Kind::EmptyArray, Json::Array(c)) => c.is_empty(),
        (Kind::Raw, _)
        | (Kind::Null, Json::Null)
        | (Kind::Bool, Json::Bool(_))
        | (Kind::Int | Kind::Decimal | Kind::Numeric, Json::Numeric(_))
        | (Kind::Bytes, Json::String(_)) => true,
        _ => false,
    }
}

/// What the values of a node must have to contain a constant.
#[derive(Debug)]
pub(crate) struct Test<'q> {
    node: u32,
    must: Must<'q>,
}

#[derive(Debug)]
enum Must<'q> {
    /// Nothing: they do.
    BeThere,
    /// They are equal to this scalar.
    Equal(Json<'q>),
    /// They are this number.
    BeNumber(&'q [u8], Option<Reduced>),
    /// They have this code in their dictionary.
    HaveCode(u32),
    /// They are jsonb to be looked at.
    Contain(Json<'q>, bool),
    /// They have all of these fields.
    HaveFields(Vec<Field<'q>>),
    /// They have all of these elements.
    HaveElements(Vec<Vec<Test<'q>>>),
}

/// A field in columns or in the overflow column: (node, index of the key).
#[derive(Debug)]
struct Field<'q> {
    tests: Vec<Test<'q>>,
    rest: Option<(u32, u32)>,
    sought: Json<'q>,
}

impl<'q> Test<'q> {
    /// The test of a node; None if none of its values contains the constant.
    pub(crate) fn new(tree: &Tree, node: u32, sought: Json<'q>, whole: bool) -> Result<Option<Self>> {
        let at = &tree.nodes[node as usize];
        let must = match (&at.body, sought) {
            (Body::Leaf(values), sought) if may_contain(at.kind, &sought) => match (at.kind, sought) {
                (Kind::EmptyObject | Kind::EmptyArray | Kind::Null, _) => Must::BeThere,
                (Kind::Raw, sought) => Must::Contain(sought, whole),
                (_, Json::Numeric(number)) => Must::BeNumber(number, numeric::reduced(number)),
                (_, Json::String(string)) => match &**values {
                    Values::Dictionary { entries, .. } => match entries.iter().position(|entry| entry == string) {
                        Some(code) => Must::HaveCode(code as u32),
                        None => return Ok(None),
                    },
                    _ => Must::Equal(sought),
                },
                _ => Must::Equal(sought),
            },
            (Body::Object(object), Json::Object(sought)) => {
                let mut fields = Vec::with_capacity(sought.len());
                for pair in sought.pairs() {
                    let (name, sought) = pair?;
                    let field = Field::new(tree, object, name, sought)?;
                    if field.tests.is_empty() && field.rest.is_none() {
                        return Ok(None);
                    }
                    fields.push(field);
                }
                Must::HaveFields(fields)
            }
            (Body::Array { alternatives, .. }, Json::Array(sought)) => {
                let mut elements = Vec::with_capacity(sought.len());
                for sought in sought.elements() {
                    elements.push(tests(tree, alternatives, sought?)?);
                }
                Must::HaveElements(elements)
            }
            (Body::Array { alternatives, .. }, sought) if whole && is_scalar(&sought) => {
                Must::HaveElements(vec![tests(tree, alternatives, sought)?])
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { node, must }))
    }

    /// Whether the value `instance`, which is at `place`, contains the constant.
    pub(crate) fn passes(&self, tree: &Tree, place: u32, instance: u32, buffer: &mut Vec<u8>) -> Result<bool> {
        let node = &tree.nodes[self.node as usize];
        let i = instance as usize;
        match (&self.must, &node.body) {
            (Must::BeThere, _) => Ok(true),
            (Must::HaveCode(code), Body::Leaf(values)) => match &**values {
                Values::Dictionary { codes, .. } => Ok(codes[i] == *code),
                _ => corrupt("code of no dictionary"),
            },
            (Must::Equal(sought), Body::Leaf(values)) => Ok(match (leaf(node.kind, values, i), sought) {
                (Scalar::Bool(found), Json::Bool(sought)) => found == *sought,
                (Scalar::String(found), Json::String(sought)) => found == *sought,
                _ => false,
            }),
            (Must::BeNumber(sought, reduced), Body::Leaf(values)) => Ok(match leaf(node.kind, values, i) {
                Scalar::Int(found) => *reduced == Some(Reduced::new(found, 0)),
                Scalar::Decimal { mantissa, scale } => *reduced == Some(Reduced::new(mantissa, scale)),
                Scalar::Numeric(found) => numeric::equal(found, sought),
                _ => false,
            }),
            (Must::Contain(sought, whole), Body::Leaf(values)) => {
                contains(amax_jsonb::root(values.bytes(i))?, *sought, *whole)
            }
            (Must::HaveFields(fields), Body::Object(_)) => {
                for field in fields {
                    if !field.is_in(tree, place, buffer)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Must::HaveElements(elements), Body::Array { starts, .. }) => {
                for tests in elements {
                    let mut found = false;
                    for slot in starts[i]..starts[i + 1] {
                        found = any_passes(tests, tree, slot, buffer)?;
                        if found {
                            break;
                        }
                    }
                    if !found {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => corrupt("test and structure differ"),
        }
    }
}

impl<'q> Field<'q> {
    fn new(tree: &Tree, object: &Object, name: &[u8], sought: Json<'q>) -> Result<Self> {
        let (nodes, rest) = named(tree, object, name);
        Ok(Self {
            tests: tests(tree, &nodes, sought)?,
            rest,
            sought,
        })
    }

    /// Whether the object at `place` has it.
    fn is_in(&self, tree: &Tree, place: u32, buffer: &mut Vec<u8>) -> Result<bool> {
        if any_passes(&self.tests, tree, place, buffer)? {
            return Ok(true);
        }
        let Some((rest, key)) = self.rest else {
            return Ok(false);
        };
        let rest = &tree.nodes[rest as usize];
        let (Some(record), Body::Leaf(values)) = (rest.presence.get(place), &rest.body) else {
            return Ok(false);
        };
        Ok(overflowing(values, record as usize, key, tree.max_values, buffer)?
            && contains(amax_jsonb::root(buffer)?, self.sought, false)?)
    }
}

/// The tests of those of a place's kinds that may contain the constant.
fn tests<'q>(tree: &Tree, nodes: &[u32], sought: Json<'q>) -> Result<Vec<Test<'q>>> {
    nodes
        .iter()
        .filter_map(|&node| Test::new(tree, node, sought, false).transpose())
        .collect()
}

/// Whether the value at `place` is of one of the tests' nodes, and passes.
fn any_passes(tests: &[Test<'_>], tree: &Tree, place: u32, buffer: &mut Vec<u8>) -> Result<bool> {
    for test in tests {
        if let Some(instance) = tree.nodes[test.node as usize].presence.get(place) {
            return test.passes(tree, place, instance, buffer);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PostgreSQL answers.
    #[test]
    fn containment_of_json() {
        let pairs = [
            ("{}", "{}", true),
            ("[]", "{}", false),
            ("1", "[]", false),
            ("1", "[1]", false),
            ("[1]", "1", true),
            ("[[1]]", "1", false),
            ("[[1]]", "[1]", false),
            ("[1, [2, 3]]", "[[3]]", true),
            ("1", "1.0", true),
            (r#""a""#, r#""a""#, true),
            ("[1, 2]", "[2, 1, 2.0]", true),
            (r#"{"a": [1]}"#, r#"{"a": 1}"#, false),
            (r#"{"a": {"b": 1}}"#, r#"{"b": 1}"#, false),
            (r#"{"a": {"b": 1}}"#, r#"{"a": {}}"#, true),
            (r#"{"a": null}"#, r#"{"a": null}"#, true),
            (r#"{"b": null}"#, r#"{"a": null}"#, false),
            (r#"[{"a": 1, "b": 2}, {"c": 3}]"#, r#"[{"c": 3}, {"b": 2}]"#, true),
            (r#"[{"a": 1}, {"b": 2}]"#, r#"[{"a": 1, "b": 2}]"#, false),
            ("[]", "[[]]", false),
            ("[[]]", "[[], []]", true),
        ];
        for (value, sought, expected) in pairs {
            let parse = |text| amax_jsonb::json::parse(text).expect("JSON");
            let (a, b) = (parse(value), parse(sought));
            let root = |payload| amax_jsonb::root(payload).expect("jsonb");
            let found = contains(root(&a), root(&b), true).expect("jsonb");
            assert_eq!(found, expected, "{value} @> {sought}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply() {
        let nested = |depth| {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            amax_jsonb::json::parse(&text).expect("JSON")
        };
        assert!(is_usable(&nested(MAX_DEPTH)));
        assert!(!is_usable(&nested(MAX_DEPTH + 1)));
    }
}
