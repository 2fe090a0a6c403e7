//! Building jsonb from events.
//!
//! Events are recorded flat, as nodes over one arena of bytes, and laid out when the value is
//! complete: only then are key order, alignment and lengths known. So every byte is copied twice, at
//! any depth, and a builder that is reused allocates nothing but its result.

use std::cmp::Ordering;

use crate::canonical::container_is_canonical;
use crate::layout::*;
use crate::sort::{SortKey, sort_unique};
use crate::{Container, Error, Event, Value, numeric, walk};

mod recorded;
mod write;

use recorded::{Kind, Node, Recorded, WHAT};
pub(crate) use write::{Entries, pad};

/// Builds one jsonb value at a time, byte for byte as PostgreSQL's `JsonbValueToJsonb` does: keys
/// sorted by (length, bytes), the last of duplicate keys kept, numerics and containers int-aligned.
///
/// Calls that do not fit together, or values too large, are remembered; [`Builder::finish`] reports
/// the first such error.
#[derive(Debug, Default)]
pub struct Builder {
    recorded: Recorded,
    open: Vec<Open>,
    /// Reused by [`Builder::end_object`].
    sort: Vec<SortKey>,
    /// Reused by [`Builder::finish`].
    pending: Vec<write::Pending>,
    error: Option<Error>,
}

/// A container begun and not yet ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    /// Elements, or keys, so far.
    count: u32,
    object: bool,
    /// A key waits for its value.
    keyed: bool,
    /// No key so far was out of order.
    sorted: bool,
    /// The last key, in the arena.
    key_start: u32,
    key_len: u32,
}

