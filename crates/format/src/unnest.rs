//! The elements of arrays and the fields of objects, each with a place of its own: what unnesting reads, without either
//! being built.
//!
//! The levels of all columns below an array together say how long it is (`levels.rs`), and those below an object which
//! fields it has; values are read only of the columns asked for. An array's elements have places in the column already
//! (`taken`); fields get theirs then (`fields`).

use std::sync::Arc;

use crate::ask::{Question, answers};
use crate::dense::Dense;
use crate::error::{Error, Result, corrupt};
use crate::fields::fields;
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{self, PathColumn};
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::taken::elements;
use crate::tokens::Pairs;
use crate::tree::{Body, Tree};
use crate::types::{ColumnType, PathStep, ReadAt};
use crate::values::Values;

/// What is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parts {
    /// Arrays.
    Elements,
    /// Objects. What is said of elements is true of fields' values, in the order of jsonb's keys.
    Fields,
    /// The same as a lax SQL/JSON path finds them: arrays on the way are looked into, which is left to others.
    Pairs,
}

/// Arrays to unnest: by keys, from the document or from an element of the arrays before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unnest {
    pub parts: Parts,
    /// The keys to the array.
    pub array: Vec<Vec<u8>>,
    /// Paths from an element that are read.
    pub wanted: Vec<Vec<PathStep>>,
    /// What is asked about the values at paths from an element.
    pub asked: Vec<(Vec<PathStep>, Question)>,
}

/// The elements of the arrays at a path, in the order of the places (rows, or elements of the arrays before) they are
/// at.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The first element of each place's array, and the number of elements.
    starts: Vec<u32>,
    /// Places that may hold something else at the path, or an array or fields that are no columns; ascending.
    others: Vec<u32>,
    /// The paths wanted, with one place per element.
    pub paths: Vec<PathColumn>,
    /// The answers, with one place per element; as those of [`Leaf::ask`].
    pub answers: Vec<Dense>,
    /// The key of each field.
    pub keys: Dense,
}

impl Elements {
    /// The elements of a place's array: none if it has none; of no meaning if it is one of [`Elements::is_other`].
    pub fn of(&self, place: usize) -> std::ops::Range<u32> {
        self.starts[place]..self.starts[place + 1]
    }

    /// Whether the place's value has to be looked at by itself.
    pub fn is_other(&self, place: u32) -> bool {
        self.others.binary_search(&place).is_ok()
    }

    /// Bytes of memory held, paths aside.
    pub fn bytes_used(&self) -> usize {
        let answers: usize = self.answers.iter().map(Dense::bytes_used).sum();
        (self.starts.len() + self.others.len()) * 4 + self.keys.bytes_used() + answers
    }
}

