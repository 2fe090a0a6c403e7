//! What documents look like: their paths, the types of the values there, and how many there are. Of a leaf it needs the
//! levels, and the values of overflow columns only.

use std::collections::BTreeMap;

use amax_jsonb::{Event, walk};

use crate::describe::push_key;
use crate::error::{Error, Result, corrupt};
use crate::json_type::{ARRAY, OBJECT, TYPES, type_of, type_of_json};
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::Wanted;
use crate::path::everything;
use crate::scalar::Scalar;
use crate::sink::Sink;
use crate::tokens::Pairs;
use crate::tree::{Body, Tree};
use crate::types::{ColumnType, ReadAt};
use crate::values::Values;

/// What memory is asked for.
const WHAT: &str = "the schema of documents";

const ROOT: u32 = 0;

/// The paths of documents, of as many leaves as are added.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The root first.
    nodes: Vec<Node>,
    /// Rows, with documents and without.
    rows: u64,
    /// Leaves added.
    leaves: u32,
}

/// A path.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Values of each of [`TYPES`].
    counts: [u64; TYPES.len()],
    /// Of the arrays, those without elements.
    empty_arrays: u64,
    /// Leaves that have values here, and which of those added was the last of them, from 1.
    leaves: u32,
    last_leaf: u32,
    /// By length and by name, which is jsonb's order.
    keys: BTreeMap<usize, BTreeMap<Box<[u8]>, u32>>,
    elements: Option<u32>,
}

/// A path and the values there.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// `$` for the document, `$.deps[*].name` for the names of all elements.
    pub path: String,
    /// Steps of the path: 0 for the document.
    pub depth: u32,
    /// The types that come, as `jsonb_typeof` calls them, with the number of values of each; the most frequent first.
    pub types: Vec<(&'static str, u64)>,
    /// Values of any type; of all elements of the arrays.
    pub values: u64,
    /// What could have a value here: rows, for a key the objects above, for elements the arrays.
    pub parents: u64,
    /// Whether some of those have none.
    pub optional: bool,
    /// Leaves in which there are values.
    pub leaves: u32,
}

impl Default for Outline {
    fn default() -> Self {
        Self {
            nodes: vec![Node::default()],
            rows: 0,
            leaves: 0,
        }
    }
}

impl Outline {
    /// Adds the documents of column `col` of a leaf.
    ///
    /// # Errors
    /// As [`Leaf::column`]; [`Error::Misuse`] if the column is not [`ColumnType::Json`]. The outline is of no use then.
    pub fn add_leaf<R: ReadAt>(&mut self, leaf: &Leaf<R>, col: usize) -> Result<()> {
        let (column_type, schema) = leaf.sql_column(col)?;
        if column_type != ColumnType::Json {
            return Err(Error::Misuse("outline of a column that is not jsonb"));
        }
        let mut wanted = Vec::with_capacity(schema.columns.len());
        for node in &schema.roots {
            everything(node, 0, &mut wanted);
        }
        for column in &mut wanted {
            let Wanted { kind, values, .. } = column;
            *values = matches!(kind, Kind::Rest | Kind::Raw);
        }
        let tree = leaf.tree(schema, &wanted, None)?;
        let rows = (0..leaf.rows()).filter(|&row| !leaf.is_antimatter(row));
        self.rows += rows.count() as u64;
        self.leaves += 1;
        self.add_nodes(ROOT, &tree, &tree.roots)
    }

    /// Adds a leaf whose `rows` all have this document, a payload, or none.
    ///
    /// # Errors
    /// [`Error::Jsonb`] if it is not jsonb.
    pub fn add_same(&mut self, rows: u64, document: Option<&[u8]>) -> Result<()> {
        self.rows += rows;
        self.leaves += 1;
        match document {
            Some(document) if rows > 0 => self.add_json(ROOT, document, rows),
            _ => Ok(()),
        }
    }

    /// The paths, each before those below it, keys in jsonb's order; none if no rows were added.
    pub fn into_lines(self) -> Lines {
        let root = Step {
            node: ROOT,
            from: 0,
            depth: 0,
            key: None,
            parents: self.rows,
            optional: self.nodes[0].values() < self.rows,
        };
        Lines {
            open: (self.rows > 0).then_some(root).into_iter().collect(),
            nodes: self.nodes,
            path: String::new(),
        }
    }

