//! Shredding with schema inference in one pass: each value is appended to the node of its path and kind,
//! which is made when first met.

use amax_jsonb::{Container, StoredKeys, Value as Json};
use hashbrown::DefaultHashBuilder;
use hashbrown::hash_table::{Entry, HashTable};
use std::hash::{BuildHasher, Hasher};

use crate::error::{Error, Result};
use crate::kind::{KINDS, Kind};
use crate::scalar::Scalar;
use crate::strings::ByteVec;
use crate::tree::key_order;
use crate::values::Values;

/// Not a node.
pub(crate) const NONE: u32 = u32::MAX;

/// Containers nested deeper stay jsonb.
const MAX_DEPTH: usize = 100;

/// Keys inferred per column; objects' further keys go to their overflow as they come.
pub(crate) const MAX_KEYS: usize = 1 << 17;

/// What memory is asked for.
const WHAT: &str = "the rows of a leaf";

/// Slots of one array path: what a level stream can count.
pub(crate) const MAX_SLOTS: u32 = 1 << 28;

/// The node of each kind at one place, or [`NONE`].
pub(crate) type Alternatives = [u32; KINDS];

/// A column under construction: schema and values together.
#[derive(Debug)]
pub(crate) struct Shredder {
    pub(crate) nodes: Vec<Node>,
    pub(crate) keys: Vec<Key>,
    pub(crate) roots: Alternatives,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// About what it takes in memory.
    pub(crate) bytes: usize,
    /// Up to so many bytes memory has been asked for.
    asked: usize,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The array node above, or [`NONE`].
    pub(crate) array: u32,
    /// Where the values are: ascending slots of that array, or rows.
    pub(crate) places: Vec<u32>,
    pub(crate) body: Body,
}

#[derive(Debug)]
pub(crate) enum Body {
    Leaf(Values),
    Object {
        /// Keys met, in no order.
        keys: Vec<u32>,
        /// The key that came first in the last object.
        first: u32,
        /// The nameless key whose values are the pairs that came after [`MAX_KEYS`] keys, or [`NONE`].
        late: u32,
        known: Option<Box<Known>>,
    },
    Array {
        /// First slot of each instance.
        starts: Vec<u32>,
        slots: u32,
        alternatives: Alternatives,
    },
}

/// The keys of an object that came before: documents of few shapes have the same ones again and again.
#[derive(Debug)]
pub(crate) struct Known {
    stored: StoredKeys,
    keys: Vec<u32>,
    /// Objects since then with other keys.
    others: u32,
}

/// Keys of an object that are remembered.
const MOST_KNOWN: usize = 256;

/// Objects with other keys after which keys are forgotten for newer ones.
const OTHERS: u32 = 8;

#[derive(Debug)]
pub(crate) struct Key {
    object: u32,
    pub(crate) name: Box<[u8]>,
    pub(crate) alternatives: Alternatives,
    /// The key that followed this one the last time.
    next: u32,
}

/// Where a value hangs in the schema.
#[derive(Clone, Copy)]
pub(crate) enum At {
    Root,
    Key(u32),
    Element(u32),
}

