//! Questions about the value at a path that its structure answers: no container is assembled, and few values are read.

use std::sync::Arc;

use amax_jsonb::Value as Json;
use amax_jsonb::jsonpath::Condition;

use crate::condition;
use crate::contains::{self, Test};
use crate::dense::{Dense, Filling};
use crate::error::{Error, Result, corrupt};
use crate::json_type::{TYPES, type_of, type_of_json};
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::page0::Levels;
use crate::path::{Found, PathColumn, everything, find, inside, overflowing, wanted_until};
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::strings::ByteVec;
use crate::tag::Tag;
use crate::tree::{Body, Object};
use crate::types::{ColumnType, PathStep, ReadAt};
use crate::values::Values;

/// What is asked. Nothing is said of a missing value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// `jsonb_typeof`: the name of its type.
    Type,
    /// `jsonb_array_length`; unknown, as it is an error, for anything but an array.
    Length,
    /// `?|`: whether any of these is a key of the object, a string in the array, or the string.
    HasAny(Vec<Vec<u8>>),
    /// `?&`: whether all of them are.
    HasAll(Vec<Vec<u8>>),
    /// `@>`: whether it contains this jsonb; see [`Question::contains`].
    Contains(Vec<u8>),
    /// `@?` and `@@`: what a lax SQL/JSON path says of it; see [`Question::path_exists`] and [`Question::path_matches`].
    /// The string is the operator and the path, to be shown.
    Condition(Condition, String),
    /// `jsonb_path_query_first` (true) and `jsonb_path_query_array`: what a lax SQL/JSON path finds; see [`Question::path_values`].
    /// The string is the path, to be shown. Asked of [`Leaf::found`].
    Found(Condition, bool, String),
}

impl Question {
    /// Whether there are as many such questions as there are values to ask for.
    pub fn has_constant(&self) -> bool {
        !matches!(self, Question::Type | Question::Length)
    }
}

impl Question {
    /// `@>` of a constant; None if that is nested too deeply.
    pub fn contains(payload: &[u8]) -> Option<Self> {
        contains::is_usable(payload).then(|| Self::Contains(payload.to_vec()))
    }

    /// `@?` of a path as `jsonpath_out` writes it; None if that is not taken apart.
    pub fn path_exists(path: &str) -> Option<Self> {
        Some(Self::Condition(Condition::of_path(path)?, format!("@? {path}")))
    }

    /// `@@` of a predicate as `jsonpath_out` writes it; None if it is none, or not taken apart. Unknown is a missing answer.
    pub fn path_matches(path: &str) -> Option<Self> {
        Some(Self::Condition(Condition::of_predicate(path)?, format!("@@ {path}")))
    }

    /// The first value, or an array of all, that a path finds, as `jsonpath_out` writes it; None if that is not taken apart.
    pub fn path_values(path: &str, first: bool) -> Option<Self> {
        Some(Self::Found(Condition::of_values(path)?, first, path.to_owned()))
    }

    fn keys(&self) -> &[Vec<u8>] {
        match self {
            Self::Type | Self::Length | Self::Contains(_) | Self::Condition(..) | Self::Found(..) => &[],
            Self::HasAny(keys) | Self::HasAll(keys) => keys,
        }
    }

    /// `?|` or `?&` of what one `?` answers.
    fn join(&self, mut has: impl FnMut(&[u8]) -> Result<bool>) -> Result<bool> {
        let all = matches!(self, Self::HasAll(_));
        for key in self.keys() {
            if has(key)? != all {
                return Ok(!all);
            }
        }
        Ok(all)
    }

    /// The columns that tell of the values at `node`: all levels, because a container is where any column below it is.
    fn wanted(&self, node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>) {
        let before = out.len();
        everything(node, arrays, out);
        let asks_keys = !matches!(self, Self::Type | Self::Length);
        let strings_of = |nodes: &[SchemaNode], column: u32| {
            let mut strings = nodes.iter().filter(|node| node.kind == Kind::Bytes);
            asks_keys && strings.any(|node| node.columns.start == column)
        };
        for w in &mut out[before..] {
            w.values = match &node.body {
                SchemaBody::Leaf => node.kind == Kind::Raw || strings_of(std::slice::from_ref(node), w.column),
                SchemaBody::Array(elements) => strings_of(elements, w.column),
                SchemaBody::Object { rest, .. } => asks_keys && *rest == Some(w.column),
            };
        }
    }
}

enum Answer {
    Type(usize),
    Length(usize),
    Has(bool),
    /// Neither: SQL's NULL.
    Neither,
    Unknown,
}

impl From<Option<bool>> for Answer {
    fn from(has: Option<bool>) -> Self {
        has.map_or(Self::Neither, Self::Has)
    }
}

