//! Assembly of documents whose values are at hand, straight into jsonb's form: an object's fields are known before
//! their values, and have its order. What overflowed, or was nested too deeply, a builder merges into its object.

use amax_jsonb::{Open, Writer};
use std::cell::RefCell;

use crate::assemble::{leaf, sparse_of};
use crate::error::{Result, corrupt};
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::sink::build;
use crate::tree::{Body, Object, Tree};

thread_local! {
    /// Its memory is worth keeping between documents.
    static FIELDS: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
}

/// Assembles the document `instance` of `node`, which is at `place`, in place of what is in `out`.
pub(crate) fn assemble(tree: &Tree, node: u32, place: u32, instance: u32, out: &mut Vec<u8>) -> Result<()> {
    let is_plain = match &tree.nodes[node as usize].body {
        Body::Leaf(_) => false,
        Body::Array { .. } => true,
        Body::Object(object) => !overflows(tree, object, place),
    };
    if tree.lazy || !is_plain {
        return build(out, tree.max_values, |sink| tree.emit(node, place, instance, sink));
    }
    out.clear();
    FIELDS.with_borrow_mut(|fields| {
        fields.clear();
        Assembly {
            tree,
            writer: Writer::new(out),
            fields,
        }
        .value(node, place, instance, None)
    })
}

/// Whether an object has fields in its overflow column.
fn overflows(tree: &Tree, object: &Object, place: u32) -> bool {
    let rest = object.rest.map(|rest| &tree.nodes[rest as usize].presence);
    rest.is_some_and(|presence| presence.get(place).is_some())
}

struct Assembly<'a> {
    tree: &'a Tree,
    writer: Writer<'a>,
    /// Of the objects begun: the fields that they have, with their nodes' instances.
    fields: &'a mut Vec<(u32, u32)>,
}

impl Assembly<'_> {
    fn value(&mut self, node: u32, place: u32, instance: u32, outer: Option<&mut Open>) -> Result<()> {
        match (&self.tree.nodes[node as usize].body, outer) {
            (Body::Leaf(values), Some(outer)) => {
                let kind = self.tree.nodes[node as usize].kind;
                self.scalar(leaf(kind, values, instance as usize), outer)
            }
            (Body::Array { starts, alternatives }, outer) => {
                let slots = starts[instance as usize]..starts[instance as usize + 1];
                let mut open = self.writer.begin_array(slots.len())?;
                for slot in slots {
                    match self.tree.alternative(alternatives, slot) {
                        Some((node, instance)) => self.value(node, slot, instance, Some(&mut open))?,
                        None => return corrupt("array element without a value"),
                    }
                }
                Ok(self.writer.end(&open, outer)?)
            }
            (Body::Object(object), Some(outer)) if overflows(self.tree, object, place) => {
                let mut bytes = Vec::new();
                build(&mut bytes, self.tree.max_values, |sink| {
                    self.tree.emit(node, place, instance, sink)
                })?;
                Ok(self.writer.container(outer, &bytes)?)
            }
            (Body::Object(object), outer) => self.object(object, place, instance, outer),
            (Body::Leaf(_), None) => corrupt("scalar in place of a document"),
        }
    }

    fn object(&mut self, object: &Object, place: u32, instance: u32, outer: Option<&mut Open>) -> Result<()> {
        let first = self.fields.len();
        let mut sparse = sparse_of(object, instance);
        for &field in &object.dense {
            let before = sparse.iter().take_while(|s| s.0 < field).count();
            self.fields.extend_from_slice(&sparse[..before]);
            sparse = &sparse[before..];
            let node = object.fields[field as usize].node;
            if let Some(instance) = self.tree.nodes[node as usize].presence.get(place) {
                self.fields.push((field, instance));
            }
        }
        self.fields.extend_from_slice(sparse);
        let end = self.fields.len();
        let mut open = self.writer.begin_object(end - first)?;
        for &(field, _) in &self.fields[first..] {
            let key = object.fields[field as usize].key;
            self.writer.key(&mut open, self.tree.keys.get(key as usize))?;
        }
        for at in first..end {
            let (field, instance) = self.fields[at];
            self.value(object.fields[field as usize].node, place, instance, Some(&mut open))?;
        }
        self.fields.truncate(first);
        Ok(self.writer.end(&open, outer)?)
    }

    #[inline]
    fn scalar(&mut self, scalar: Scalar<'_>, outer: &mut Open) -> Result<()> {
        let writer = &mut self.writer;
        match scalar {
            Scalar::Null => writer.null(outer)?,
            Scalar::Bool(b) => writer.bool(outer, b)?,
            Scalar::Int(v) => writer.int(outer, v)?,
            Scalar::Decimal { mantissa, scale } => writer.decimal(outer, mantissa, scale)?,
            Scalar::Numeric(payload) => writer.numeric(outer, payload)?,
            Scalar::String(s) => writer.string(outer, s)?,
            Scalar::Payload(EMPTY_OBJECT | EMPTY_ARRAY) => {
                let bytes: &[u8] = if scalar == Scalar::Payload(EMPTY_OBJECT) {
                    EMPTY_OBJECT
                } else {
                    EMPTY_ARRAY
                };
                writer.container(outer, bytes)?;
            }
            Scalar::Payload(payload) => {
                let mut bytes = Vec::new();
                build(&mut bytes, self.tree.max_values, |sink| {
                    sink.builder.value(amax_jsonb::root(payload)?);
                    Ok(())
                })?;
                self.writer.container(outer, &bytes)?;
            }
        }
        Ok(())
    }
}
