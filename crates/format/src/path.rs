//! One path of a document column, from the megapages involved only.

use std::sync::Arc;

use amax_jsonb::Value as Json;

use crate::assemble::leaf;
use crate::direct;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::load::Wanted;
use crate::scalar::Scalar;
use crate::schema::{Body as SchemaBody, Key as SchemaKey, Node as SchemaNode};
use crate::sink::build;
use crate::tokens::Pairs;
use crate::tree::{Body, Object, Tree, key_order};
use crate::types::PathStep;
use crate::values::Values;

/// The values at one path of the documents of a leaf, in memory, for access by row.
#[derive(Clone, Debug)]
pub struct PathColumn {
    pub(crate) rows: u32,
    pub(crate) tree: Arc<Tree>,
    pub(crate) bytes_used: usize,
    steps: Vec<PathStep>,
    hops: Vec<Hop>,
    /// Where there are many hops, which of them each row has, from 1; 0: none.
    hop_of: Vec<u32>,
}

/// So many hops are asked one by one which of them a row has.
const FEW_HOPS: usize = 8;

/// A node on the way, and how it goes on from there.
#[derive(Clone, Debug)]
struct Hop {
    node: u32,
    then: Then,
}

#[derive(Clone, Debug)]
enum Then {
    /// This is the value.
    End,
    /// A field of an object, or a key of its overflow column: (node, index of the key).
    Field(Vec<Hop>, Option<(u32, u32)>),
    /// An element of an array.
    Element(i32, Vec<Hop>),
    /// In the jsonb this column holds.
    Inside,
}

/// The columns needed for `steps` from a place.
pub(crate) fn wanted(nodes: &[SchemaNode], steps: &[PathStep], arrays: usize, out: &mut Vec<Wanted>) {
    wanted_until(nodes, steps, arrays, &everything, out);
}

/// The columns needed of an object's field: what `below` says of its alternatives, and the overflow column if the field
/// may be in it.
pub(crate) fn field(
    keys: &[SchemaKey],
    rest: Option<u32>,
    name: &[u8],
    arrays: usize,
    out: &mut Vec<Wanted>,
    below: impl FnOnce(&[SchemaNode], &mut Vec<Wanted>),
) {
    let mut in_rest = true;
    if let Ok(i) = keys.binary_search_by(|key| key_order(&key.name, name)) {
        in_rest = keys[i].in_rest;
        below(&keys[i].alternatives, out);
    }
    if let (true, Some(rest)) = (in_rest, rest) {
        out.push(overflow(rest, arrays));
    }
}

/// An overflow column, below so many arrays.
pub(crate) fn overflow(column: u32, arrays: usize) -> Wanted {
    Wanted {
        column,
        kind: Kind::Rest,
        arrays,
        values: true,
    }
}

/// The columns needed for `steps` from a place, and of the nodes where they end what `at_end` says.
pub(crate) fn wanted_until(
    nodes: &[SchemaNode],
    steps: &[PathStep],
    arrays: usize,
    at_end: &dyn Fn(&SchemaNode, usize, &mut Vec<Wanted>),
    out: &mut Vec<Wanted>,
) {
    for node in nodes {
        let Some((step, steps)) = steps.split_first() else {
            at_end(node, arrays, out);
            continue;
        };
        match (step.key(), step.index(), &node.body) {
            (.., SchemaBody::Leaf) if node.kind == Kind::Raw => everything(node, arrays, out),
            (.., SchemaBody::Leaf) if node.kind.is_scalar() && step.keeps_scalar() => {
                wanted_until(std::slice::from_ref(node), steps, arrays, at_end, out);
            }
            (Some(name), _, SchemaBody::Object { keys, rest }) => {
                field(keys, *rest, name, arrays, out, |alternatives, out| {
                    wanted_until(alternatives, steps, arrays, at_end, out);
                });
            }
            // Only all columns below together know where an array ends.
            (_, Some(..0), SchemaBody::Array(_)) => everything(node, arrays, out),
            (_, Some(_), SchemaBody::Array(elements)) => {
                wanted_until(elements, steps, arrays + 1, at_end, out);
            }
            _ => {}
        }
    }
}