/// A path's column as far as a question needs it.
struct Asked<'a> {
    path: PathColumn,
    question: &'a Question,
    /// Per object node met: where each key is.
    fields: Vec<Option<Arc<[Place]>>>,
    /// Per node met: what its values must have to contain the constant.
    tests: Vec<Option<Option<Test<'a>>>>,
    /// Per node met: what the condition is of its values.
    conditions: Vec<Option<condition::Test<'a>>>,
    buffer: Vec<u8>,
}

/// The fields of one key, and its number in the overflow column.
struct Place {
    fields: Vec<u32>,
    overflow: Option<u32>,
}

impl<R: ReadAt> Leaf<R> {
    /// The answers for each row, with one place per row: [`Tag::Other`] where there is none but an error, or it is not
    /// known.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn ask(&self, col: usize, path: &[PathStep], question: &Question) -> Result<Dense> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("question about a column that is not jsonb"));
        }
        if let Question::Found(..) = question {
            return Err(Error::Misuse("question whose answer is a value"));
        }
        let mut wanted = Vec::new();
        let at_end = |node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>| self.asked(question, node, arrays, out);
        wanted_until(&schema.roots, path, 0, &at_end, &mut wanted);
        wanted.sort_unstable_by_key(|w| (w.column, !w.values));
        wanted.dedup_by_key(|w| w.column);
        let tree = self.tree(schema, &wanted, None)?;
        answers(PathColumn::new(self.rows() as u32, tree, path), question)
    }

    /// The columns that a question about the values at `node` is answered by.
    pub(crate) fn asked(&self, question: &Question, node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>) {
        match question {
            Question::Contains(payload) => {
                self.existence(node, arrays, out);
                // What is no jsonb is an error when the values are looked at.
                if let Ok(sought) = amax_jsonb::root(payload) {
                    contains::wanted(std::slice::from_ref(node), sought, true, arrays, out);
                }
            }
            Question::Condition(condition, _) => {
                self.existence(node, arrays, out);
                let existence =
                    |node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>| self.existence(node, arrays, out);
                condition::wanted(node, condition, arrays, &existence, out);
            }
            _ => question.wanted(node, arrays, out),
        }
    }

    /// The columns that tell whether a row has a value at `node`: one that all rows have, else all, without values.
    pub(crate) fn existence(&self, node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>) {
        let before = out.len();
        contains::levels(node, arrays, out);
        let in_all = |w: &Wanted| matches!(self.page0.entries[w.column as usize].levels, Levels::All);
        if let Some(&one) = out[before..].iter().find(|w| in_all(w)) {
            out.truncate(before);
            out.push(one);
        }
    }
}

/// The answers for each place of a path: [`Tag::Other`] where there is none but an error, or it is not known.
pub(crate) fn answers(path: PathColumn, question: &Question) -> Result<Dense> {
    let (places, nodes) = (path.len(), path.tree.nodes.len());
    let mut asked = Asked {
        fields: vec![None; nodes],
        tests: path.tree.nodes.iter().map(|_| None).collect(),
        conditions: path.tree.nodes.iter().map(|_| None).collect(),
        path,
        question,
        buffer: Vec::new(),
    };
    let mut names = ByteVec::default();
    for name in TYPES {
        names.push(name.as_bytes())?;
    }
    let mut dense = Filling::of_codes(places, names);
    for place in 0..places {
        let (tag, word) = match asked.answer(place)? {
            None | Some(Answer::Neither) => continue,
            Some(Answer::Type(which)) => (Tag::String, which as i64),
            Some(Answer::Length(n)) => (Tag::Int, n as i64),
            Some(Answer::Has(has)) => (Tag::Bool, i64::from(has)),
            Some(Answer::Unknown) => (Tag::Other, 0),
        };
        dense.set(place, tag, word);
    }
    Ok(dense.finish())
}

