//! The elements of arrays, each with a place of its own: what unnesting reads, without an array being built.
//!
//! The levels of all columns below an array together say how long it is (`levels.rs`); values are read only of the columns asked for.

use std::sync::Arc;

use crate::error::{corrupt, Error, Result};
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::{self, PathColumn};
use crate::schema::{Body as SchemaBody, Node as SchemaNode};
use crate::tokens::Pairs;
use crate::tree::{key_order, Body, Tree};
use crate::types::{ColumnType, PathStep, ReadAt};
use crate::values::Values;

/// Arrays to unnest: by keys, from the document or from an element of the arrays before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unnest {
    /// The keys to the array.
    pub array: Vec<Vec<u8>>,
    /// Paths from an element that are read.
    pub wanted: Vec<Vec<PathStep>>,
}

/// The elements of the arrays at a path, in the order of the places (rows, or elements of the arrays before) they are at.
#[derive(Clone, Debug)]
pub struct Elements {
    /// The first element of each place's array, and the number of elements.
    starts: Vec<u32>,
    /// Places that may hold something else at the path, or an array that is no column; ascending.
    others: Vec<u32>,
    /// The paths wanted, with one place per element.
    pub paths: Vec<PathColumn>,
}

impl Elements {
    /// The elements of a place's array: none if it has none, or is one of [`Elements::is_other`].
    pub fn of(&self, place: usize) -> std::ops::Range<u32> {
        self.starts[place]..self.starts[place + 1]
    }

    /// Whether the place's value has to be looked at by itself.
    pub fn is_other(&self, place: u32) -> bool {
        self.others.binary_search(&place).is_ok()
    }

    /// Bytes of memory held, paths aside.
    pub fn bytes_used(&self) -> usize {
        (self.starts.len() + self.others.len()) * 4
    }
}

impl<R: ReadAt> Leaf<R> {
    /// Decodes what unnesting arrays of the documents of SQL column `col` needs: the first arrays are the documents', each next one the
    /// elements' of the one before.
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
            columns(&schema.roots, &first.array, first, rest, 0, &mut wanted);
        }
        // Once each, with values if anything wants them.
        wanted.sort_unstable_by_key(|w| (w.column, !w.values));
        wanted.dedup_by_key(|w| w.column);
        let tree = Arc::new(self.tree(schema, &wanted, None)?);
        let mut nodes = tree.roots.clone();
        let mut places = self.rows() as u32;
        let mut levels = Vec::with_capacity(arrays.len());
        for unnest in arrays {
            let mut found = Found {
                tree: &tree,
                array: None,
                others: Vec::new(),
            };
            found.follow(&nodes, &unnest.array)?;
            let Found {
                array, mut others, ..
            } = found;
            others.sort_unstable();
            others.dedup();
            let (starts, elements) = starts(&tree, array, places)?;
            places = starts.last().copied().unwrap_or(0);
            nodes = elements;
            let path =
                |steps: &Vec<PathStep>| PathColumn::over(places, tree.clone(), &nodes, steps);
            levels.push(Elements {
                starts,
                others,
                paths: unnest.wanted.iter().map(path).collect(),
            });
        }
        Ok(levels)
    }
}

/// The columns needed for arrays `keys` away from a place.
fn columns(
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
            (None, SchemaBody::Array(elements)) => {
                for steps in &unnest.wanted {
                    path::wanted(elements, steps, arrays + 1, out);
                }
                if let Some((next, rest)) = rest.split_first() {
                    columns(elements, &next.array, next, rest, arrays + 1, out);
                }
                levels(node, out);
            }
            (None, _) => levels(node, out),
            (Some(_), SchemaBody::Leaf) if node.kind == Kind::Raw => levels(node, out),
            (
                Some((name, keys)),
                SchemaBody::Object {
                    keys: known,
                    rest: overflow,
                },
            ) => {
                let mut in_rest = true;
                if let Ok(i) = known.binary_search_by(|key| key_order(&key.name, name)) {
                    in_rest = known[i].in_rest;
                    columns(&known[i].alternatives, keys, unnest, rest, arrays, out);
                }
                if let (true, Some(overflow)) = (in_rest, overflow) {
                    out.push(Wanted {
                        column: *overflow,
                        kind: Kind::Rest,
                        arrays,
                        values: true,
                    });
                }
            }
            _ => {}
        }
    }
}

/// What is at a path: its arrays, and places with anything else.
struct Found<'a> {
    tree: &'a Tree,
    array: Option<u32>,
    others: Vec<u32>,
}

impl Found<'_> {
    fn follow(&mut self, nodes: &[u32], keys: &[Vec<u8>]) -> Result<()> {
        for &at in nodes {
            let node = &self.tree.nodes[at as usize];
            match (keys.split_first(), &node.body) {
                (None, Body::Array { .. }) => self.array = Some(at),
                (None, _) if node.kind == Kind::EmptyArray => {}
                (None, _) => self.others.extend(node.presence.iter()),
                (Some(_), Body::Leaf(_)) if node.kind == Kind::Raw => {
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

/// The first element of each place's array, and the alternatives of an element. Arrays' slots are in the order of their places.
fn starts(tree: &Tree, array: Option<u32>, places: u32) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut found = Vec::with_capacity(places as usize + 1);
    let Some(array) = array.map(|array| &tree.nodes[array as usize]) else {
        found.resize(places as usize + 1, 0);
        return Ok((found, Vec::new()));
    };
    let Body::Array {
        starts,
        alternatives,
    } = &array.body
    else {
        return corrupt("array is none");
    };
    for (instance, place) in array.presence.iter().enumerate() {
        found.resize(place as usize + 1, starts[instance]);
    }
    found.resize(places as usize + 1, starts.last().copied().unwrap_or(0));
    Ok((found, alternatives.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::leaf;
    use crate::{LeafOptions, Scalar};

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
            let documents: Vec<&str> = DOCUMENTS
                .iter()
                .flat_map(|d| std::iter::repeat_n(*d, copies))
                .collect();
            let leaf = leaf(documents.iter().copied(), LeafOptions::default());
            let arrays = [
                Unnest {
                    array: vec![b"a".to_vec()],
                    wanted: vec![key("x")],
                },
                Unnest {
                    array: vec![b"b".to_vec()],
                    wanted: vec![key("z"), Vec::new()],
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
                let x: Vec<_> = elements
                    .clone()
                    .map(|e| int(&found[0].paths[0], e))
                    .collect();
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
}
