//! What is indexed of columnar rows, by vectors: the index's expressions and its predicate over paths and columns, of
//! many rows at once. No document is assembled, unless PostgreSQL evaluates something over one.

use super::batch::columns::BatchColumns;
use super::batch::computed::Computed;
use super::batch::rows::Rows;
use super::expr::compile::Compiler;
use super::expr::datum::{encode_decimal, of_word};
use super::expr::entry::{Entry, entry_of, over_entries, read_by};
use crate::am::index_feed::{Compute, Value};
use crate::columnar::OpenLeaf;
use crate::pg::Relation;
use crate::pg::expr::Var;
use crate::pg::node::{Node, Nodes};
use crate::pg::state::EState;
use amax_exec::{Scalar, Vector};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::rc::Rc;

struct Indexed {
    rows: Rows,
    predicate: Vec<Computed>,
    attributes: Vec<Computed>,
    /// Those of the last leaf.
    columns: Option<Rc<BatchColumns>>,
    /// Numerics that are made.
    numerics: Vec<Vec<u8>>,
}

/// None if vectors do not hold what is indexed.
///
/// # Safety
/// PostgreSQL's struct for an index of the table.
pub unsafe fn of_index(
    info: &pg_sys::IndexInfo,
    rel: &'static Relation,
    estate: &'static EState,
) -> Option<Box<dyn Compute>> {
    // SAFETY: the lists of its expressions, as the caller promises.
    let (expressions, predicate) = unsafe { (Nodes::of(info.ii_Expressions), Nodes::of(info.ii_Predicate)) };
    let numbers = &info.ii_IndexAttrNumbers[..info.ii_NumIndexAttrs as usize];
    estate.within(|| {
        let mut expressions = expressions.iter();
        let attribute = |&number: &i16| match number {
            0 => expressions.next().map(Node::planned),
            1.. => Some(column(rel, number)),
            _ => None,
        };
        let attributes: Vec<&Node> = numbers.iter().map(attribute).collect::<Option<_>>()?;
        let predicate: Vec<&Node> = predicate.iter().map(Node::planned).collect();
        let indexed = Indexed::of(rel, estate, &attributes, &predicate)?;
        Some(Box::new(indexed) as Box<dyn Compute>)
    })
}

/// An attribute of the table, as indexes have it.
fn column(rel: &Relation, number: i16) -> &'static Node {
    let att = rel.desc().attribute(number as usize - 1);
    Var::make(1, number, att.atttypid, att.atttypmod, att.attcollation)
}

impl Indexed {
    fn of(
        rel: &'static Relation,
        estate: &'static EState,
        attributes: &[&Node],
        predicate: &[&Node],
    ) -> Option<Indexed> {
        let mut found = Vec::new();
        for node in attributes.iter().chain(predicate) {
            read_by(node, &|_| false, &mut found);
        }
        let entries: Rc<[Entry]> = found.iter().map(|e| entry_of(e, &[])).collect();
        let slot = estate.values_slot(&found);
        let mut rows = Rows::within(estate, estate.new_context(), slot, rel, &found, entries.clone());
        let mut compiler = Compiler::new(&entries, None);
        let mut computed = |nodes: &[&Node]| -> Option<Vec<Computed>> {
            let one = |node: &&Node| {
                let node = over_entries(node, &found);
                Some(Computed::new(node, compiler.compile(node)?, None))
            };
            nodes.iter().map(one).collect()
        };
        let (attributes, predicate) = (computed(attributes)?, computed(predicate)?);
        rows.pg_exprs = compiler.pg_exprs;
        Some(Indexed {
            rows,
            predicate,
            numerics: vec![Vec::new(); attributes.len()],
            attributes,
            columns: None,
        })
    }
}

impl Compute for Indexed {
    fn rows(
        &mut self,
        leaf: &Rc<OpenLeaf>,
        origin: Option<Origin>,
        rows: &[u32],
        take: &mut dyn FnMut(usize, &[Value]),
    ) {
        let columns = BatchColumns::known(&mut self.columns, (leaf, origin), &self.rows.entries);
        // Rows of which the predicate is true so far, and their places.
        let mut left = rows.to_vec();
        let mut places: Vec<usize> = (0..rows.len()).collect();
        for clause in &self.predicate {
            let holds = clause.values(&mut self.rows, &columns, &left);
            let holds = |at: &usize| holds.is_valid(*at) && holds.words[*at] != 0;
            let kept: Vec<usize> = (0..left.len()).filter(holds).collect();
            left = kept.iter().map(|&at| left[at]).collect();
            places = kept.iter().map(|&at| places[at]).collect();
        }
        let values = |attribute: &Computed| attribute.values(&mut self.rows, &columns, &left);
        let vectors: Vec<Vector> = self.attributes.iter().map(values).collect();
        for (i, &place) in places.iter().enumerate() {
            let mut values = [Value::Null; pg_sys::INDEX_MAX_KEYS as usize];
            let attributes = vectors.iter().zip(&self.attributes).zip(&mut self.numerics);
            for (value, ((vector, attribute), numeric)) in values.iter_mut().zip(attributes) {
                *value = value_of(vector.get(i), attribute.sql, numeric);
            }
            take(place, &values[..vectors.len()]);
        }
        self.rows.clear();
    }
}

fn value_of<'a>(value: Scalar<'a>, sql: pg_sys::Oid, numeric: &'a mut Vec<u8>) -> Value<'a> {
    match value {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Word(of_word(value.into(), sql)),
        Scalar::Int(value) => Value::Word(of_word(value, sql)),
        Scalar::Float(value) => Value::Word(of_word(value.to_bits() as i64, sql)),
        Scalar::Text(bytes) if sql == pg_sys::UUIDOID => Value::Fixed(bytes),
        Scalar::Text(bytes) | Scalar::Numeric(bytes) => Value::Bytes(bytes),
        Scalar::Decimal { mantissa, scale } => {
            numeric.clear();
            encode_decimal(mantissa, scale, numeric);
            Value::Bytes(numeric)
        }
    }
}