impl Asked<'_> {
    fn answer(&mut self, row: usize) -> Result<Option<Answer>> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let json = match self.path.find(row, &mut buffer)? {
            None => return Ok(None),
            Some(Found::Node { node, place, instance }) => {
                let answer = self.of_node(node, place, instance, &mut buffer);
                self.buffer = buffer;
                return answer.map(Some);
            }
            Some(Found::Stored(payload, depth)) => inside(payload, self.path.steps_from(depth))?,
            Some(Found::Buffered(depth)) => inside(&buffer, self.path.steps_from(depth))?,
        };
        let answer = json.map(|json| of_json(json, self.question)).transpose();
        self.buffer = buffer;
        answer
    }

    fn of_node(&mut self, node: u32, place: u32, instance: u32, buffer: &mut Vec<u8>) -> Result<Answer> {
        let at = &self.path.tree.nodes[node as usize];
        let instance = instance as usize;
        if let (Kind::Raw, Body::Leaf(values)) = (at.kind, &at.body) {
            return of_json(amax_jsonb::root(values.bytes(instance))?, self.question);
        }
        match (self.question, &at.body) {
            (Question::Contains(sought), _) => {
                let tree = &self.path.tree;
                let test = match &mut self.tests[node as usize] {
                    Some(test) => test,
                    none => {
                        let sought = amax_jsonb::root(sought)?;
                        none.insert(Test::new(tree, node, sought, true)?)
                    }
                };
                let passes = test
                    .as_ref()
                    .map(|test| test.passes(tree, place, instance as u32, buffer));
                Ok(Answer::Has(passes.unwrap_or(Ok(false))?))
            }
            (Question::Condition(condition, _), _) => {
                let tree = &self.path.tree;
                let test = match &mut self.conditions[node as usize] {
                    Some(test) => test,
                    none => none.insert(condition::Test::new(tree, node, condition)?),
                };
                test.of(tree, place, instance as u32).map(|truth| truth.known().into())
            }
            (Question::Type, _) => Ok(type_of(at.kind).map_or(Answer::Unknown, Answer::Type)),
            (Question::Length, Body::Array { starts, .. }) => {
                Ok(Answer::Length((starts[instance + 1] - starts[instance]) as usize))
            }
            (Question::Length, _) if at.kind == Kind::EmptyArray => Ok(Answer::Length(0)),
            (Question::Length, _) => Ok(Answer::Unknown),
            (question, Body::Leaf(values)) => {
                let string = (at.kind == Kind::Bytes).then(|| values.bytes(instance));
                question.join(|key| Ok(string == Some(key))).map(Answer::Has)
            }
            (question, Body::Array { starts, alternatives }) => {
                let slots = starts[instance]..starts[instance + 1];
                let nodes = &self.path.tree.nodes;
                let strings: Vec<&[u8]> = alternatives
                    .iter()
                    .filter(|&&node| nodes[node as usize].kind == Kind::Bytes)
                    .flat_map(|&node| {
                        let node = &nodes[node as usize];
                        slots.clone().filter_map(|slot| match &node.body {
                            Body::Leaf(values) => Some(values.bytes(node.presence.get(slot)? as usize)),
                            _ => None,
                        })
                    })
                    .collect();
                question.join(|key| Ok(strings.contains(&key))).map(Answer::Has)
            }
            (question, Body::Object(object)) => {
                let fields = &mut self.fields[node as usize];
                let places = match fields {
                    Some(places) => places.clone(),
                    None => fields.insert(places_of(&self.path, object, question.keys())).clone(),
                };
                let mut places = places.iter();
                let tree = &self.path.tree;
                let has = |_: &[u8]| {
                    let Some(key) = places.next() else {
                        return corrupt("more keys than places");
                    };
                    let there = |field: &u32| tree.nodes[*field as usize].presence.get(place).is_some();
                    if key.fields.iter().any(there) {
                        return Ok(true);
                    }
                    let (Some(rest), Some(key)) = (object.rest, key.overflow) else {
                        return Ok(false);
                    };
                    let rest = &tree.nodes[rest as usize];
                    match (rest.presence.get(place), &rest.body) {
                        (Some(record), Body::Leaf(values)) => {
                            overflowing(values, record as usize, key, tree.max_values, buffer)
                        }
                        _ => Ok(false),
                    }
                };
                question.join(has).map(Answer::Has)
            }
        }
    }
}

/// Where the keys of an object are, in the order they are asked for.
fn places_of(path: &PathColumn, object: &Object, keys: &[Vec<u8>]) -> Arc<[Place]> {
    let place = |key: &Vec<u8>| Place {
        fields: object
            .fields
            .iter()
            .filter(|field| path.tree.keys.get(field.key as usize) == &key[..])
            .map(|field| field.node)
            .collect(),
        overflow: object.rest.and_then(|rest| match &path.tree.nodes[rest as usize].body {
            Body::Leaf(values) => match &**values {
                Values::Rest { keys, .. } => find(keys, key),
                _ => None,
            },
            _ => None,
        }),
    };
    keys.iter().map(place).collect()
}

