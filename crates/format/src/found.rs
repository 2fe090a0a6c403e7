//! The values that SQL/JSON paths find, from the columns that lead to them.

use std::cell::RefCell;

use amax_jsonb::jsonpath::Condition;
use amax_jsonb::{Builder, Value as Json};

use crate::ask::Question;
use crate::condition::{self, Taken, Test};
use crate::direct;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{Found as At, PathColumn, inside, wanted_until};
use crate::schema::Node as SchemaNode;
use crate::sink::{JsonSink, Sink, build};
use crate::tree::{Body, Tree};
use crate::types::{ColumnType, PathStep, ReadAt};

/// What a path finds in the values at a place of each document: the first, or an array of all.
#[derive(Debug)]
pub struct Found {
    sought: WithTests,
    first: bool,
    /// Its memory is worth keeping between rows.
    builder: RefCell<Builder>,
}

#[derive(Debug)]
struct InColumns {
    path: PathColumn,
    condition: Condition,
}

/// The test of each node of the tree that one was needed of: it knows what a filter is of each entry of a dictionary.
type Tests<'a> = RefCell<Vec<Option<Test<'a>>>>;

self_cell::self_cell!(
    struct WithTests {
        owner: InColumns,
        #[not_covariant]
        dependent: Tests,
    }

    impl {Debug}
);

impl<R: ReadAt> Leaf<R> {
    /// Decodes what finds the values that `question` is about, in the values at `steps` of column `col`.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn found(&self, col: usize, steps: &[PathStep], question: &Question) -> Result<Found> {
        let (column_type, schema) = self.sql_column(col)?;
        let (ColumnType::Json, Question::Found(condition, first, _)) = (column_type, question) else {
            return Err(Error::Misuse("values of something else than a path of jsonb"));
        };
        let mut wanted = Vec::new();
        let existence = |node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>| self.existence(node, arrays, out);
        let at_end = |node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>| {
            existence(node, arrays, out);
            condition::wanted(node, condition, arrays, &existence, out);
        };
        wanted_until(&schema.roots, steps, 0, &at_end, &mut wanted);
        wanted.sort_unstable_by_key(|w| (w.column, !w.values));
        wanted.dedup_by_key(|w| w.column);
        let tree = self.tree(schema, &wanted, None)?;
        let nodes = tree.nodes.len();
        let columns = InColumns {
            path: PathColumn::new(self.rows() as u32, tree, steps),
            condition: condition.clone(),
        };
        Ok(Found {
            sought: WithTests::new(columns, |_| RefCell::new((0..nodes).map(|_| None).collect())),
            first: *first,
            builder: RefCell::default(),
        })
    }
}

impl Found {
    /// What is found in a row, as jsonb, in place of what is in `out`; false: SQL's NULL.
    ///
    /// # Errors
    /// As [`PathColumn::get`].
    pub fn get(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        self.sought.with_dependent(|columns, tests| {
            let mut buffer = Vec::new();
            match columns.starts_from(row, &mut buffer, &mut tests.borrow_mut())? {
                Some(start) if self.first => columns.first(&start, out)?,
                Some(start) => columns.all(&start, &mut self.builder.borrow_mut(), out)?,
                None => {}
            }
            Ok(!out.is_empty())
        })
    }

    /// Bytes of memory held, but for a byte for each entry of a dictionary that a filter is about.
    pub fn bytes_used(&self) -> usize {
        self.sought.borrow_owner().path.bytes_used()
    }
}

/// What the path starts from.
enum Start<'a, 'q> {
    Node(&'a Test<'q>, u32, u32),
    Json(Json<'a>),
}

impl InColumns {
    fn starts_from<'a, 'q>(
        &'q self,
        row: usize,
        buffer: &'a mut Vec<u8>,
        tests: &'a mut [Option<Test<'q>>],
    ) -> Result<Option<Start<'a, 'q>>>
    where
        'q: 'a,
    {
        let tree = &*self.path.tree;
        Ok(match self.path.find(row, buffer)? {
            None => None,
            Some(At::Node { node, place, instance }) => {
                let at = &tree.nodes[node as usize];
                Some(match (&at.body, at.kind) {
                    (Body::Leaf(stored), Kind::Raw) => Start::Json(amax_jsonb::root(stored.bytes(instance as usize))?),
                    _ => {
                        let test = match &mut tests[node as usize] {
                            Some(test) => test,
                            none => none.insert(Test::new(tree, node, &self.condition)?),
                        };
                        Start::Node(test, place, instance)
                    }
                })
            }
            Some(At::Stored(payload, depth)) => inside(payload, self.path.steps_from(depth))?.map(Start::Json),
            Some(At::Buffered(depth)) => inside(buffer, self.path.steps_from(depth))?.map(Start::Json),
        })
    }

    /// The first value, if there is one.
    fn first(&self, start: &Start<'_, '_>, out: &mut Vec<u8>) -> Result<()> {
        let out = RefCell::new(out);
        self.take(start, &|taken| {
            first_of(&self.path.tree, &taken, &mut out.borrow_mut()).map(|()| true)
        })
    }

