//! Documents without the keys that nobody looks at, for SQL/JSON paths: what else there is of them is as it was, so that a path does
//! the same in lax and in strict mode.

use std::cell::RefCell;

use amax_jsonb::Builder;
use amax_jsonb::jsonpath::Shape;

use crate::condition::scalar;
use crate::contains::levels;
use crate::error::{Error, Result, corrupt};
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{everything, field, named, overflowing};
use crate::schema::{Body as SchemaBody, Node};
use crate::sink::{JsonSink, Sink};
use crate::tree::{Body, Tree, key_order};
use crate::types::{ColumnType, ReadAt};

/// The documents of a leaf as far as somebody looks at them.
#[derive(Debug)]
pub struct Shaped {
    rows: u32,
    tree: Tree,
    roots: Vec<Kept>,
    /// Its memory is worth keeping between documents.
    builder: RefCell<Builder>,
}

/// What is kept of the values of a node.
#[derive(Debug)]
struct Kept {
    node: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    Whole,
    /// Its elements, and of each what is kept.
    Elements(Vec<Kept>),
    /// Some keys, in jsonb's order.
    Fields(Vec<Field>),
}

#[derive(Debug)]
struct Field {
    name: Box<[u8]>,
    alternatives: Vec<Kept>,
    /// Where it is in the overflow column: (node, index of the key).
    overflow: Option<(u32, u32)>,
}

impl<R: ReadAt> Leaf<R> {
    /// Decodes what a shape has of the documents of column `col`.
    ///
    /// # Errors
    /// As [`Leaf::path`].
    pub fn shaped(&self, col: usize, shape: &Shape) -> Result<Shaped> {
        let (column_type, schema) = self.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("shape of a column that is not jsonb"));
        }
        let mut columns = Vec::new();
        self.wanted_of_shape(&schema.roots, shape, 0, &mut columns);
        columns.sort_unstable_by_key(|w| (w.column, !w.values));
        columns.dedup_by_key(|w| w.column);
        let tree = self.tree(schema, &columns, None)?;
        let roots = kept(&tree, &tree.roots, shape);
        let rows = self.rows() as u32;
        Ok(Shaped {
            rows,
            tree,
            roots,
            builder: RefCell::default(),
        })
    }

    fn wanted_of_shape(&self, nodes: &[Node], shape: &Shape, arrays: usize, out: &mut Vec<Wanted>) {
        for node in nodes {
            match &node.body {
                _ if shape.whole => everything(node, arrays, out),
                SchemaBody::Leaf => everything(node, arrays, out),
                SchemaBody::Array(elements) => {
                    // Only all columns below together know where an array ends, and what there is of its elements.
                    levels(node, arrays, out);
                    self.wanted_of_shape(elements, shape, arrays + 1, out);
                }
                SchemaBody::Object { keys, rest } => {
                    self.existence(node, arrays, out);
                    for (name, shape) in &shape.keys {
                        field(keys, *rest, name, arrays, out, |alternatives, out| {
                            self.wanted_of_shape(alternatives, shape, arrays, out);
                        });
                    }
                }
            }
        }
    }
}

fn kept(tree: &Tree, nodes: &[u32], shape: &Shape) -> Vec<Kept> {
    let of = |&node: &u32| {
        let what = match &tree.nodes[node as usize].body {
            _ if shape.whole => What::Whole,
            Body::Leaf(_) => What::Whole,
            Body::Array { alternatives, .. } => What::Elements(kept(tree, alternatives, shape)),
            Body::Object(object) => {
                let field = |(name, shape): &(Vec<u8>, Shape)| {
                    let (nodes, overflow) = named(tree, object, name);
                    Field {
                        name: name.as_slice().into(),
                        alternatives: kept(tree, &nodes, shape),
                        overflow,
                    }
                };
                let mut fields: Vec<Field> = shape.keys.iter().map(field).collect();
                fields.sort_by(|a, b| key_order(&a.name, &b.name));
                What::Fields(fields)
            }
        };
        Kept { node, what }
    };
    nodes.iter().map(of).collect()
}

impl Shaped {
    /// What is kept of `row`'s document, in place of what is in `out`; false if there is no document.
    ///
    /// # Errors
    /// As [`crate::PathColumn::get`].
    pub fn get(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        let mut builder = self.builder.borrow_mut();
        // After an error there may be something in it.
        builder.reset();
        let mut sink = JsonSink {
            builder: &mut builder,
            left: self.tree.max_values,
        };
        let there = match u32::try_from(row) {
            Ok(row) if row < self.rows => self.at(&self.roots, row, None, &mut sink)?,
            _ => false,
        };
        out.clear();
        if there {
            builder.finish_into(out)?;
        }
        Ok(there)
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        self.tree.heap_bytes() + std::mem::size_of::<Self>()
    }

