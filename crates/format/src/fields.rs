//! Objects taken apart: each field gets a place of its own, whether it has columns or is in the overflow column.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dense::Filling;
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::presence::Presence;
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::sink::build;
use crate::strings::ByteVec;
use crate::tag::Tag;
use crate::taken::{Taken, moved, sum_up};
use crate::tokens::Pairs;
use crate::tree::{Body, Object, Tree, key_order};
use crate::values::Values;
use amax_jsonb::Value as Json;

/// What memory is asked for.
const UNNESTING: &str = "unnesting";

/// A pair of an overflow record, and the number of its value.
#[derive(Clone, Copy)]
struct Pair {
    key: u32,
    place: u32,
    value: u32,
}

/// What is in an object's overflow column, in the order of keys, then places.
struct Overflow {
    column: Arc<Values>,
    pairs: Vec<Pair>,
}

/// Where the values of a key are.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// At a node.
    Field(u32),
    Overflow(&'a [Pair]),
}

/// The fields of the first place come first, each place's in the order of keys. Of those that overflowed the values are
/// there if they are `wanted`.
pub(crate) fn fields(tree: &mut Tree, objects: &[u32], places: u32, wanted: bool) -> Result<Taken> {
    let mut values = ByteVec::default();
    let (mut overflows, mut count): (Vec<Overflow>, usize) = (Vec::new(), 0);
    for &object in objects {
        let Some(rest) = object_at(tree, object)?.rest else {
            continue;
        };
        if let Some(overflow) = Overflow::read(tree, rest, count, wanted.then_some(&mut values))? {
            count += overflow.pairs.len();
            overflows.push(overflow);
        }
    }
    amax_memory::ask(count * size_of::<u32>(), UNNESTING)?;
    let mut overflowed = vec![0u32; count];
    let placed = Placed::new(tree, objects, &overflows, places, &mut overflowed)?;
    let n = placed.codes.len();
    let mut alternatives = Vec::with_capacity(placed.moves.len());
    for (node, to) in &placed.moves {
        let presence = tree.nodes[*node as usize].presence.clone();
        alternatives.push(moved(tree, *node, &presence, to, n as u32));
    }
    if wanted {
        alternatives.extend(push_values(tree, &overflowed, &values, n as u32)?);
    }
    let mut keys = Filling::of_codes(n, placed.names);
    for (element, code) in placed.codes.into_iter().enumerate() {
        keys.set(element, Tag::String, code);
    }
    Ok(Taken {
        starts: placed.starts,
        alternatives,
        keys: keys.finish(),
    })
}

fn object_at(tree: &Tree, node: u32) -> Result<&Object> {
    match &tree.nodes[node as usize].body {
        Body::Object(object) => Ok(object),
        _ => corrupt("object is none"),
    }
}

/// Which place each field gets.
struct Placed {
    starts: Vec<u32>,
    names: ByteVec,
    /// The name of each element.
    codes: Vec<i64>,
    /// Nodes, and the elements that their places become.
    moves: Vec<(u32, Vec<u32>)>,
}

impl Placed {
    /// The elements that values in overflow columns become go to `overflowed`.
    fn new(tree: &Tree, objects: &[u32], overflows: &[Overflow], places: u32, overflowed: &mut [u32]) -> Result<Self> {
        let mut sources: Vec<(&[u8], Source)> = Vec::new();
        for &object in objects {
            let fields = object_at(tree, object)?.fields.iter();
            sources.extend(fields.map(|field| (tree.keys.get(field.key as usize), Source::Field(field.node))));
        }
        for overflow in overflows {
            let names = overflow.names()?;
            let keys = overflow.pairs.chunk_by(|a, b| a.key == b.key);
            sources.extend(keys.map(|pairs| (names.get(pairs[0].key as usize), Source::Overflow(pairs))));
        }
        sources.sort_by(|a, b| key_order(a.0, b.0));
        let mut starts = vec![0u32; places as usize + 1];
        for (_, source) in &sources {
            source.each(tree, |place, _| starts[place as usize + 1] += 1);
        }
        let n = sum_up(&mut starts);
        amax_memory::ask(n as usize * 3 * size_of::<i64>(), UNNESTING)?;
        let mut next = starts.clone();
        let mut placed = Self {
            starts,
            names: ByteVec::default(),
            codes: vec![0i64; n as usize],
            moves: Vec::new(),
        };
        for (name, source) in sources {
            // One of a key's kinds, objects and columns after the other.
            if placed.names.len() == 0 || placed.names.get(placed.names.len() - 1) != name {
                placed.names.push(name)?;
            }
            let code = placed.names.len() as i64 - 1;
            let mut to = Vec::new();
            source.each(tree, |place, value| {
                let element = &mut next[place as usize];
                placed.codes[*element as usize] = code;
                match value {
                    Some(value) => overflowed[value as usize] = *element,
                    None => to.push(*element),
                }
                *element += 1;
            });
            if let Source::Field(node) = source {
                placed.moves.push((node, to));
            }
        }
        Ok(placed)
    }
}