    /// An array of all values.
    fn all(&self, start: &Start<'_, '_>, builder: &mut Builder, out: &mut Vec<u8>) -> Result<()> {
        let tree = &*self.path.tree;
        // After an error there may be something in it.
        builder.reset();
        let sink = RefCell::new(JsonSink {
            builder,
            left: tree.max_values,
        });
        sink.borrow_mut().begin_array()?;
        self.take(start, &|taken| {
            add(tree, &taken, &mut sink.borrow_mut()).map(|()| false)
        })?;
        let mut sink = sink.into_inner();
        sink.end_array()?;
        sink.builder.finish_into(out)?;
        Ok(())
    }

    fn take(&self, start: &Start<'_, '_>, taker: &condition::Taker<'_>) -> Result<()> {
        match start {
            Start::Node(test, place, instance) => test.take(&self.path.tree, *place, *instance, taker),
            Start::Json(value) => condition::take(&self.condition, *value, taker),
        }
        .map(|_| ())
    }
}

/// The value that was taken, in place of what is in `out`.
fn first_of(tree: &Tree, taken: &Taken<'_>, out: &mut Vec<u8>) -> Result<()> {
    match *taken {
        Taken::Node { node, place, instance } if !matches!(tree.nodes[node as usize].body, Body::Leaf(_)) => {
            direct::assemble(tree, node, place, instance, out)
        }
        Taken::Json(Json::Array(c) | Json::Object(c)) => {
            out.clear();
            out.extend_from_slice(c.bytes());
            Ok(())
        }
        _ => build(out, tree.max_values, |sink| add(tree, taken, sink)),
    }
}

fn add(tree: &Tree, taken: &Taken<'_>, sink: &mut JsonSink<'_>) -> Result<()> {
    match *taken {
        Taken::Node { node, place, instance } => tree.emit(node, place, instance, sink),
        Taken::Json(value) => sink.scalar(condition::scalar(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeafOptions;
    use crate::testing::leaf;

    #[test]
    fn values_are_those_of_the_documents() {
        let documents = [
            r#"{"a":[{"b":1,"c":"x"},{"c":"y"},{"b":[2,{"b":3}]}],"b":2.50}"#,
            r#"{"a":{"b":{"c":null}},"b":"x"}"#,
            r#"{"a":[[{"b":1}],{"b":{}},"s",null],"rare":true}"#,
            r#"[{"a":{"b":1}},{"a":[]}]"#,
            r#"{"a":[]}"#,
            r#"{"a":[{"b":1e30},{"b":[]},{"b":""}],"b":[[1],[2,[3]]]}"#,
            r#""a""#,
            "7",
            "{}",
        ];
        let paths = [
            r#"$."a""#,
            r#"$."a"."b""#,
            r#"$."a"[*]"#,
            r#"$."a"[*]."b""#,
            r#"$."a"[0]"#,
            r#"$."a"[last]."b""#,
            r#"$."a"[1]."c""#,
            r#"$."b"[*][*]"#,
            r#"$."rare""#,
            r#"$."none""#,
            r#"$."a"[*]?(@."c" == "y")"#,
            r#"$."a"[*]?(@."b" == 1 || $."b" == "x")."b""#,
            r#"$."a"?(exists (@."b"))[*]"#,
            r#"$[*]"#,
            r#"$?(@."b" == 2.5)."a"[0]."c""#,
        ];
        for (copies, first) in [1, 3, 600]
            .into_iter()
            .flat_map(|copies| [(copies, false), (copies, true)])
        {
            let rows = documents.iter().flat_map(|text| vec![*text; copies]);
            let leaf = leaf(rows, LeafOptions::default());
            for path in paths {
                let question = Question::path_values(path, first).expect(path);
                let Question::Found(condition, ..) = &question else {
                    panic!("another question");
                };
                for steps in [vec![], vec![PathStep::Key(b"a".to_vec())]] {
                    let found = leaf.found(0, &steps, &question).expect("found");
                    for (at, document) in documents.iter().enumerate() {
                        let payload = amax_jsonb::json::parse(document).expect("JSON");
                        let value = inside(&payload, &steps).expect("jsonb");
                        let list = RefCell::new(Vec::new());
                        if let Some(value) = value {
                            condition::take(condition, value, &|taken| {
                                let Taken::Json(value) = taken else {
                                    panic!("a value in columns");
                                };
                                let mut text = Vec::new();
                                amax_jsonb::json::write_text(value, &mut text)?;
                                list.borrow_mut().push(String::from_utf8(text).expect("UTF-8"));
                                Ok(first)
                            })
                            .expect("jsonb");
                        }
                        let expected = match first {
                            true => list.borrow().first().cloned(),
                            false => value.map(|_| format!("[{}]", list.borrow().join(", "))),
                        };
                        let mut value = Vec::new();
                        let there = found.get(at * copies, &mut value).expect("sound");
                        let is = there.then(|| amax_jsonb::json::to_text(&value).expect("jsonb"));
                        assert_eq!(is, expected, "{path} at {steps:?} of {document}");
                    }
                }
            }
        }
    }
}