/// The columns that hold the values at `steps` from a place, with their kinds; `None` if some values are
/// containers or may have overflowed.
pub(crate) fn ends(nodes: &[SchemaNode], steps: &[PathStep], out: &mut Vec<(Kind, u32)>) -> Option<()> {
    for node in nodes {
        let Some((step, steps)) = steps.split_first() else {
            match node.body {
                SchemaBody::Leaf => out.push((node.kind, node.columns.start)),
                _ => return None,
            }
            continue;
        };
        match (step.key(), step.index(), &node.body) {
            (.., SchemaBody::Leaf) if node.kind == Kind::Raw => return None,
            (.., SchemaBody::Leaf) if node.kind.is_scalar() && step.keeps_scalar() => {
                ends(std::slice::from_ref(node), steps, out)?;
            }
            (Some(name), _, SchemaBody::Object { keys, rest }) => {
                match keys.binary_search_by(|key| key_order(&key.name, name)) {
                    Ok(i) if !keys[i].in_rest => ends(&keys[i].alternatives, steps, out)?,
                    Ok(_) => return None,
                    Err(_) if rest.is_some() => return None,
                    Err(_) => {}
                }
            }
            (_, Some(_), SchemaBody::Array(elements)) => ends(elements, steps, out)?,
            _ => {}
        }
    }
    Some(())
}

/// All columns at or below a node that lies below `arrays` arrays.
pub(crate) fn everything(node: &SchemaNode, arrays: usize, out: &mut Vec<Wanted>) {
    match &node.body {
        SchemaBody::Leaf => out.push(Wanted {
            column: node.columns.start,
            kind: node.kind,
            arrays,
            values: true,
        }),
        SchemaBody::Array(elements) => elements.iter().for_each(|node| everything(node, arrays + 1, out)),
        SchemaBody::Object { keys, rest } => {
            keys.iter()
                .flat_map(|key| &key.alternatives)
                .for_each(|node| everything(node, arrays, out));
            out.extend(rest.map(|rest| overflow(rest, arrays)));
        }
    }
}

impl PathColumn {
    pub(crate) fn new(rows: u32, tree: Tree, steps: &[PathStep]) -> Self {
        let roots = tree.roots.clone();
        Self::over(rows, Arc::new(tree), &roots, steps)
    }

    /// The path from `nodes`, the alternatives at `rows` places.
    pub(crate) fn over(rows: u32, tree: Arc<Tree>, nodes: &[u32], steps: &[PathStep]) -> Self {
        let hops = hops(&tree, nodes, steps);
        let mut hop_of = Vec::new();
        // Of few rows they are asked nevertheless, and where there is no memory.
        let bytes = rows as usize * size_of::<u32>();
        if hops.len() > FEW_HOPS && !tree.lazy && amax_memory::ask(bytes, "unnesting").is_ok() {
            hop_of = vec![0; rows as usize];
            for (hop, number) in hops.iter().zip(1..) {
                let presence = &tree.nodes[hop.node as usize].presence;
                for place in presence.iter() {
                    if let Some(hop) = hop_of.get_mut(place as usize) {
                        *hop = number;
                    }
                }
            }
        }
        let bytes_used = tree.heap_bytes() + std::mem::size_of::<Self>() + hop_of.len() * 4;
        Self {
            rows,
            tree,
            bytes_used,
            steps: steps.to_vec(),
            hops,
            hop_of,
        }
    }

    /// Rows, anti-matter included.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The nodes that the path ends at, if it only goes through fields that did not overflow: their places
    /// are rows.
    pub(crate) fn ends(&self) -> Option<Vec<u32>> {
        fn follow(hops: &[Hop], out: &mut Vec<u32>) -> bool {
            hops.iter().all(|hop| match &hop.then {
                Then::End => {
                    out.push(hop.node);
                    true
                }
                Then::Field(next, None) => follow(next, out),
                _ => false,
            })
        }
        let mut nodes = Vec::new();
        follow(&self.hops, &mut nodes).then_some(nodes)
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        self.bytes_used
    }