impl<R: ReadAt> Leaf<R> {
    /// Decodes what unnesting arrays of the documents of SQL column `col` needs: the first arrays are the documents',
    /// each next one the elements' of the one before.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn unnest(&self, col: usize, arrays: &[Unnest]) -> Result<Vec<Elements>> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("unnesting of a column that is not jsonb"));
        }
        let mut wanted = Vec::new();
        if let Some((first, rest)) = arrays.split_first() {
            self.unnested(&schema.roots, &first.array, first, rest, 0, &mut wanted);
        }
        // Once each, with values if anything wants them.
        wanted.sort_unstable_by_key(|w| (w.column, !w.values));
        wanted.dedup_by_key(|w| w.column);
        let mut tree = self.tree(schema, &wanted, None)?;
        amax_memory::ask(2 * tree.heap_bytes(), "unnesting")?;
        let mut nodes = tree.roots.clone();
        let mut places = self.rows() as u32;
        let mut found = Vec::with_capacity(arrays.len());
        for (i, unnest) in arrays.iter().enumerate() {
            let (found_arrays, others) = Found::at(&tree, &nodes, unnest)?;
            let parts = match unnest.parts {
                Parts::Elements => elements(&mut tree, &found_arrays, places)?,
                Parts::Fields | Parts::Pairs => {
                    let reads = !unnest.wanted.is_empty() || !unnest.asked.is_empty() || i + 1 < arrays.len();
                    fields(&mut tree, &found_arrays, places, reads)?
                }
            };
            places = parts.starts.last().copied().unwrap_or(0);
            nodes.clone_from(&parts.alternatives);
            found.push((parts, others));
        }
        let tree = Arc::new(tree);
        let levels = found.into_iter().zip(arrays).map(|((parts, others), unnest)| {
            let places = parts.keys.len() as u32;
            let path = |steps: &Vec<PathStep>| PathColumn::over(places, tree.clone(), &parts.alternatives, steps);
            let answer = |(steps, question): &(_, _)| answers(path(steps), question);
            Ok(Elements {
                paths: unnest.wanted.iter().map(path).collect(),
                answers: unnest.asked.iter().map(answer).collect::<Result<_>>()?,
                starts: parts.starts,
                others,
                keys: parts.keys,
            })
        });
        levels.collect()
    }

    /// The columns needed for arrays `keys` away from a place.
    fn unnested(
        &self,
        nodes: &[SchemaNode],
        keys: &[Vec<u8>],
        unnest: &Unnest,
        rest: &[Unnest],
        arrays: usize,
        out: &mut Vec<Wanted>,
    ) {
        let levels = |node: &SchemaNode, out: &mut Vec<Wanted>| {
            let from = out.len();
            path::everything(node, arrays, out);
            out[from..].iter_mut().for_each(|w| w.values = false);
        };
        for node in nodes {
            match (keys.split_first(), &node.body) {
                (
                    None,
                    SchemaBody::Object {
                        keys: fields,
                        rest: overflow,
                    },
                ) if unnest.parts != Parts::Elements => {
                    for field in fields {
                        self.of_elements(&field.alternatives, unnest, rest, arrays, out);
                    }
                    levels(node, out);
                    // Of what overflowed the keys are among the values.
                    out.extend(overflow.map(|column| path::overflow(column, arrays)));
                }
                (None, SchemaBody::Array(elements)) if unnest.parts == Parts::Elements => {
                    self.of_elements(elements, unnest, rest, arrays + 1, out);
                    levels(node, out);
                }
                (None, _) => levels(node, out),
                (Some(_), SchemaBody::Leaf) if node.kind == Kind::Raw => levels(node, out),
                (Some(_), SchemaBody::Array(_)) if unnest.parts == Parts::Pairs => levels(node, out),
                (
                    Some((name, keys)),
                    SchemaBody::Object {
                        keys: known,
                        rest: overflow,
                    },
                ) => {
                    path::field(known, *overflow, name, arrays, out, |alternatives, out| {
                        self.unnested(alternatives, keys, unnest, rest, arrays, out);
                    });
                }
                _ => {}
            }
        }
    }

    /// The columns needed of elements, below so many arrays.
    fn of_elements(
        &self,
        elements: &[SchemaNode],
        unnest: &Unnest,
        rest: &[Unnest],
        arrays: usize,
        out: &mut Vec<Wanted>,
    ) {
        for steps in &unnest.wanted {
            path::wanted(elements, steps, arrays, out);
        }
        for (steps, question) in &unnest.asked {
            let at_end =
                |node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>| self.asked(question, node, arrays, out);
            path::wanted_until(elements, steps, arrays, &at_end, out);
        }
        if let Some((next, rest)) = rest.split_first() {
            self.unnested(elements, &next.array, next, rest, arrays, out);
        }
    }
}

/// What is at a path: its arrays, and places with anything else.
struct Found<'a> {
    tree: &'a Tree,
    parts: Parts,
    /// Below fields there may be several, each at places of its own.
    arrays: Vec<u32>,
    others: Vec<u32>,
}