impl Source<'_> {
    /// Visits its places, in order, with the numbers of overflowed values.
    fn each(&self, tree: &Tree, mut visit: impl FnMut(u32, Option<u32>)) {
        match self {
            Self::Field(node) => tree.nodes[*node as usize]
                .presence
                .iter()
                .for_each(|place| visit(place, None)),
            Self::Overflow(pairs) => pairs.iter().for_each(|pair| visit(pair.place, Some(pair.value))),
        }
    }
}

impl Overflow {
    /// Of the overflow column at a node, if it was read; its values' numbers begin with `first`. As jsonb they go to
    /// `values`, if they are wanted.
    fn read(tree: &Tree, rest: u32, first: usize, mut values: Option<&mut ByteVec>) -> Result<Option<Self>> {
        let rest = &tree.nodes[rest as usize];
        let Body::Leaf(column) = &rest.body else {
            return corrupt("overflow column is none");
        };
        let Values::Rest { keys, records } = &**column else {
            return Ok(None);
        };
        let mut pairs = Vec::new();
        let mut buffer = Vec::new();
        for (record, place) in rest.presence.iter().enumerate() {
            let mut record = Pairs::new(records.get(record), keys);
            while let Some(key) = record.next_key()? {
                match &mut values {
                    Some(values) => {
                        build(&mut buffer, tree.max_values, |sink| record.replay(sink))?;
                        values.push(&buffer)?;
                    }
                    None => record.skip()?,
                }
                let value = (first + pairs.len()) as u32;
                amax_memory::extend(&mut pairs, &[Pair { key, place, value }], UNNESTING)?;
            }
        }
        pairs.sort_by_key(|pair| pair.key);
        let column = column.clone();
        Ok(Some(Self { column, pairs }))
    }

    fn names(&self) -> Result<&ByteVec> {
        match &*self.column {
            Values::Rest { keys, .. } => Ok(keys),
            _ => corrupt("overflow column without keys"),
        }
    }
}

/// Makes nodes, one of each kind, of values as jsonb, each of which becomes an element; those are `universe`.
fn push_values(tree: &mut Tree, elements: &[u32], values: &ByteVec, universe: u32) -> Result<Vec<u32>> {
    amax_memory::ask(size_of_val(elements) * 4, UNNESTING)?;
    let mut order: Vec<(u32, usize)> = elements.iter().copied().zip(0..).collect();
    order.sort_unstable();
    let mut kinds: BTreeMap<Kind, (Vec<u32>, Values)> = BTreeMap::new();
    for (element, value) in order {
        let (kind, scalar) = kind_of(values.get(value))?;
        let (places, values) = kinds.entry(kind).or_insert_with(|| (Vec::new(), empty(kind)));
        amax_memory::extend(places, &[element], UNNESTING)?;
        match (values, scalar) {
            (Values::None, _) => {}
            (Values::Bool(v), Scalar::Bool(value)) => v.push(value),
            (Values::Int(v), Scalar::Int(value)) => v.push(value),
            (Values::Decimal { mantissa, scale }, Scalar::Decimal { mantissa: m, scale: s }) => {
                mantissa.push(m);
                scale.push(s);
            }
            (Values::Bytes(v), Scalar::Numeric(bytes) | Scalar::String(bytes) | Scalar::Payload(bytes)) => {
                v.push(bytes)?;
            }
            _ => return corrupt("value of another kind"),
        }
    }
    let nodes = kinds.into_iter().map(|(kind, (places, values))| {
        let presence = Arc::new(Presence::new(places, universe));
        tree.push(kind, presence, Body::Leaf(Arc::new(values)))
    });
    Ok(nodes.collect())
}

/// Where a value would be if it had a column.
fn kind_of(payload: &[u8]) -> Result<(Kind, Scalar<'_>)> {
    let scalar = match amax_jsonb::root(payload)? {
        Json::Null => Scalar::Null,
        Json::Bool(value) => Scalar::Bool(value),
        Json::Numeric(bytes) => Scalar::of_numeric(bytes),
        Json::String(bytes) => Scalar::String(bytes),
        Json::Array(_) | Json::Object(_) => Scalar::Payload(payload),
    };
    let kind = match scalar {
        Scalar::Null => Kind::Null,
        Scalar::Bool(_) => Kind::Bool,
        Scalar::Int(_) => Kind::Int,
        Scalar::Decimal { .. } => Kind::Decimal,
        Scalar::Numeric(_) => Kind::Numeric,
        Scalar::String(_) => Kind::Bytes,
        Scalar::Payload(EMPTY_OBJECT) => Kind::EmptyObject,
        Scalar::Payload(EMPTY_ARRAY) => Kind::EmptyArray,
        Scalar::Payload(_) => Kind::Raw,
    };
    Ok((kind, scalar))
}

fn empty(kind: Kind) -> Values {
    match kind {
        Kind::Bool => Values::Bool(Vec::new()),
        Kind::Int => Values::Int(Vec::new()),
        Kind::Decimal => Values::Decimal {
            mantissa: Vec::new(),
            scale: Vec::new(),
        },
        Kind::Numeric | Kind::Bytes | Kind::Raw => Values::Bytes(ByteVec::default()),
        _ => Values::None,
    }
}