    /// The value at the path in `row`'s document: `None` if it is missing (SQL NULL), [`Scalar::Null`] for
    /// JSON null, [`Scalar::Payload`], assembled in `buf`, for an array or object.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] if the structure proves unsound.
    pub fn get<'a>(&'a self, row: usize, buf: &'a mut Vec<u8>) -> Result<Option<Scalar<'a>>> {
        let found = match self.find(row, buf)? {
            None => return Ok(None),
            Some(found) => found,
        };
        let inside = match found {
            Found::Node {
                node: at,
                place,
                instance,
            } => {
                let node = &self.tree.nodes[at as usize];
                if let Body::Leaf(values) = &node.body {
                    return Ok(Some(match &**values {
                        Values::Lazy(lazy) => lazy.visit(instance as usize, |scalar| Ok(kept(scalar, buf)))?,
                        values => leaf(node.kind, values, instance as usize),
                    }));
                }
                direct::assemble(&self.tree, at, place, instance, buf)?;
                return Ok(Some(Scalar::Payload(buf)));
            }
            Found::Stored(payload, depth) => inside(payload, &self.steps[depth..])?,
            Found::Buffered(depth) => inside(buf, &self.steps[depth..])?,
        };
        Ok(inside.map(|value| match value {
            Json::Null => Scalar::Null,
            Json::Bool(b) => Scalar::Bool(b),
            Json::Numeric(n) => Scalar::of_numeric(n),
            Json::String(s) => Scalar::String(s),
            Json::Array(c) | Json::Object(c) => Scalar::Payload(c.bytes()),
        }))
    }

    /// Where the value at the path is in `row`'s document.
    pub(crate) fn find(&self, row: usize, buf: &mut Vec<u8>) -> Result<Option<Found<'_>>> {
        match u32::try_from(row) {
            Ok(place) if place < self.rows => {
                let hops = match self.hop_of.get(row) {
                    None => &self.hops[..],
                    Some(0) => &[],
                    Some(&number) => &self.hops[number as usize - 1..][..1],
                };
                self.follow(hops, 0, place, buf)
            }
            _ => Ok(None),
        }
    }

    /// The steps that lead on from a value found after `depth` steps.
    pub(crate) fn steps_from(&self, depth: usize) -> &[PathStep] {
        &self.steps[depth..]
    }

    fn follow(&self, hops: &[Hop], depth: usize, place: u32, buf: &mut Vec<u8>) -> Result<Option<Found<'_>>> {
        // A place has one kind of value, so at most one hop is present.
        let found = hops.iter().find_map(|hop| {
            self.tree.nodes[hop.node as usize]
                .presence
                .get(place)
                .map(|instance| (hop, instance))
        });
        let Some((hop, instance)) = found else {
            return Ok(None);
        };
        match (&hop.then, &self.tree.nodes[hop.node as usize].body) {
            (Then::End, _) => Ok(Some(Found::Node {
                node: hop.node,
                place,
                instance,
            })),
            (Then::Inside, Body::Leaf(values)) => Ok(Some(match &**values {
                Values::Lazy(lazy) => {
                    lazy.visit(instance as usize, |scalar| {
                        kept(scalar, buf);
                        Ok(())
                    })?;
                    Found::Buffered(depth)
                }
                values => Found::Stored(values.bytes(instance as usize), depth),
            })),
            (Then::Element(index, next), Body::Array { starts, .. }) => {
                let (start, end) = (
                    i64::from(starts[instance as usize]),
                    i64::from(starts[instance as usize + 1]),
                );
                let slot = if *index < 0 {
                    end + i64::from(*index)
                } else {
                    start + i64::from(*index)
                };
                if slot < start || slot >= end {
                    return Ok(None);
                }
                self.follow(next, depth + 1, slot as u32, buf)
            }
            (Then::Field(next, rest), _) => {
                if let Some((rest, key)) = rest {
                    let rest = &self.tree.nodes[*rest as usize];
                    if let (Some(record), Body::Leaf(values)) = (rest.presence.get(place), &rest.body)
                        && overflowing(values, record as usize, *key, self.tree.max_values, buf)?
                    {
                        return Ok(Some(Found::Buffered(depth + 1)));
                    }
                }
                self.follow(next, depth + 1, place, buf)
            }
            _ => corrupt("path and structure differ"),
        }
    }
}