impl Builder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets everything begun, and any error; keeps the memory.
    pub fn reset(&mut self) {
        self.recorded.nodes.clear();
        self.recorded.arena.clear();
        self.open.clear();
        self.recorded.order.clear();
        self.error = None;
    }

    /// Begins an object; [`Builder::key`] and a value alternate until [`Builder::end_object`].
    pub fn begin_object(&mut self) {
        self.begin(Kind::Object);
    }

    /// The key of the next value: bytes in the database's encoding.
    #[inline]
    pub fn key(&mut self, key: &[u8]) {
        let Some((start, len)) = self.store(key) else {
            return;
        };
        let Some(open) = self.open.last_mut().filter(|open| open.object && !open.keyed) else {
            return self.fail(Error::Misuse("key where a value is expected"));
        };
        if open.count > 0 && open.sorted {
            let last = &self.recorded.arena[open.key_start as usize..][..open.key_len as usize];
            open.sorted = match open.key_len.cmp(&len) {
                Ordering::Less => true,
                // The first byte mostly decides, without a call to compare the rest.
                Ordering::Equal => last.first() < key.first() || last < key,
                Ordering::Greater => false,
            };
        }
        open.keyed = true;
        open.count += 1;
        (open.key_start, open.key_len) = (start, len);
        self.recorded.nodes.push(Node {
            kind: Kind::String,
            a: start,
            b: len,
            c: 0,
        });
    }

    /// Ends the innermost container, an object.
    pub fn end_object(&mut self) {
        let Some(open) = self.end(true) else { return };
        let mut node = Node {
            kind: Kind::Object,
            a: self.recorded.nodes.len() as u32,
            b: open.count,
            c: 0,
        };
        if !open.sorted {
            self.sort.clear();
            let mut next = open.node as usize + 1;
            while next < self.recorded.nodes.len() {
                let key = self.recorded.nodes[next];
                let bytes = &self.recorded.arena[key.a as usize..][..key.b as usize];
                self.sort.push(SortKey::new(bytes, key.a, next as u32));
                next = self.recorded.after(next + 1);
            }
            sort_unique(&mut self.sort, &self.recorded.arena);
            node.kind = Kind::Sorted;
            node.b = self.sort.len() as u32;
            node.c = self.recorded.order.len() as u32;
            self.recorded.order.extend(self.sort.iter().map(|key| key.node));
        }
        self.recorded.nodes[open.node as usize] = node;
    }

    /// Begins an array; values follow until [`Builder::end_array`].
    pub fn begin_array(&mut self) {
        self.begin(Kind::Array);
    }

    /// Ends the innermost container, an array.
    pub fn end_array(&mut self) {
        let Some(open) = self.end(false) else { return };
        self.recorded.nodes[open.node as usize] = Node {
            kind: Kind::Array,
            a: self.recorded.nodes.len() as u32,
            b: open.count,
            c: 0,
        };
    }

    /// JSON null.
    #[inline]
    pub fn null(&mut self) {
        self.push(Kind::Null, 0, 0);
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.push(if value { Kind::True } else { Kind::False }, 0, 0);
    }

    /// A string: unescaped bytes in the database's encoding.
    #[inline]
    pub fn string(&mut self, value: &[u8]) {
        if let Some((start, len)) = self.store(value) {
            self.push(Kind::String, start, len);
        }
    }

    /// A number: a numeric's bytes after its varlena header, kept as they are.
    #[inline]
    pub fn numeric(&mut self, payload: &[u8]) {
        if let Err(error) = numeric::check(payload) {
            return self.fail(error);
        }
        if let Some((start, len)) = self.store(payload) {
            self.push(Kind::Numeric, start, len);
        }
    }

    /// An integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        let start = self.recorded.arena.len();
        numeric::encode_int(value, &mut self.recorded.arena);
        self.push_encoded(start);
    }

    /// `mantissa` / 10^`scale`, displayed with `scale` decimals; at most [`numeric::MAX_SCALE`].
    #[inline]
    pub fn decimal(&mut self, mantissa: i64, scale: u16) {
        let start = self.recorded.arena.len();
        match numeric::encode_decimal(mantissa, scale, &mut self.recorded.arena) {
            Ok(()) => self.push_encoded(start),
            Err(error) => self.fail(error),
        }
    }

    /// A number in text, as [`numeric::from_text`] reads it.
    ///
    /// # Errors
    /// As [`numeric::from_text`]; the builder is then unchanged.
    pub fn number(&mut self, text: &[u8]) -> Result<(), Error> {
        let start = self.recorded.arena.len();
        numeric::parse(text, &mut self.recorded.arena)?;
        self.push_encoded(start);
        Ok(())
    }

    /// Any value read from elsewhere, with all below it. A container that is canonical is copied as
    /// it stands, another one rebuilt.
    pub fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Null => self.null(),
            Value::Bool(value) => self.bool(value),
            Value::Numeric(payload) => self.numeric(payload),
            Value::String(bytes) => self.string(bytes),
            Value::Array(container) | Value::Object(container) => self.container(container),
        }
    }

    fn container(&mut self, container: Container<'_>) {
        if container_is_canonical(container) {
            if let Some((start, len)) = self.store(container.bytes()) {
                self.push(Kind::Raw, start, len);
            }
            return;
        }
        let value = if container.is_object() {
            Value::Object(container)
        } else {
            Value::Array(container)
        };
        for event in walk(value) {
            match event {
                Ok(event) => self.event(event),
                Err(error) => return self.fail(error),
            }
        }
    }

    /// One event of a [`walk()`].
    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Scalar(value) => self.value(value),
            Event::Key(key) => self.key(key),
            Event::BeginArray(_) => self.begin_array(),
            Event::EndArray => self.end_array(),
            Event::BeginObject(_) => self.begin_object(),
            Event::EndObject => self.end_object(),
        }
    }

    /// The finished payload, a root scalar wrapped as PostgreSQL does; the builder is then empty.
    ///
    /// # Errors
    /// The first error of any call since the builder was empty, [`Error::Misuse`] if there is not
    /// exactly one complete value, or [`Error::TooLarge`].
    pub fn finish(&mut self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.finish_into(&mut out)?;
        Ok(out)
    }

    /// As [`Builder::finish`], appending to `out`, which may hold anything of any length before:
    /// alignment counts from where the payload starts. After an error `out` is as it was.
    ///
    /// # Errors
    /// As [`Builder::finish`].
    pub fn finish_into(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let base = out.len();
        let result = match self.error.take() {
            Some(error) => Err(error),
            None if !self.open.is_empty() => Err(Error::Misuse("container not ended")),
            None if self.recorded.nodes.is_empty() => Err(Error::Misuse("no value")),
            None => self.recorded.write(out, &mut self.pending),
        };
        if result.is_err() {
            out.truncate(base);
        }
        self.reset();
        result
    }

    fn begin(&mut self, kind: Kind) {
        let node = self.recorded.nodes.len() as u32;
        // Pushed even after an error, so that the matching end still finds it.
        self.push(kind, 0, 0);
        self.open.push(Open {
            node,
            count: 0,
            object: kind == Kind::Object,
            keyed: false,
            sorted: true,
            key_start: 0,
            key_len: 0,
        });
    }

    /// Closes the innermost container; `None`, and nothing to do, after any error.
    fn end(&mut self, object: bool) -> Option<Open> {
        match self.open.pop() {
            Some(open) if open.object == object && !open.keyed => {
                let children = open.count as usize * (1 + usize::from(object));
                if children > JENTRY_OFFLENMASK as usize / WORD {
                    self.fail(Error::TooLarge);
                }
                self.error.is_none().then_some(open)
            }
            _ => {
                self.fail(Error::Misuse("end does not match"));
                None
            }
        }
    }

    #[inline]
    fn push(&mut self, kind: Kind, a: u32, b: u32) {
        match self.open.last_mut() {
            Some(open) if open.object => {
                if !open.keyed {
                    return self.fail(Error::Misuse("value without a key"));
                }
                open.keyed = false;
            }
            Some(open) => open.count += 1,
            None if self.recorded.nodes.is_empty() => {}
            None => return self.fail(Error::Misuse("more than one root value")),
        }
        if let Err(error) = amax_memory::reserve(&mut self.recorded.nodes, 1, WHAT) {
            return self.fail(error.into());
        }
        if self.recorded.nodes.len() >= MAX_NODES {
            return self.fail(Error::TooLarge);
        }
        self.recorded.nodes.push(Node { kind, a, b, c: 0 });
    }

    fn push_encoded(&mut self, start: usize) {
        let len = self.recorded.arena.len() - start;
        if self.recorded.arena.len() > u32::MAX as usize {
            return self.fail(Error::TooLarge);
        }
        self.push(Kind::Numeric, start as u32, len as u32);
    }

    /// Copies to the arena; `None` after failing for size.
    #[inline]
    fn store(&mut self, bytes: &[u8]) -> Option<(u32, u32)> {
        let start = self.recorded.arena.len();
        if bytes.len() > JENTRY_OFFLENMASK as usize || start + bytes.len() > u32::MAX as usize {
            self.fail(Error::TooLarge);
            return None;
        }
        if let Err(error) = amax_memory::extend(&mut self.recorded.arena, bytes, WHAT) {
            self.fail(error.into());
            return None;
        }
        Some((start as u32, bytes.len() as u32))
    }

    #[cold]
    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }
}

/// More children than a container of the largest size has; duplicates of keys count too.
const MAX_NODES: usize = 1 << 30;