    /// What is at a place, behind its key in an object; false if nothing is.
    fn at(&self, kept: &[Kept], place: u32, key: Option<&[u8]>, sink: &mut JsonSink<'_>) -> Result<bool> {
        for kept in kept {
            if let Some(instance) = self.tree.nodes[kept.node as usize].presence.get(place) {
                key.map_or(Ok(()), |key| sink.key(key))?;
                return self.value(kept, place, instance, sink).map(|()| true);
            }
        }
        Ok(false)
    }

    fn value(&self, kept: &Kept, place: u32, instance: u32, sink: &mut JsonSink<'_>) -> Result<()> {
        match (&kept.what, &self.tree.nodes[kept.node as usize].body) {
            (What::Elements(elements), Body::Array { starts, .. }) => {
                sink.begin_array()?;
                for slot in starts[instance as usize]..starts[instance as usize + 1] {
                    if !self.at(elements, slot, None, sink)? {
                        return corrupt("array element without a value");
                    }
                }
                sink.end_array()
            }
            (What::Fields(fields), _) => {
                sink.begin_object()?;
                for field in fields {
                    if !self.overflowing(field, place, sink)? {
                        self.at(&field.alternatives, place, Some(&field.name), sink)?;
                    }
                }
                sink.end_object()
            }
            _ => self.tree.emit(kept.node, place, instance, sink),
        }
    }

    /// Adds a field that has overflowed; false if it has not.
    fn overflowing(&self, field: &Field, place: u32, sink: &mut JsonSink<'_>) -> Result<bool> {
        let Some((rest, key)) = field.overflow else {
            return Ok(false);
        };
        let rest = &self.tree.nodes[rest as usize];
        let mut value = Vec::new();
        match (rest.presence.get(place), &rest.body) {
            (Some(record), Body::Leaf(values))
                if overflowing(values, record as usize, key, self.tree.max_values, &mut value)? =>
            {
                sink.key(&field.name)?;
                sink.scalar(scalar(amax_jsonb::root(&value)?)).map(|()| true)
            }
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeafOptions;
    use crate::condition::{self, Taken};
    use crate::testing::leaf;
    use amax_jsonb::jsonpath::Condition;

    #[test]
    fn all_is_there_but_keys_that_nobody_looks_at() {
        let documents = [
            (r#"{"a":{"b":1,"c":2},"d":3}"#, r#"{"a": {"b": 1}, "d": 3}"#),
            (r#"{"a":{"c":2},"e":3}"#, r#"{"a": {}}"#),
            (
                r#"{"a":[{"b":1,"c":2},{"c":2},[{"b":{"x":1}},{"c":2}],5,{"c":2}]}"#,
                r#"{"a": [{"b": 1}, {}, [{"b": {}}, {}], 5, {}]}"#,
            ),
            (r#"{"a":5}"#, r#"{"a": 5}"#),
            (r#"[{"a":{"b":1},"e":2},{"e":1}]"#, r#"[{"a": {"b": 1}}, {}]"#),
            (r#"{"a":[],"d":{"e":[1.50]}}"#, r#"{"a": [], "d": {"e": [1.50]}}"#),
            ("7", "7"),
            (
                r#"{"a":{"b":[2,1],"c":2},"d":[{"x":1}]}"#,
                r#"{"a": {"b": [2, 1]}, "d": [{"x": 1}]}"#,
            ),
            (r#"{"e":3}"#, "{}"),
            ("{}", "{}"),
        ];
        let path = r#"$?(@."a"."b" == 1)."d""#;
        let shape = Shape::of_path(path, true).expect("a shape");
        let condition = Condition::of_values(path).expect("a condition");
        let finds = |document: &[u8]| {
            let found = RefCell::new(Vec::new());
            condition::take(&condition, amax_jsonb::root(document).expect("jsonb"), &|taken| {
                let Taken::Json(value) = taken else {
                    panic!("a value in columns");
                };
                let mut text = Vec::new();
                amax_jsonb::json::write_text(value, &mut text)?;
                found.borrow_mut().push(text);
                Ok(false)
            })
            .expect("jsonb");
            found.into_inner()
        };
        for copies in [1, 3, 100] {
            let rows = documents.iter().flat_map(|(text, _)| vec![*text; copies]);
            let leaf = leaf(rows, LeafOptions::default());
            let shaped = leaf.shaped(0, &shape).expect("shaped");
            let mut out = Vec::new();
            for (n, (text, expected)) in documents.iter().enumerate() {
                assert!(shaped.get(n * copies, &mut out).expect("sound"), "{text}");
                // A key in the overflow column may have more of its value than is looked at.
                if copies == 100 {
                    let found = amax_jsonb::json::to_text(&out).expect("jsonb");
                    assert_eq!(&found, expected, "{text}");
                }
                let whole = amax_jsonb::json::parse(text).expect("JSON");
                assert_eq!(finds(&out), finds(&whole), "{text}");
            }
            assert!(!shaped.get(documents.len() * copies, &mut out).expect("sound"));
        }
    }
}