impl Shredder {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            keys: Vec::new(),
            roots: [NONE; KINDS],
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            bytes: 0,
            asked: amax_memory::SMALL,
        }
    }

    /// Asks for the memory that vectors take when they grow: they double, and have their old memory until they have
    /// moved.
    #[inline]
    pub(crate) fn room(&mut self, more: usize) -> Result<()> {
        amax_memory::check(WHAT)?;
        let bytes = self.bytes + more;
        if bytes > self.asked {
            amax_memory::ask(2 * bytes, WHAT)?;
            self.asked = bytes + bytes / 4 + amax_memory::SMALL;
        }
        Ok(())
    }

    /// Appends a document at `row`; rows ascend.
    ///
    /// # Errors
    /// If the payload is not sound jsonb, or a limit is hit; the shredder must not be used further then.
    pub(crate) fn push_json(&mut self, row: u32, payload: &[u8]) -> Result<()> {
        self.room(payload.len())?;
        self.json(At::Root, NONE, row, amax_jsonb::root(payload)?, 0)
    }

    /// Appends an SQL value at `row`.
    pub(crate) fn push_scalar(&mut self, row: u32, scalar: Scalar<'_>) -> Result<()> {
        let bytes = match scalar {
            Scalar::Numeric(bytes) | Scalar::String(bytes) | Scalar::Payload(bytes) => bytes.len(),
            _ => 0,
        };
        self.room(bytes)?;
        self.scalar(At::Root, NONE, row, scalar)
    }

    /// Appends integers of consecutive rows, the first one at `row`.
    pub(crate) fn push_ints(&mut self, row: u32, values: &[i64]) -> Result<()> {
        let bytes = values.len() * (size_of::<u32>() + size_of::<i64>());
        self.room(bytes)?;
        let node = self.node(At::Root, NONE, Kind::Int);
        let node = &mut self.nodes[node as usize];
        let Body::Leaf(Values::Int(ints)) = &mut node.body else {
            return Err(Error::Misuse("not an integer column"));
        };
        node.places.extend((row..).take(values.len()));
        ints.extend_from_slice(values);
        self.bytes += bytes;
        Ok(())
    }

    /// Appends the bits of a float at `row`.
    pub(crate) fn push_float(&mut self, row: u32, kind: Kind, bits: u64) -> Result<()> {
        self.room(0)?;
        match self.leaf(At::Root, NONE, kind, row) {
            Body::Leaf(Values::Float4(v)) => v.push(bits as u32),
            Body::Leaf(Values::Float8(v)) => v.push(bits),
            _ => return Err(Error::Misuse("not a float column")),
        }
        self.bytes += 8;
        Ok(())
    }

    #[inline(always)]
    fn json(&mut self, at: At, array: u32, place: u32, value: Json<'_>, depth: usize) -> Result<()> {
        self.room(0)?;
        match value {
            Json::Null => self.scalar(at, array, place, Scalar::Null),
            Json::Bool(b) => self.scalar(at, array, place, Scalar::Bool(b)),
            Json::Numeric(n) => self.scalar(at, array, place, Scalar::of_numeric(n)),
            Json::String(s) => self.string(at, array, place, Kind::Bytes, s),
            Json::Object(c) | Json::Array(c) => self.container(at, array, place, c, depth),
        }
    }

    fn container(&mut self, at: At, array: u32, place: u32, c: Container<'_>, depth: usize) -> Result<()> {
        if c.is_empty() {
            let kind = match c.is_object() {
                true => Kind::EmptyObject,
                false => Kind::EmptyArray,
            };
            self.leaf(at, array, kind, place);
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return self.scalar(at, array, place, Scalar::Payload(c.bytes()));
        }
        if c.is_object() {
            return self.object(at, array, place, c, depth);
        }
        let node = self.node(at, array, Kind::Array);
        let first = match &mut self.nodes[node as usize] {
            Node {
                places,
                body: Body::Array { starts, slots, .. },
                ..
            } => {
                if c.len() as u64 + u64::from(*slots) > u64::from(MAX_SLOTS) {
                    return Err(Error::Limit("elements of one array path"));
                }
                places.push(place);
                starts.push(*slots);
                let first = *slots;
                *slots += c.len() as u32;
                first
            }
            _ => return Err(Error::Misuse("not an array node")),
        };
        self.bytes += 8;
        for (slot, element) in (first..).zip(c.elements()) {
            self.json(At::Element(node), node, slot, element?, depth + 1)?;
        }
        Ok(())
    }

    fn object(&mut self, at: At, array: u32, place: u32, object: Container<'_>, depth: usize) -> Result<()> {
        let node = self.node(at, array, Kind::Object);
        self.nodes[node as usize].places.push(place);
        self.bytes += 4;
        self.pairs(node, array, place, object, depth)
    }

    /// Appends the pairs of an object, or some of them, to its node.
    pub(crate) fn pairs(
        &mut self,
        node: u32,
        array: u32,
        place: u32,
        object: Container<'_>,
        depth: usize,
    ) -> Result<()> {
        // Out of the node meanwhile, which is not among what is below it.
        let mut known = self.known(node).and_then(Option::take);
        if let Some(known) = &mut known
            && let Some(values) = object.values_of(&known.stored)
        {
            for (&key, value) in known.keys.iter().zip(values) {
                self.json(At::Key(key), array, place, value?, depth + 1)?;
            }
            known.others = 0;
        } else {
            let others = known.as_ref().map_or(1, |known| known.others + 1);
            let mut keys = Vec::new();
            self.other_pairs(node, array, place, object, depth, &mut keys)?;
            match &mut known {
                Some(known) if others < OTHERS => known.others = others,
                _ => known = self.new_known(node, &object, keys),
            }
        }
        if let Some(of_node) = self.known(node) {
            *of_node = known;
        }
        Ok(())
    }

    fn known(&mut self, object: u32) -> Option<&mut Option<Box<Known>>> {
        match &mut self.nodes[object as usize].body {
            Body::Object { known, .. } => Some(known),
            _ => None,
        }
    }

    /// The keys of an object, to know others by; not of the first of its node, which may be the only one.
    fn new_known(&mut self, node: u32, object: &Container<'_>, keys: Vec<u32>) -> Option<Box<Known>> {
        if keys.len() != object.len() || self.nodes[node as usize].places.len() < 2 {
            return None;
        }
        let stored = StoredKeys::of(object)?;
        self.bytes += stored.bytes() + 4 * keys.len();
        Some(Box::new(Known {
            stored,
            keys,
            others: 0,
        }))
    }

    /// The same of pairs whose keys are looked up one by one, and put into `found`, but for those that are no columns.
    fn other_pairs(
        &mut self,
        node: u32,
        array: u32,
        place: u32,
        object: Container<'_>,
        depth: usize,
        found: &mut Vec<u32>,
    ) -> Result<()> {
        let mut before = NONE;
        let mut previous: Option<&[u8]> = None;
        let mut late: Option<amax_jsonb::Builder> = None;
        for pair in object.pairs() {
            let (name, value) = pair?;
            let key = match self.guess(node, before, name) {
                // Keys that have followed each other before were in order then.
                Some(key) if late.is_none() => Some(key),
                _ if previous.is_some_and(|previous| key_order(previous, name).is_ge()) => {
                    return Err(amax_jsonb::Error::Corrupt("object keys are not in order").into());
                }
                _ => self.key(node, before, name),
            };
            previous = Some(name);
            let Some(key) = key else {
                let builder = late.get_or_insert_with(|| {
                    let mut builder = amax_jsonb::Builder::new();
                    builder.begin_object();
                    builder
                });
                builder.key(name);
                builder.value(value);
                amax_memory::check(WHAT)?;
                continue;
            };
            before = key;
            if found.len() < MOST_KNOWN {
                found.push(key);
            }
            self.json(At::Key(key), array, place, value, depth + 1)?;
        }
        if let Some(mut builder) = late {
            builder.end_object();
            let payload = builder.finish()?;
            self.late(node, array, place, &payload)?;
        }
        Ok(())
    }

    /// Keeps the pairs of an object whose keys came after [`MAX_KEYS`] others.
    fn late(&mut self, object: u32, array: u32, place: u32, payload: &[u8]) -> Result<()> {
        let key = self.keys.len() as u32;
        let Body::Object { late, .. } = &mut self.nodes[object as usize].body else {
            return Err(Error::Misuse("not an object node"));
        };
        if *late == NONE {
            *late = key;
            self.keys.push(Key {
                object: NONE,
                name: Box::default(),
                alternatives: [NONE; KINDS],
                next: NONE,
            });
        }
        let key = *late;
        self.scalar(At::Key(key), array, place, Scalar::Payload(payload))
    }

    #[inline(always)]
    fn scalar(&mut self, at: At, array: u32, place: u32, scalar: Scalar<'_>) -> Result<()> {
        let kind = match scalar {
            Scalar::Null => Kind::Null,
            Scalar::Bool(_) => Kind::Bool,
            Scalar::Int(_) => Kind::Int,
            Scalar::Decimal { .. } => Kind::Decimal,
            Scalar::Numeric(bytes) => return self.string(at, array, place, Kind::Numeric, bytes),
            Scalar::String(bytes) => return self.string(at, array, place, Kind::Bytes, bytes),
            Scalar::Payload(bytes) => return self.string(at, array, place, Kind::Raw, bytes),
        };
        let values = self.leaf(at, array, kind, place);
        let bytes = match (values, scalar) {
            (Body::Leaf(Values::None), _) => 0,
            (Body::Leaf(Values::Bool(v)), Scalar::Bool(b)) => {
                v.push(b);
                1
            }
            (Body::Leaf(Values::Int(v)), Scalar::Int(i)) => {
                v.push(i);
                8
            }
            (Body::Leaf(Values::Decimal { mantissa, scale }), Scalar::Decimal { mantissa: m, scale: s }) => {
                mantissa.push(m);
                scale.push(s);
                10
            }
            _ => return Err(Error::Misuse("value of another kind")),
        };
        self.bytes += bytes;
        Ok(())
    }

    /// Appends what is kept as bytes.
    fn string(&mut self, at: At, array: u32, place: u32, kind: Kind, bytes: &[u8]) -> Result<()> {
        let Body::Leaf(Values::Bytes(values)) = self.leaf(at, array, kind, place) else {
            return Err(Error::Misuse("value of another kind"));
        };
        values.push(bytes)?;
        self.bytes += 4 + bytes.len();
        Ok(())
    }

    /// The body of the leaf node of `kind` at `at`, with `place` added.
    #[inline(always)]
    fn leaf(&mut self, at: At, array: u32, kind: Kind, place: u32) -> &mut Body {
        let node = self.node(at, array, kind);
        self.bytes += 4;
        let node = &mut self.nodes[node as usize];
        node.places.push(place);
        &mut node.body
    }

    #[inline]
    pub(crate) fn node(&mut self, at: At, array: u32, kind: Kind) -> u32 {
        let alternatives = match at {
            At::Root => &self.roots,
            At::Key(key) => &self.keys[key as usize].alternatives,
            At::Element(node) => match &self.nodes[node as usize].body {
                Body::Array { alternatives, .. } => alternatives,
                _ => &self.roots,
            },
        };
        match alternatives[kind as usize] {
            NONE => self.new_node(at, array, kind),
            node => node,
        }
    }

    #[cold]
    fn new_node(&mut self, at: At, array: u32, kind: Kind) -> u32 {
        let id = self.nodes.len() as u32;
        let alternatives = match at {
            At::Root => &mut self.roots,
            At::Key(key) => &mut self.keys[key as usize].alternatives,
            At::Element(node) => match &mut self.nodes[node as usize].body {
                Body::Array { alternatives, .. } => alternatives,
                _ => &mut self.roots,
            },
        };
        alternatives[kind as usize] = id;
        let body = match kind {
            Kind::Object => Body::Object {
                keys: Vec::new(),
                first: NONE,
                late: NONE,
                known: None,
            },
            Kind::Array => Body::Array {
                starts: Vec::new(),
                slots: 0,
                alternatives: [NONE; KINDS],
            },
            Kind::Bool => Body::Leaf(Values::Bool(Vec::new())),
            Kind::Int => Body::Leaf(Values::Int(Vec::new())),
            Kind::Decimal => Body::Leaf(Values::Decimal {
                mantissa: Vec::new(),
                scale: Vec::new(),
            }),
            Kind::Numeric | Kind::Bytes | Kind::Raw => Body::Leaf(Values::Bytes(ByteVec::default())),
            Kind::Float4 => Body::Leaf(Values::Float4(Vec::new())),
            Kind::Float8 => Body::Leaf(Values::Float8(Vec::new())),
            Kind::Null | Kind::EmptyObject | Kind::EmptyArray | Kind::Rest => Body::Leaf(Values::None),
        };
        self.nodes.push(Node {
            kind,
            array,
            places: Vec::new(),
            body,
        });
        self.bytes += std::mem::size_of::<Node>() + 64;
        id
    }

    /// The key `name` of `object`, if it is the one that followed `before` the last time.
    #[inline]
    fn guess(&self, object: u32, before: u32, name: &[u8]) -> Option<u32> {
        let guess = if before != NONE {
            self.keys[before as usize].next
        } else {
            match &self.nodes[object as usize].body {
                Body::Object { first, .. } => *first,
                _ => NONE,
            }
        };
        (guess != NONE && *self.keys[guess as usize].name == *name).then_some(guess)
    }

    /// The key `name` of `object`, which now follows `before`. `None` if it is new and there are too many.
    fn key(&mut self, object: u32, before: u32, name: &[u8]) -> Option<u32> {
        let key = self.find(object, name)?;
        if before != NONE {
            self.keys[before as usize].next = key;
        } else if let Body::Object { first, .. } = &mut self.nodes[object as usize].body {
            *first = key;
        }
        Some(key)
    }

    pub(crate) fn find(&mut self, object: u32, name: &[u8]) -> Option<u32> {
        let hash_of = |object: u32, name: &[u8]| {
            let mut hasher = self.hasher.build_hasher();
            hasher.write_u32(object);
            hasher.write(name);
            hasher.finish()
        };
        let keys = &mut self.keys;
        let hash = hash_of(object, name);
        let full = keys.len() >= MAX_KEYS;
        let same = |&key: &u32| keys[key as usize].object == object && *keys[key as usize].name == *name;
        if full {
            return self.table.find(hash, same).copied();
        }
        match self.table.entry(hash, same, |&key| {
            hash_of(keys[key as usize].object, &keys[key as usize].name)
        }) {
            Entry::Occupied(entry) => Some(*entry.get()),
            Entry::Vacant(entry) => {
                let key = keys.len() as u32;
                entry.insert(key);
                keys.push(Key {
                    object,
                    name: name.into(),
                    alternatives: [NONE; KINDS],
                    next: NONE,
                });
                if let Body::Object { keys, .. } = &mut self.nodes[object as usize].body {
                    keys.push(key);
                }
                self.bytes += std::mem::size_of::<Key>() + name.len() + 32;
                Some(key)
            }
        }
    }
}
