//! Values of one column, made row by row: vectors where there are some for their type, else as PostgreSQL has them.

use crate::pg::datum::image_of_value;
use crate::pg::lookup::{Held, held};
use crate::pg::node::Node;
use crate::pg::state::ExprContext;
use crate::query::expr::datum::{of_scalar, push, type_of_node};
use amax_exec::{Scalar, Type, Vector, VectorBuilder};
use amax_format::{Dense, DenseBuilder, Tag};
use pgrx::pg_sys;

/// What kind of values an expression has.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Of an SQL type.
    Vector(Type, pg_sys::Oid),
    Other(Held),
}

impl Kind {
    pub fn of(node: &Node) -> Kind {
        let sql = node.type_oid();
        type_of_node(node).map_or_else(|| Kind::Other(held(sql)), |ty| Kind::Vector(ty, sql))
    }
}

pub enum Values {
    /// Of an SQL type.
    Vector(Vector<'static>, pg_sys::Oid),
    Others(Vec<Other>),
}

/// A value that no vector holds.
pub enum Other {
    Null,
    Word(pg_sys::Datum),
    /// Passed by reference.
    Image(Box<[u64]>),
}

impl Values {
    /// A row's, in the current memory context or as long as these are there.
    pub fn get(&self, row: u32) -> (pg_sys::Datum, bool) {
        match self {
            Values::Vector(vector, sql) => of_scalar(vector.get(row as usize), *sql),
            Values::Others(others) => match &others[row as usize] {
                Other::Null => (pg_sys::Datum::null(), true),
                Other::Word(word) => (*word, false),
                Other::Image(image) => (pg_sys::Datum::from(image.as_ptr()), false),
            },
        }
    }

    /// The same as a column, of which vectors read; None if they have none.
    ///
    /// # Errors
    /// If strings are too many, or memory is short.
    pub fn dense(&self) -> amax_format::Result<Option<Dense>> {
        // What they are a column would have to tell: as a value that is none of those that columns hold, one would differ from all of those.
        let Values::Vector(vector, _) = self else {
            return Ok(None);
        };
        let mut dense = DenseBuilder::default();
        for row in 0..vector.len() {
            match vector.get(row) {
                Scalar::Null => dense.push(Tag::Missing, 0),
                Scalar::Bool(value) => dense.push(Tag::Bool, i64::from(value)),
                Scalar::Int(value) => dense.push(Tag::Int, value),
                Scalar::Float(value) => dense.push(Tag::Float, value.to_bits() as i64),
                Scalar::Decimal { mantissa, scale: 0 } => dense.push(Tag::Int, mantissa),
                Scalar::Decimal { mantissa, scale } => dense.push_decimal(mantissa, scale),
                Scalar::Numeric(_) => dense.push(Tag::Other, 0),
                Scalar::Text(text) => dense.push_string(text)?,
            }
        }
        Ok(Some(dense.finish()))
    }
}

/// Values under construction.
pub enum ValuesBuilder {
    Vector(VectorBuilder, pg_sys::Oid),
    /// With the bytes of those passed by reference.
    Others(Held, Vec<Other>, usize),
}

impl ValuesBuilder {
    pub fn new(kind: Kind) -> ValuesBuilder {
        match kind {
            Kind::Vector(ty, sql) => ValuesBuilder::Vector(VectorBuilder::new(ty), sql),
            Kind::Other(held) => ValuesBuilder::Others(held, Vec::new(), 0),
        }
    }

    /// Appends a value of the kind; what is made meanwhile is in the context's memory.
    pub fn push(&mut self, (value, null): (pg_sys::Datum, bool), context: &ExprContext) {
        match self {
            // SAFETY: a value of that type.
            ValuesBuilder::Vector(out, sql) => context.within(|| unsafe { push(out, *sql, value, null) }),
            ValuesBuilder::Others(held, out, bytes) => out.push(if null {
                Other::Null
            } else if held.by_value {
                Other::Word(value)
            } else {
                // SAFETY: a value of that type, not NULL.
                let image = context.within(|| unsafe { image_of_value(value, *held) });
                *bytes += size_of_val(&*image);
                Other::Image(image)
            }),
        }
    }

    /// Appends values of the kind, which has vectors.
    pub fn push_all(&mut self, values: &Vector<'_>) {
        match self {
            ValuesBuilder::Vector(out, _) => out.push_all(values),
            ValuesBuilder::Others(..) => unreachable!("such values have no vectors"),
        }
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        match self {
            ValuesBuilder::Vector(out, _) => out.bytes_used(),
            ValuesBuilder::Others(_, out, bytes) => bytes + size_of_val(&**out),
        }
    }

    pub fn finish(self) -> Values {
        match self {
            ValuesBuilder::Vector(out, sql) => Values::Vector(out.finish(), sql),
            ValuesBuilder::Others(_, out, _) => Values::Others(out),
        }
    }
}