impl Found<'_> {
    fn at(tree: &Tree, nodes: &[u32], unnest: &Unnest) -> Result<(Vec<u32>, Vec<u32>)> {
        let mut found = Found {
            tree,
            parts: unnest.parts,
            arrays: Vec::new(),
            others: Vec::new(),
        };
        found.follow(nodes, &unnest.array)?;
        found.others.sort_unstable();
        found.others.dedup();
        Ok((found.arrays, found.others))
    }

    fn follow(&mut self, nodes: &[u32], keys: &[Vec<u8>]) -> Result<()> {
        for &at in nodes {
            let node = &self.tree.nodes[at as usize];
            match (keys.split_first(), &node.body) {
                (None, Body::Array { .. }) if self.parts == Parts::Elements => {
                    self.arrays.push(at);
                }
                (None, Body::Object(_)) if self.parts != Parts::Elements => {
                    self.arrays.push(at);
                }
                (None, _) if self.parts == Parts::Elements && node.kind == Kind::EmptyArray => {}
                (None, _) if self.parts != Parts::Elements && node.kind == Kind::EmptyObject => {}
                (None, _) => self.others.extend(node.presence.iter()),
                (Some(_), Body::Leaf(_)) if node.kind == Kind::Raw => {
                    self.others.extend(node.presence.iter());
                }
                (Some(_), Body::Array { .. }) if self.parts == Parts::Pairs => {
                    self.others.extend(node.presence.iter());
                }
                (Some((name, keys)), Body::Object(object)) => {
                    let next: Vec<u32> = object
                        .fields
                        .iter()
                        .filter(|field| self.tree.keys.get(field.key as usize) == &name[..])
                        .map(|field| field.node)
                        .collect();
                    self.follow(&next, keys)?;
                    if let Some(rest) = object.rest {
                        self.overflowing(rest, name)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The places whose overflow record has the key.
    fn overflowing(&mut self, rest: u32, name: &[u8]) -> Result<()> {
        let rest = &self.tree.nodes[rest as usize];
        let Body::Leaf(values) = &rest.body else {
            return corrupt("overflow column is none");
        };
        // Without values, no key in it was asked for.
        let Values::Rest { keys, records } = &**values else {
            return Ok(());
        };
        let Some(key) = path::find(keys, name) else {
            return Ok(());
        };
        for (record, place) in rest.presence.iter().enumerate() {
            let mut pairs = Pairs::new(records.get(record), keys);
            while let Some(next) = pairs.next_key()? {
                if next >= key {
                    if next == key {
                        self.others.push(place);
                    }
                    break;
                }
                pairs.skip()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{leaf, leaf_of};
    use crate::{LeafOptions, Scalar, Tag};

    fn key(name: &str) -> Vec<PathStep> {
        vec![PathStep::Key(name.as_bytes().to_vec())]
    }

    fn int(path: &PathColumn, element: u32) -> Option<i64> {
        match path.get(element as usize, &mut Vec::new()).expect("sound") {
            Some(Scalar::Int(v)) => Some(v),
            _ => None,
        }
    }

    const DOCUMENTS: [&str; 10] = [
        r#"{"a":[{"x":1},{"y":2},{"x":3,"b":[{"z":1},{"z":2}]}]}"#,
        r#"{"a":[]}"#,
        r#"{}"#,
        r#"{"a":[{"y":4},{"b":[]},{}]}"#,
        r#"{"a":null}"#,
        r#"{"a":"no"}"#,
        r#"{"a":{"x":1}}"#,
        r#"{"a":[7,null,[1],{"x":5,"b":[8]},"s"]}"#,
        r#"{"a":[{"x":6}]}"#,
        r#"5"#,
    ];

    /// Elements are counted by all columns of an array, whichever is read; what is no array is left to others.
    #[test]
    fn elements_of_arrays() {
        // As columns and, where there are few of each, in the overflow column.
        for copies in [1, 60] {
            let documents: Vec<&str> = DOCUMENTS.iter().flat_map(|d| std::iter::repeat_n(*d, copies)).collect();
            let leaf = leaf(documents.iter().copied(), LeafOptions::default());
            let arrays = [
                Unnest {
                    parts: Parts::Elements,
                    array: vec![b"a".to_vec()],
                    wanted: vec![key("x")],
                    asked: Vec::new(),
                },
                Unnest {
                    parts: Parts::Elements,
                    array: vec![b"b".to_vec()],
                    wanted: vec![key("z"), Vec::new()],
                    asked: Vec::new(),
                },
            ];
            let found = leaf.unnest(0, &arrays).expect("sound");
            let lengths = [3, 0, 0, 3, 0, 0, 0, 5, 1, 0];
            let mut below = Vec::new();
            for row in 0..documents.len() {
                let document = row / copies;
                let (elements, other) = (found[0].of(row), found[0].is_other(row as u32));
                if copies > 1 {
                    assert_eq!(other, [4, 5, 6].contains(&document), "{row}");
                    assert_eq!(elements.len(), lengths[document], "{row}");
                } else {
                    assert!(other || elements.len() == lengths[document], "{row}");
                }
                let x: Vec<_> = elements.clone().map(|e| int(&found[0].paths[0], e)).collect();
                match document {
                    0 if !other => assert_eq!(x, [Some(1), None, Some(3)]),
                    7 if !other => assert_eq!(x, [None, None, None, Some(5), None]),
                    8 if !other => assert_eq!(x, [Some(6)]),
                    _ => assert!(x.iter().all(Option::is_none)),
                }
                for element in elements {
                    let inner = found[1].of(element as usize);
                    assert!(inner.is_empty() || !found[1].is_other(element));
                    for e in inner {
                        let mut buffer = Vec::new();
                        let whole = found[1].paths[1].get(e as usize, &mut buffer);
                        assert!(whole.expect("sound").is_some());
                        below.push((document, int(&found[1].paths[0], e)));
                    }
                }
            }
            below.dedup();
            if copies > 1 {
                let z = [(0, Some(1)), (0, Some(2))];
                assert_eq!(below, [z.repeat(copies), vec![(7, None)]].concat());
            }
        }
    }

    /// Fields in jsonb's order of keys, whatever kinds their values have, with columns or without.
    #[test]
    fn fields_of_objects() {
        let documents = [
            r#"{"o":{"b":1,"aa":"x","c":{"z":1}}}"#,
            r#"{"o":{}}"#,
            r#"{"o":{"aa":2,"c":{"z":"s","y":[{"q":3}]}}}"#,
            r#"{"p":1}"#,
            r#"{"o":[1]}"#,
            r#"{"o":{"b":"w","aa":"v"}}"#,
        ];
        let copies = 60;
        let documents: Vec<&str> = documents
            .iter()
            .flat_map(|d| std::iter::repeat_n(*d, copies))
            .chain([r#"{"o":{"b":1,"rare":2}}"#])
            .collect();
        let leaf = leaf(documents.iter().copied(), LeafOptions::default());
        let unnest = |parts, array: &str, wanted| Unnest {
            parts,
            array: vec![array.as_bytes().to_vec()],
            wanted,
            asked: Vec::new(),
        };
        let first = unnest(Parts::Fields, "o", vec![Vec::new(), key("z")]);
        let below = unnest(Parts::Elements, "y", vec![key("q")]);
        let found = leaf.unnest(0, &[first, below]).expect("sound");
        let (fields, elements) = (&found[0], &found[1]);
        let dense: Vec<Dense> = fields.paths.iter().map(|p| p.dense().expect("sound")).collect();
        let text = |dense: &Dense, at: u32| match dense.tag(at as usize) {
            Tag::String => {
                let word = dense.word(at as usize) as usize;
                String::from_utf8_lossy(dense.strings().get(word).expect("known")).into_owned()
            }
            Tag::Int => dense.word(at as usize).to_string(),
            tag => format!("{tag:?}"),
        };
        let shown = |row: usize| -> String {
            let of = |e| {
                let [value, z] = [0, 1].map(|i| text(&dense[i], e));
                let q = elements.of(e as usize).map(|e| int(&elements.paths[0], e));
                format!("{}={value}/{z}/{:?} ", text(&fields.keys, e), q.collect::<Vec<_>>())
            };
            fields.of(row).map(of).collect()
        };
        for row in 0..documents.len() {
            let expected = match row / copies {
                0 => "b=1/Missing/[] c=Other/1/[] aa=x/Missing/[] ",
                2 => "c=Other/s/[Some(3)] aa=2/Missing/[] ",
                5 => "b=w/Missing/[] aa=v/Missing/[] ",
                1 | 3 => "",
                6 => "b=1/Missing/[] rare=2/Missing/[] ",
                // An array.
                _ => {
                    assert!(fields.is_other(row as u32), "{row}");
                    continue;
                }
            };
            assert!(!fields.is_other(row as u32), "{row}");
            assert_eq!(shown(row), expected, "{row}");
            let mut buffer = Vec::new();
            for element in fields.of(row) {
                let value = fields.paths[0].get(element as usize, &mut buffer);
                assert!(value.expect("sound").is_some());
            }
        }
    }

    /// Whatever values are, and wherever: keys, values and answers are those of the documents.
    #[test]
    fn fields_and_elements_answer_as_documents_do() {
        let objects = [
            r#"{"a":1,"b":"x","c":null,"d":[1,"x"],"e":{"x":1},"f":true,"g":1.50,"h":1e400,"i":{},"j":[]}"#,
            r#"{"j":"x","i":2,"h":[[]],"g":{"x":{"y":[]}},"f":"","e":-1,"d":{},"c":0.10,"b":false,"a":null}"#,
            r#"{"x":"x","other":["x",{"x":1}],"a":{"x":"x"}}"#,
            r#"{}"#,
        ];
        let questions = [
            Question::Type,
            Question::HasAny(vec![b"x".to_vec()]),
            Question::HasAll(vec![b"x".to_vec(), b"y".to_vec()]),
            Question::contains(&amax_jsonb::json::parse(r#"{"x":1}"#).expect("JSON")).expect("usable"),
            Question::contains(&amax_jsonb::json::parse(r#"["x"]"#).expect("JSON")).expect("usable"),
            Question::path_exists("$.\"x\"").expect("taken apart"),
        ];
        let asked: Vec<_> = questions
            .iter()
            .map(|question| (Vec::new(), question.clone()))
            .collect();
        let below = questions.iter().map(|question| (key("x"), question.clone()));
        let unnest = Unnest {
            parts: Parts::Fields,
            array: Vec::new(),
            wanted: vec![Vec::new(), key("x")],
            asked: asked.into_iter().chain(below).collect(),
        };
        // In overflow columns, in columns, and in both: half of the rows have keys that no others have.
        for (copies, odd) in [(1, false), (40, false), (40, true)] {
            let rows = objects.iter().flat_map(|object| std::iter::repeat_n(*object, copies));
            let documents: Vec<String> = rows
                .enumerate()
                .map(|(row, object)| match odd && row % 2 == 1 && object.len() > 2 {
                    true => format!(r#"{{"k{row}":[{row}],"t{row}":"{row}",{}"#, &object[1..]),
                    false => object.to_owned(),
                })
                .collect();
            let leaf = leaf(documents.iter().map(String::as_str), LeafOptions::default());
            let found = leaf.unnest(0, std::slice::from_ref(&unnest)).expect("sound");
            let fields = &found[0];
            for (row, document) in documents.iter().enumerate() {
                assert!(!fields.is_other(row as u32), "{document}");
                let payload = amax_jsonb::json::parse(document).expect("JSON");
                let Ok(amax_jsonb::Value::Object(object)) = amax_jsonb::root(&payload) else {
                    panic!("an object");
                };
                let pairs: Vec<_> = object.pairs().map(|pair| pair.expect("sound")).collect();
                assert_eq!(fields.of(row).len(), pairs.len(), "{document}");
                for (element, (name, value)) in fields.of(row).zip(pairs) {
                    let at = element as usize;
                    let code = fields.keys.word(at) as usize;
                    assert_eq!(fields.keys.strings().get(code), Some(name));
                    let mut builder = amax_jsonb::Builder::new();
                    builder.value(value);
                    let alone = leaf_of([builder.finish().expect("sound")], LeafOptions::default());
                    for (path, steps) in fields.paths.iter().zip(&unnest.wanted) {
                        let (mut a, mut b) = (Vec::new(), Vec::new());
                        let found = path.get(at, &mut a).expect("sound");
                        let column = alone.path(0, steps).expect("sound");
                        assert_eq!(found, column.get(0, &mut b).expect("sound"), "{document}");
                    }
                    for (answers, (steps, question)) in fields.answers.iter().zip(&unnest.asked) {
                        let expected = alone.ask(0, steps, question).expect("sound");
                        let shown = |dense: &Dense, at: usize| match dense.tag(at) {
                            tag if tag.has_word() => (tag, dense.word(at)),
                            tag => (tag, 0),
                        };
                        assert_eq!(shown(answers, at), shown(&expected, 0), "{question:?} of {document}");
                    }
                }
            }
        }
    }
}