fn of_json(value: Json<'_>, question: &Question) -> Result<Answer> {
    Ok(match (question, &value) {
        (Question::Type, _) => Answer::Type(type_of_json(&value)),
        (Question::Length, Json::Array(c)) => Answer::Length(c.len()),
        (Question::Length, _) => Answer::Unknown,
        (Question::Contains(sought), _) => Answer::Has(contains::contains(value, amax_jsonb::root(sought)?, true)?),
        (Question::Condition(condition, _), _) => condition::holds(condition, value)?.known().into(),
        (question, Json::Object(c)) => Answer::Has(question.join(|key| Ok(c.get(key)?.is_some()))?),
        (question, Json::Array(c)) => {
            let mut strings = Vec::new();
            for element in c.elements() {
                if let Json::String(s) = element? {
                    strings.push(s);
                }
            }
            Answer::Has(question.join(|key| Ok(strings.contains(&key)))?)
        }
        (question, Json::String(s)) => Answer::Has(question.join(|key| Ok(*s == key))?),
        (question, _) => Answer::Has(question.join(|_| Ok(false))?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeafOptions;
    use crate::testing::leaf;

    #[test]
    fn answers_are_those_of_the_documents() {
        let documents = [
            r#"{"a":{"b":1,"c":"x"},"s":["x","y",1,null,["x"]]}"#,
            r#"{"a":{"c":null},"s":[]}"#,
            r#"{"a":{},"s":"x"}"#,
            r#"{"a":[{"b":1},{"b":[1,2,3]}],"s":7}"#,
            r#"{"a":["b","x"],"s":{"x":{"y":2}}}"#,
            r#"{"a":"b","s":1.5}"#,
            r#"{"a":true,"s":null}"#,
            r#"{"s":[{"x":1},{"y":2},"x"]}"#,
            r#"{"s":[[],{},[[]],1e30]}"#,
            r#"{"a":{"b":1.00000000000000000000},"s":1.5000000000000000000}"#,
            r#"["x","a"]"#,
            r#""a""#,
            "12",
            "{}",
            "[]",
        ];
        let keys = |list: &[&str]| list.iter().map(|k| k.as_bytes().to_vec()).collect::<Vec<_>>();
        let key = |k: &str| PathStep::Key(k.into());
        let paths = [
            vec![],
            vec![key("a")],
            vec![key("s")],
            vec![key("a"), key("b")],
            vec![key("a"), PathStep::Index(1), key("b")],
            vec![key("s"), PathStep::Item(0)],
            vec![key("s"), PathStep::Item(-1)],
            vec![key("s"), PathStep::Item(1), PathStep::Item(0)],
            vec![key("s"), PathStep::KeyOrIndex(b"0".to_vec(), 0)],
            vec![PathStep::Item(0)],
        ];
        let mut questions = vec![Question::Type, Question::Length];
        for list in [&["a"][..], &["x"], &["b", "c"], &["x", "y"], &[]] {
            questions.push(Question::HasAny(keys(list)));
            questions.push(Question::HasAll(keys(list)));
        }
        let parts = [
            "{}",
            "[]",
            "null",
            "12.0",
            r#""x""#,
            r#"{"a":{}}"#,
            r#"{"a":[]}"#,
            r#"{"a":{"b":1.0}}"#,
            r#"{"a":{"c":null}}"#,
            r#"{"a":{"b":1,"c":"x"},"s":["y","x","y"]}"#,
            r#"{"a":[{"b":[3,1]}]}"#,
            r#"{"a":[{"b":1},{}]}"#,
            r#"{"a":"x"}"#,
            r#"{"s":[]}"#,
            r#"{"s":1.50}"#,
            r#"{"s":[{}]}"#,
            r#"{"s":[["x"],null]}"#,
            r#"{"s":{"x":{"y":2}}}"#,
            r#"{"none":null}"#,
            r#"["x",["x"]]"#,
            r#"["x","x"]"#,
            r#"{"b":1}"#,
            r#"[{"b":[1]}]"#,
        ];
        questions.extend(parts.map(|text| {
            let payload = amax_jsonb::json::parse(text).expect("JSON");
            Question::contains(&payload).expect("usable")
        }));
        // With few rows all of it is in overflow columns, with many in columns of its own.
        for copies in [1, 3, 100] {
            let rows = || documents.iter().flat_map(|text| vec![*text; copies]);
            let payloads: Vec<Vec<u8>> = rows()
                .map(|text| amax_jsonb::json::parse(text).expect("JSON"))
                .collect();
            let leaf = leaf(rows(), LeafOptions::default());
            for (path, question) in paths.iter().flat_map(|path| questions.iter().map(move |q| (path, q))) {
                let dense = leaf.ask(0, path, question).expect("answers");
                for (row, payload) in payloads.iter().enumerate() {
                    let expected = inside(payload, path)
                        .expect("jsonb")
                        .map(|value| of_json(value, question).expect("jsonb"));
                    let expected = match expected {
                        None | Some(Answer::Neither) => (Tag::Missing, 0),
                        Some(Answer::Type(which)) => (Tag::String, which as i64),
                        Some(Answer::Length(n)) => (Tag::Int, n as i64),
                        Some(Answer::Has(has)) => (Tag::Bool, i64::from(has)),
                        Some(Answer::Unknown) => (Tag::Other, 0),
                    };
                    let word = |tag: Tag| if tag.has_word() { dense.word(row) } else { 0 };
                    let found = (dense.tag(row), word(dense.tag(row)));
                    let text = documents[row / copies];
                    assert_eq!(found, expected, "{question:?} at {path:?} of {text}");
                }
            }
        }
    }
}
