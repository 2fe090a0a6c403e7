//! Record assembly: from a [`Tree`] to one value's events (AMAX paper §3.4).

use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar, of_bytes};
use crate::sink::Sink;
use crate::tokens::Pairs;
use crate::tree::{Body, Node, Object, Tree};
use crate::values::Values;

impl Tree {
    /// Which of `alternatives` is at `place`: its node and instance.
    #[inline]
    pub(crate) fn alternative(&self, alternatives: &[u32], place: u32) -> Option<(u32, u32)> {
        alternatives.iter().find_map(|&node| {
            self.nodes[node as usize]
                .presence
                .get(place)
                .map(|instance| (node, instance))
        })
    }

    /// Tells the storage which blocks [`Tree::emit`] is about to read: many, far apart, each to be waited for.
    pub(crate) fn expect(&self, node: u32, place: u32, instance: u32) {
        match &self.nodes[node as usize].body {
            Body::Leaf(values) => {
                if let Values::Lazy(lazy) = &**values {
                    lazy.expect(instance as usize);
                }
            }
            Body::Array { starts, alternatives } => {
                // The other elements lie between the first and the last.
                let (first, end) = (starts[instance as usize], starts[instance as usize + 1]);
                let last = end.checked_sub(1).filter(|&last| last > first);
                for slot in (first < end).then_some(first).into_iter().chain(last) {
                    if let Some((node, instance)) = self.alternative(alternatives, slot) {
                        self.expect(node, slot, instance);
                    }
                }
            }
            Body::Object(object) => {
                for &(field, instance) in sparse_of(object, instance) {
                    self.expect(object.fields[field as usize].node, place, instance);
                }
                for &field in &object.dense {
                    let node = object.fields[field as usize].node;
                    if let Some(instance) = self.nodes[node as usize].presence.get(place) {
                        self.expect(node, place, instance);
                    }
                }
            }
        }
    }

    /// Passes the value `instance` of `node`, which is at `place`, to `sink`.
    pub(crate) fn emit<S: Sink>(&self, node: u32, place: u32, instance: u32, sink: &mut S) -> Result<()> {
        let node = &self.nodes[node as usize];
        match &node.body {
            Body::Leaf(values) => match &**values {
                Values::Lazy(lazy) => lazy.visit(instance as usize, |scalar| sink.scalar(scalar)),
                values => sink.scalar(leaf(node.kind, values, instance as usize)),
            },
            Body::Array { starts, alternatives } => {
                sink.begin_array()?;
                for slot in starts[instance as usize]..starts[instance as usize + 1] {
                    match self.alternative(alternatives, slot) {
                        Some((node, instance)) => self.emit(node, slot, instance, sink)?,
                        None => return corrupt("array element without a value"),
                    }
                }
                sink.end_array()
            }
            Body::Object(object) => {
                sink.begin_object()?;
                self.emit_fields(object, place, instance, sink)?;
                sink.end_object()
            }
        }
    }

    pub(crate) fn emit_fields<S: Sink>(&self, object: &Object, place: u32, instance: u32, sink: &mut S) -> Result<()> {
        let mut sparse = sparse_of(object, instance).iter();
        let mut next_sparse = sparse.next();
        let mut rest = match object.rest {
            None => None,
            Some(rest) => Overflow::new(&self.nodes[rest as usize], place)?,
        };
        let mut emit = |field: u32, instance: u32, sink: &mut S| -> Result<()> {
            if let Some(overflow) = &mut rest {
                overflow.before(field, object, sink)?;
            }
            let field = object.fields[field as usize];
            sink.key_of(&self.keys, field.key)?;
            self.emit(field.node, place, instance, sink)
        };
        for &field in &object.dense {
            while let Some(&(i, instance)) = next_sparse.filter(|&&(i, _)| i < field) {
                emit(i, instance, sink)?;
                next_sparse = sparse.next();
            }
            let node = object.fields[field as usize].node;
            if let Some(instance) = self.nodes[node as usize].presence.get(place) {
                emit(field, instance, sink)?;
            }
        }
        while let Some(&(i, instance)) = next_sparse {
            emit(i, instance, sink)?;
            next_sparse = sparse.next();
        }
        if let Some(overflow) = &mut rest {
            overflow.before(u32::MAX, object, sink)?;
        }
        Ok(())
    }
}

/// The sparse fields of an object's instance.
#[inline]
pub(crate) fn sparse_of(object: &Object, instance: u32) -> &[(u32, u32)] {
    let starts = &object.sparse_starts;
    if starts.is_empty() {
        return &[];
    }
    &object.sparse[starts[instance as usize] as usize..starts[instance as usize + 1] as usize]
}

/// The scalar `i` of a leaf column; not for overflow.
#[inline]
pub(crate) fn leaf(kind: Kind, values: &Values, i: usize) -> Scalar<'_> {
    match (kind, values) {
        (Kind::Bool, Values::Bool(v)) => Scalar::Bool(v[i]),
        (Kind::Int, Values::Int(v)) => Scalar::Int(v[i]),
        (Kind::Decimal, Values::Decimal { mantissa, scale }) => Scalar::Decimal {
            mantissa: mantissa[i],
            scale: scale[i],
        },
        (Kind::Numeric | Kind::Bytes | Kind::Raw, v) => of_bytes(kind, v.bytes(i)),
        (Kind::EmptyObject, _) => Scalar::Payload(EMPTY_OBJECT),
        (Kind::EmptyArray, _) => Scalar::Payload(EMPTY_ARRAY),
        _ => Scalar::Null,
    }
}

/// The overflow record of an object, merged between its fields by key.
struct Overflow<'a> {
    pairs: Pairs<'a>,
    keys: &'a crate::strings::ByteVec,
    next: Option<u32>,
}

impl<'a> Overflow<'a> {
    fn new(rest: &'a Node, place: u32) -> Result<Option<Self>> {
        let (Some(record), Body::Leaf(values)) = (rest.presence.get(place), &rest.body) else {
            return Ok(None);
        };
        let Values::Rest { keys, records } = &**values else {
            return corrupt("overflow column without records");
        };
        let mut pairs = Pairs::new(records.get(record as usize), keys);
        let next = pairs.next_key()?;
        Ok(Some(Self { pairs, keys, next }))
    }

    /// Passes on the pairs whose keys come before field `field`.
    fn before<S: Sink>(&mut self, field: u32, object: &Object, sink: &mut S) -> Result<()> {
        while let Some(key) = self.next {
            if object.rest_ranks[key as usize] > field {
                break;
            }
            sink.key(self.keys.get(key as usize))?;
            self.pairs.replay(sink)?;
            self.next = self.pairs.next_key()?;
        }
        Ok(())
    }
}
