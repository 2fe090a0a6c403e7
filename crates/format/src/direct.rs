//! Assembly of documents straight into jsonb's form: an object's fields are known before their values, and have its
//! order; keys of objects alike are written at once (`shapes`). What overflowed, or was nested too deeply, a builder merges into its object.

use amax_jsonb::{Keys, Open, Writer};
use std::cell::RefCell;

use crate::assemble::{leaf, sparse_of};
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::shapes::Known;
use crate::sink::build;
use crate::tree::{Body, Node, Object, Tree};
use crate::values::Values;

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
    if !is_plain {
        return build(out, tree.max_values, |sink| tree.emit(node, place, instance, sink));
    }
    out.clear();
    FIELDS.with_borrow_mut(|fields| {
        fields.clear();
        Assembly {
            tree,
            shapes: &mut tree.shapes.lock(),
            writer: Writer::new(out),
            fields,
        }
        .value(node, place, instance, None)
    })
}

/// Whether an object has fields in its overflow column.
#[inline]
fn overflows(tree: &Tree, object: &Object, place: u32) -> bool {
    let rest = object.rest.map(|rest| &tree.nodes[rest as usize].presence);
    rest.is_some_and(|presence| presence.get(place).is_some())
}

struct Assembly<'a> {
    tree: &'a Tree,
    shapes: &'a mut Known,
    writer: Writer<'a>,
    /// Of the objects begun: the fields that they have, with their nodes' instances.
    fields: &'a mut Vec<(u32, u32)>,
}

impl Assembly<'_> {
    fn value(&mut self, node: u32, place: u32, instance: u32, outer: Option<&mut Open>) -> Result<()> {
        let Node { kind, body, .. } = &self.tree.nodes[node as usize];
        match (body, outer) {
            (Body::Leaf(values), Some(outer)) => self.leaf(*kind, values, instance as usize, outer),
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
            (Body::Object(object), outer) => self.object(node, object, place, instance, outer),
            (Body::Leaf(_), None) => corrupt("scalar in place of a document"),
        }
    }

    fn object(
        &mut self,
        node: u32,
        object: &Object,
        place: u32,
        instance: u32,
        outer: Option<&mut Open>,
    ) -> Result<()> {
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
        let mut open = self.begin(node, object, first)?;
        for at in first..end {
            let (field, instance) = self.fields[at];
            let node = object.fields[field as usize].node;
            // Most are leaves.
            match &self.tree.nodes[node as usize] {
                Node {
                    kind,
                    body: Body::Leaf(values),
                    ..
                } => self.leaf(*kind, values, instance as usize, &mut open)?,
                _ => self.value(node, place, instance, Some(&mut open))?,
            }
        }
        self.fields.truncate(first);
        Ok(self.writer.end(&open, outer)?)
    }

    /// Begins an object that has the fields from `first` on.
    fn begin(&mut self, node: u32, object: &Object, first: usize) -> Result<Open> {
        let fields = &self.fields[first..];
        let all = &self.tree.keys;
        let keys = || {
            let of = |field: &(u32, u32)| all.get(object.fields[field.0 as usize].key as usize);
            fields.iter().map(of)
        };
        if let Some(keys) = self.shapes.keys(node, fields, || Ok(Keys::new(keys())?))? {
            return Ok(self.writer.begin_with_keys(keys)?);
        }
        let mut open = self.writer.begin_object(fields.len())?;
        for key in keys() {
            self.writer.string(&mut open, key)?;
        }
        Ok(open)
    }

    /// Value `at` of a leaf column. What most columns have is written without a detour.
    #[inline]
    fn leaf(&mut self, kind: Kind, values: &Values, at: usize, outer: &mut Open) -> Result<()> {
        match (kind, values) {
            (Kind::Bytes, Values::Bytes(bytes)) => Ok(self.writer.string(outer, bytes.get(at))?),
            (Kind::Bytes, Values::Dictionary { entries, codes }) => {
                Ok(self.writer.string(outer, entries.get(codes[at] as usize))?)
            }
            (Kind::Int, Values::Int(ints)) => Ok(self.writer.int(outer, ints[at])?),
            (_, Values::Lazy(lazy)) => lazy.visit(at, |scalar| self.scalar(scalar, outer)),
            _ => self.scalar(leaf(kind, values, at), outer),
        }
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

#[cfg(test)]
mod tests {
    use crate::testing::leaf;
    use crate::{LeafOptions, Value};

    /// More shapes than are remembered, in runs and by turns, on two levels.
    #[test]
    fn documents_of_many_shapes() {
        let document = |n: usize, shape: usize| {
            let keys = ["a", "bb", "cc", "long", "longer"];
            let fields = |shape: usize, n: usize| {
                let of = |(at, key): (usize, &&str)| (shape >> at & 1 == 1).then(|| format!(r#""{key}":{n}"#));
                keys.iter().enumerate().filter_map(of).collect::<Vec<_>>().join(",")
            };
            let inner = fields(shape * 7 % 31 + 1, n + 1);
            format!(r#"{{"id":{n},"in":{{{inner}}},{}}}"#, fields(shape % 31 + 1, n))
        };
        let runs = (0..600).map(|n| document(n, n / 20));
        let by_turns = (600..1800).map(|n| document(n, n % 31));
        let texts: Vec<String> = runs.chain(by_turns).collect();
        let leaf = leaf(texts.iter().map(String::as_str), LeafOptions::default());
        let column = leaf.column(0).expect("column");
        let mut buf = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let expected = amax_jsonb::json::parse(text).expect("json");
            assert_eq!(
                column.get(n, &mut buf).expect("sound"),
                Value::Bytes(&expected),
                "{text}"
            );
        }
    }
}