    /// Adds the values of some nodes of a leaf, which are alternatives of one place.
    fn add_nodes(&mut self, at: u32, tree: &Tree, alternatives: &[u32]) -> Result<()> {
        for &node in alternatives {
            let node = &tree.nodes[node as usize];
            let count = u64::from(node.presence.len());
            if count == 0 {
                continue;
            }
            match (&node.body, type_of(node.kind)) {
                (Body::Leaf(_), Some(type_id)) => {
                    self.count(at, type_id, count);
                    if node.kind == Kind::EmptyArray {
                        self.nodes[at as usize].empty_arrays += count;
                    }
                }
                (Body::Array { alternatives, .. }, Some(type_id)) => {
                    self.count(at, type_id, count);
                    let elements = self.elements(at)?;
                    self.add_nodes(elements, tree, alternatives)?;
                }
                (Body::Object(object), Some(type_id)) => {
                    self.count(at, type_id, count);
                    for field in &object.fields {
                        if tree.nodes[field.node as usize].presence.len() > 0 {
                            let key = self.key(at, tree.keys.get(field.key as usize))?;
                            self.add_nodes(key, tree, &[field.node])?;
                        }
                    }
                    if let Some(rest) = object.rest {
                        self.add_overflow(at, &tree.nodes[rest as usize].body)?;
                    }
                }
                (Body::Leaf(values), None) if node.kind == Kind::Raw => {
                    for i in 0..count as usize {
                        self.add_json(at, values.bytes(i), 1)?;
                    }
                }
                _ => return corrupt("a column of documents of another kind"),
            }
        }
        Ok(())
    }

    fn add_overflow(&mut self, object: u32, column: &Body) -> Result<()> {
        let Body::Leaf(values) = column else {
            return corrupt("overflow that is not a column");
        };
        let Values::Rest { keys, records } = &**values else {
            return corrupt("overflow column of another kind");
        };
        for record in records.iter() {
            let mut pairs = Pairs::new(record, keys);
            while let Some(key) = pairs.next_key()? {
                let at = self.key(object, keys.get(key as usize))?;
                pairs.replay(&mut Adder::new(self, at, 1))?;
            }
        }
        Ok(())
    }

    /// Adds a jsonb payload `times` times.
    fn add_json(&mut self, at: u32, payload: &[u8], times: u64) -> Result<()> {
        let mut adder = Adder::new(self, at, times);
        for event in walk(amax_jsonb::root(payload)?) {
            match event? {
                Event::Scalar(value) => adder.value(type_of_json(&value))?,
                Event::Key(key) => adder.key(key)?,
                Event::BeginArray(_) => adder.begin_array()?,
                Event::EndArray => adder.end_array()?,
                Event::BeginObject(_) => adder.begin_object()?,
                Event::EndObject => adder.end_object()?,
            }
        }
        Ok(())
    }

    fn count(&mut self, at: u32, type_id: usize, times: u64) {
        let node = &mut self.nodes[at as usize];
        node.counts[type_id] += times;
        if node.last_leaf != self.leaves {
            node.last_leaf = self.leaves;
            node.leaves += 1;
        }
    }

    /// The node of a key.
    fn key(&mut self, at: u32, name: &[u8]) -> Result<u32> {
        let known = self.nodes[at as usize].keys.get(&name.len());
        if let Some(&node) = known.and_then(|keys| keys.get(name)) {
            return Ok(node);
        }
        let name: Box<[u8]> = amax_memory::copy(name, WHAT)?.into();
        let node = self.add()?;
        let keys = &mut self.nodes[at as usize].keys;
        keys.entry(name.len()).or_default().insert(name, node);
        Ok(node)
    }

    /// The node of the elements of arrays.
    fn elements(&mut self, at: u32) -> Result<u32> {
        if let Some(node) = self.nodes[at as usize].elements {
            return Ok(node);
        }
        let node = self.add()?;
        self.nodes[at as usize].elements = Some(node);
        Ok(node)
    }

    fn add(&mut self) -> Result<u32> {
        amax_memory::check(WHAT)?;
        let node = u32::try_from(self.nodes.len()).map_err(|_| Error::Limit("paths"))?;
        amax_memory::reserve(&mut self.nodes, 1, WHAT)?;
        self.nodes.push(Node::default());
        Ok(node)
    }
}