/// The scalar with what it borrows in `buf`.
fn kept<'a>(scalar: Scalar<'_>, buf: &'a mut Vec<u8>) -> Scalar<'a> {
    let mut keep = |bytes: &[u8]| {
        buf.clear();
        buf.extend_from_slice(bytes);
    };
    match scalar {
        Scalar::Null => Scalar::Null,
        Scalar::Bool(v) => Scalar::Bool(v),
        Scalar::Int(v) => Scalar::Int(v),
        Scalar::Decimal { mantissa, scale } => Scalar::Decimal { mantissa, scale },
        Scalar::Numeric(v) => {
            keep(v);
            Scalar::Numeric(buf)
        }
        Scalar::String(v) => {
            keep(v);
            Scalar::String(buf)
        }
        Scalar::Payload(v) => {
            keep(v);
            Scalar::Payload(buf)
        }
    }
}

/// Where a path ends in a document.
pub(crate) enum Found<'a> {
    /// At an instance of a node.
    Node { node: u32, place: u32, instance: u32 },
    /// In a jsonb that a column holds, after so many steps.
    Stored(&'a [u8], usize),
    /// The same, but the jsonb is in the buffer.
    Buffered(usize),
}

/// Whether `key` is in an overflow record; its value, as jsonb, goes to `out`.
pub(crate) fn overflowing(
    values: &Values,
    record: usize,
    key: u32,
    max_values: usize,
    out: &mut Vec<u8>,
) -> Result<bool> {
    let Values::Rest { keys, records } = values else {
        return corrupt("overflow column without records");
    };
    let mut pairs = Pairs::new(records.get(record), keys);
    while let Some(next) = pairs.next_key()? {
        if next == key {
            return build(out, max_values, |sink| pairs.replay(sink)).map(|()| true);
        }
        if next > key {
            break;
        }
        pairs.skip()?;
    }
    Ok(false)
}

/// The value at `steps` in a jsonb value.
pub(crate) fn inside<'a>(payload: &'a [u8], steps: &[PathStep]) -> Result<Option<Json<'a>>> {
    let mut value = amax_jsonb::root(payload)?;
    for step in steps {
        let next = match (step.key(), step.index(), value) {
            (Some(key), _, Json::Object(c)) => c.get(key)?,
            (_, Some(i), Json::Array(c)) => {
                let at = if i < 0 {
                    c.len() as i64 + i64::from(i)
                } else {
                    i64::from(i)
                };
                match usize::try_from(at) {
                    Ok(at) => c.get_index(at)?,
                    Err(_) => None,
                }
            }
            (.., Json::Object(_) | Json::Array(_)) => None,
            (.., scalar) => step.keeps_scalar().then_some(scalar),
        };
        match next {
            Some(next) => value = next,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn hops(tree: &Tree, nodes: &[u32], steps: &[PathStep]) -> Vec<Hop> {
    let mut out = Vec::new();
    for &node in nodes {
        let Some((step, steps)) = steps.split_first() else {
            out.push(Hop { node, then: Then::End });
            continue;
        };
        let kind = tree.nodes[node as usize].kind;
        let then = match (step.key(), step.index(), &tree.nodes[node as usize].body) {
            (.., Body::Leaf(_)) if kind == Kind::Raw => Then::Inside,
            (.., Body::Leaf(_)) if kind.is_scalar() && step.keeps_scalar() => {
                out.extend(hops(tree, &[node], steps));
                continue;
            }
            (Some(name), _, Body::Object(object)) => {
                let (next, rest) = named(tree, object, name);
                Then::Field(hops(tree, &next, steps), rest)
            }
            (_, Some(i), Body::Array { alternatives, .. }) => Then::Element(i, hops(tree, alternatives, steps)),
            _ => continue,
        };
        out.push(Hop { node, then });
    }
    out
}

/// The nodes of an object's field, and where it is in the overflow column: (node, index of the key).
pub(crate) fn named(tree: &Tree, object: &Object, name: &[u8]) -> (Vec<u32>, Option<(u32, u32)>) {
    let is_it = |key: u32| tree.keys.get(key as usize) == name;
    let fields = object.fields.iter().filter(|field| is_it(field.key));
    let in_rest = |rest: u32| match &tree.nodes[rest as usize].body {
        Body::Leaf(values) => match &**values {
            Values::Rest { keys, .. } => find(keys, name).map(|key| (rest, key)),
            _ => None,
        },
        _ => None,
    };
    (fields.map(|field| field.node).collect(), object.rest.and_then(in_rest))
}

pub(crate) fn find(keys: &crate::strings::ByteVec, name: &[u8]) -> Option<u32> {
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match key_order(keys.get(middle), name) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Some(middle as u32),
        }
    }
    None
}
