//! The structure of a document column in memory: one node per path and kind, each with the places it is
//! present at. Walking it costs what a record has, not what the schema has.
//!
//! A node's places are slots of the innermost array above it (rows if there is none), so objects do not
//! change the numbering. A node's instance is the rank of its place. An object finds its fields in two
//! ways: fields that most of its instances have are *dense* and asked one by one; the others are in a list
//! per instance (compressed sparse rows).

use amax_jsonb::Key;
use std::sync::{Arc, OnceLock};

use crate::kind::Kind;
use crate::presence::Presence;
use crate::shapes::Shapes;
use crate::strings::ByteVec;
use crate::values::Values;

/// A field is dense if it is present in at least one of so many instances of its object.
const DENSE: u64 = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// The keys of all fields, in the order of [`Field::key`].
    pub(crate) keys: ByteVec,
    /// The same as text, once somebody has asked for text.
    key_texts: OnceLock<Vec<Key>>,
    /// The alternatives of a row.
    pub(crate) roots: Vec<u32>,
    /// Values a document may have.
    pub(crate) max_values: usize,
    /// Whether values may be [`Values::Lazy`].
    pub(crate) lazy: bool,
    /// Of the objects assembled so far.
    pub(crate) shapes: Shapes,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) presence: Arc<Presence>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Leaf(Arc<Values>),
    Array {
        /// First slot per instance, and the number of slots.
        starts: Arc<Vec<u32>>,
        /// The alternatives of an element.
        alternatives: Vec<u32>,
    },
    Object(Box<Object>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    /// Ascending by key; one entry per key and kind.
    pub(crate) fields: Vec<Field>,
    /// Indexes in `fields`, ascending.
    pub(crate) dense: Vec<u32>,
    /// Per instance, where its fields in `sparse` start; empty if there are none at all.
    pub(crate) sparse_starts: Vec<u32>,
    /// (index in `fields`, instance of that field's node), ascending within an object.
    pub(crate) sparse: Vec<(u32, u32)>,
    /// The overflow column.
    pub(crate) rest: Option<u32>,
    /// Per overflow key, the index of the first field whose key is greater or equal.
    pub(crate) rest_ranks: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    /// Index in [`Tree::keys`].
    pub(crate) key: u32,
    pub(crate) node: u32,
}

/// jsonb's order of keys: length, then bytes.
pub(crate) fn key_order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Tree {
    pub(crate) fn push(&mut self, kind: Kind, presence: Arc<Presence>, body: Body) -> u32 {
        self.nodes.push(Node { kind, presence, body });
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn push_key(&mut self, key: &[u8]) -> crate::Result<u32> {
        self.keys.push(key)?;
        Ok(self.keys.len() as u32 - 1)
    }

    /// The keys of all fields as they are written.
    pub(crate) fn key_texts(&self) -> crate::Result<&[Key]> {
        if let Some(texts) = self.key_texts.get() {
            return Ok(texts);
        }
        let texts: Result<Vec<Key>, amax_jsonb::Error> = self.keys.iter().map(Key::new).collect();
        let texts = texts?;
        Ok(self.key_texts.get_or_init(|| texts))
    }

    /// Adds an object over `universe` places from its fields, ascending by key, and its overflow column.
    pub(crate) fn push_object(&mut self, universe: u32, fields: Vec<Field>, rest: Option<u32>) -> u32 {
        let children = || fields.iter().map(|f| f.node).chain(rest);
        let presence = Presence::union(children().map(|n| &*self.nodes[n as usize].presence), universe);
        let instances = u64::from(presence.len());
        let mut object = Object {
            rest,
            ..Object::default()
        };
        let mut sparse_fields = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            let child = &self.nodes[field.node as usize].presence;
            let indexed = !matches!(**child, Presence::List(_)) || instances < 8;
            if indexed && u64::from(child.len()) * DENSE >= instances {
                object.dense.push(i as u32);
            } else {
                sparse_fields.push(i as u32);
            }
        }
        if !sparse_fields.is_empty() {
            let mut starts = vec![0u32; instances as usize + 1];
            let each = |visit: &mut dyn FnMut(u32, u32, u32)| {
                for &i in &sparse_fields {
                    let child = &self.nodes[fields[i as usize].node as usize].presence;
                    let mut ranks = RankCursor::new(&presence);
                    for (instance, place) in child.iter().enumerate() {
                        visit(i, instance as u32, ranks.rank(place));
                    }
                }
            };
            each(&mut |_, _, at| starts[at as usize] += 1);
            let mut total = 0;
            for start in &mut starts {
                let count = *start;
                *start = total;
                total += count;
            }
            let mut next = starts.clone();
            object.sparse = vec![(0, 0); total as usize];
            each(&mut |i, instance, at| {
                object.sparse[next[at as usize] as usize] = (i, instance);
                next[at as usize] += 1;
            });
            object.sparse_starts = starts;
        }
        if let Some(rest) = rest
            && let Body::Leaf(values) = &self.nodes[rest as usize].body
            && let Values::Rest { keys, .. } = &**values
        {
            let mut at = 0;
            for key in keys.iter() {
                while at < fields.len() && key_order(self.keys.get(fields[at].key as usize), key).is_lt() {
                    at += 1;
                }
                object.rest_ranks.push(at as u32);
            }
        }
        object.fields = fields;
        self.push(Kind::Object, Arc::new(presence), Body::Object(Box::new(object)))
    }

    /// Bytes on the heap, shared parts counted where they are used.
    pub(crate) fn heap_bytes(&self) -> usize {
        let nodes: usize = self
            .nodes
            .iter()
            .map(|node| {
                let body = match &node.body {
                    Body::Leaf(values) => values.heap_bytes(),
                    Body::Array { starts, alternatives } => (starts.len() + alternatives.len()) * 4,
                    Body::Object(o) => {
                        o.fields.len() * 8
                            + (o.dense.len() + o.sparse_starts.len() + o.rest_ranks.len()) * 4
                            + o.sparse.len() * 8
                    }
                };
                std::mem::size_of::<Node>() + body + node.presence.heap_bytes()
            })
            .sum();
        nodes + self.keys.heap_bytes()
    }
}

/// Ranks of ascending places that are all members of a set.
struct RankCursor<'a> {
    presence: &'a Presence,
    at: usize,
}

impl<'a> RankCursor<'a> {
    fn new(presence: &'a Presence) -> Self {
        Self { presence, at: 0 }
    }

    #[inline]
    fn rank(&mut self, place: u32) -> u32 {
        match self.presence {
            Presence::List(places) => {
                // Few fields of a sparse object share its places: gallop, then search.
                let mut step = 1;
                let mut high = self.at;
                while high < places.len() && places[high] < place {
                    self.at = high;
                    high += step;
                    step *= 2;
                }
                let high = (high + 1).min(places.len());
                self.at += places[self.at..high].partition_point(|&p| p < place);
                self.at as u32
            }
            other => other.get(place).unwrap_or(0),
        }
    }
}