impl Node {
    fn values(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Adds a value from its events.
struct Adder<'a> {
    outline: &'a mut Outline,
    /// Where the next value is, unless it is an element.
    at: u32,
    times: u64,
    open: Vec<Open>,
}

/// A container begun.
struct Open {
    node: u32,
    /// Of an array: whether it has elements.
    array: Option<bool>,
}

impl<'a> Adder<'a> {
    fn new(outline: &'a mut Outline, at: u32, times: u64) -> Self {
        Self {
            outline,
            at,
            times,
            open: Vec::new(),
        }
    }

    /// Finds the place of a value.
    fn place(&mut self) -> Result<u32> {
        if let Some(open) = self.open.last_mut()
            && let Some(has_elements) = &mut open.array
        {
            *has_elements = true;
            self.at = self.outline.elements(open.node)?;
        }
        Ok(self.at)
    }

    /// Counts a value.
    fn value(&mut self, type_id: usize) -> Result<()> {
        let at = self.place()?;
        self.outline.count(at, type_id, self.times);
        Ok(())
    }
}

impl Sink for Adder<'_> {
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()> {
        let kind = match scalar {
            Scalar::Null => Kind::Null,
            Scalar::Bool(_) => Kind::Bool,
            Scalar::Int(_) | Scalar::Decimal { .. } | Scalar::Numeric(_) => Kind::Numeric,
            Scalar::String(_) => Kind::Bytes,
            Scalar::Payload(payload) => {
                let at = self.place()?;
                return self.outline.add_json(at, payload, self.times);
            }
        };
        match type_of(kind) {
            Some(type_id) => self.value(type_id),
            None => corrupt("a scalar without a type"),
        }
    }

    fn begin_object(&mut self) -> Result<()> {
        self.value(OBJECT)?;
        self.open.push(Open {
            node: self.at,
            array: None,
        });
        Ok(())
    }

    fn key(&mut self, key: &[u8]) -> Result<()> {
        let Some(open) = self.open.last() else {
            return corrupt("a key outside of an object");
        };
        self.at = self.outline.key(open.node, key)?;
        Ok(())
    }

    fn end_object(&mut self) -> Result<()> {
        self.open.pop();
        Ok(())
    }

    fn begin_array(&mut self) -> Result<()> {
        self.value(ARRAY)?;
        self.open.push(Open {
            node: self.at,
            array: Some(false),
        });
        Ok(())
    }

    fn end_array(&mut self) -> Result<()> {
        if let Some(Open {
            node,
            array: Some(false),
        }) = self.open.pop()
        {
            self.outline.nodes[node as usize].empty_arrays += self.times;
        }
        Ok(())
    }
}

/// The lines of an [`Outline`], in order. Paths of deep documents are long: they are made one at a time.
#[derive(Debug)]
pub struct Lines {
    nodes: Vec<Node>,
    /// What comes next, the last first.
    open: Vec<Step>,
    /// Of the last line.
    path: String,
}

#[derive(Debug)]
struct Step {
    node: u32,
    /// Bytes of the path above.
    from: usize,
    depth: u32,
    /// `None` for elements and for the root.
    key: Option<Box<[u8]>>,
    parents: u64,
    optional: bool,
}

impl Iterator for Lines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let step = self.open.pop()?;
        self.path.truncate(step.from);
        match &step.key {
            Some(key) => push_key(&mut self.path, key),
            None if step.depth == 0 => self.path.push('$'),
            None => self.path.push_str("[*]"),
        }
        let node = std::mem::take(&mut self.nodes[step.node as usize]);
        let (from, depth) = (self.path.len(), step.depth + 1);
        let values = node.values();
        let (objects, arrays) = (node.counts[OBJECT], node.counts[ARRAY]);
        let first = self.open.len();
        self.open.extend(node.elements.map(|elements| Step {
            node: elements,
            from,
            depth,
            key: None,
            parents: arrays,
            optional: node.empty_arrays > 0,
        }));
        for (key, child) in node.keys.into_values().flatten() {
            self.open.push(Step {
                node: child,
                from,
                depth,
                key: Some(key),
                parents: objects,
                optional: self.nodes[child as usize].values() < objects,
            });
        }
        self.open[first..].reverse();
        let mut types: Vec<_> = TYPES.into_iter().zip(node.counts).collect();
        types.retain(|&(_, count)| count > 0);
        types.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        Some(Line {
            path: self.path.clone(),
            depth: step.depth,
            types,
            values,
            parents: step.parents,
            optional: step.optional,
            leaves: node.leaves,
        })
    }
}
