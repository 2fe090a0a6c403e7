//! One SQL column, decoded.

use amax_jsonb::numeric;

use crate::assemble::leaf;
use crate::direct;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::scalar::Scalar;
use crate::tree::{Body, Tree};
use crate::types::{ColumnType, Value};
use crate::values::Values;

/// All values of one SQL column of a leaf, in memory, for access by row.
#[derive(Clone, Debug)]
pub struct Column {
    pub(crate) column_type: ColumnType,
    pub(crate) rows: u32,
    pub(crate) tree: Tree,
    pub(crate) bytes_used: usize,
}

impl Column {
    /// Rows, anti-matter included.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The column's type.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        self.bytes_used
    }

    /// The value of `row`; NULL for an anti-matter row. A document is assembled into `buf`, a numeric may
    /// be; other values are borrowed from the column.
    ///
    /// # Errors
    /// [`Error::Misuse`] if there is no such row, [`Error::Corrupt`] if the structure proves unsound.
    pub fn get<'a>(&'a self, row: usize, buf: &'a mut Vec<u8>) -> Result<Value<'a>> {
        self.read(row, self.tree.lazy, buf)
    }

    /// The same of a row near the one before, or of a column that is not lazy: the storage is not told where the values
    /// are before they are read.
    ///
    /// # Errors
    /// As [`Column::get`].
    pub fn get_near<'a>(&'a self, row: usize, buf: &'a mut Vec<u8>) -> Result<Value<'a>> {
        self.read(row, false, buf)
    }

    /// The value of `row` where it is kept as it is: not in a block, nor of parts to be put together. None of another, and
    /// if there is no such row.
    pub fn kept(&self, row: usize) -> Option<Value<'_>> {
        if self.tree.lazy || self.column_type == ColumnType::Json || row >= self.len() {
            return None;
        }
        let Some((node, instance)) = self.tree.alternative(&self.tree.roots, row as u32) else {
            return Some(Value::Null);
        };
        let node = &self.tree.nodes[node as usize];
        let Body::Leaf(values) = &node.body else { return None };
        let i = instance as usize;
        Some(match (node.kind, &**values) {
            (Kind::Int, Values::Int(v)) if self.column_type == ColumnType::Int => Value::Int(v[i]),
            (Kind::Bool, Values::Bool(v)) => Value::Bool(v[i]),
            (Kind::Float4, Values::Float4(v)) => Value::Float4(f32::from_bits(v[i])),
            (Kind::Float8, Values::Float8(v)) => Value::Float8(f64::from_bits(v[i])),
            (Kind::Bytes, v @ (Values::Bytes(_) | Values::Dictionary { .. })) => Value::Bytes(v.bytes(i)),
            _ => return None,
        })
    }

    fn read<'a>(&'a self, row: usize, expect: bool, buf: &'a mut Vec<u8>) -> Result<Value<'a>> {
        if row >= self.len() {
            return Err(Error::Misuse("row is past the end of the leaf"));
        }
        let row = row as u32;
        let Some((node, instance)) = self.tree.alternative(&self.tree.roots, row) else {
            return Ok(Value::Null);
        };
        if self.column_type == ColumnType::Json {
            if expect {
                self.tree.expect(node, row, instance);
            }
            direct::assemble(&self.tree, node, row, instance, buf)?;
            return Ok(Value::Bytes(buf));
        }
        let node = &self.tree.nodes[node as usize];
        let Body::Leaf(values) = &node.body else {
            return Err(Error::Corrupt("document in a column of another type".into()));
        };
        let i = instance as usize;
        let numeric_column = self.column_type == ColumnType::Numeric;
        if let Values::Lazy(lazy) = &**values {
            return match node.kind {
                Kind::Float4 => Ok(Value::Float4(f32::from_le_bytes(lazy.float(i)?))),
                Kind::Float8 => Ok(Value::Float8(f64::from_le_bytes(lazy.float(i)?))),
                _ => lazy.visit(i, |scalar| owned(scalar, numeric_column, buf)),
            };
        }
        match (node.kind, &**values) {
            (Kind::Float4, Values::Float4(v)) => return Ok(Value::Float4(f32::from_bits(v[i]))),
            (Kind::Float8, Values::Float8(v)) => return Ok(Value::Float8(f64::from_bits(v[i]))),
            _ => {}
        }
        match leaf(node.kind, values, i) {
            Scalar::Numeric(v) | Scalar::String(v) | Scalar::Payload(v) => Ok(Value::Bytes(v)),
            scalar => owned(scalar, numeric_column, buf),
        }
    }
}

/// A scalar as a value that borrows from nothing but `buf`.
fn owned<'a>(scalar: Scalar<'_>, numeric_column: bool, buf: &'a mut Vec<u8>) -> Result<Value<'a>> {
    buf.clear();
    match scalar {
        Scalar::Bool(b) => return Ok(Value::Bool(b)),
        Scalar::Int(v) if numeric_column => numeric::encode_int(v, buf),
        Scalar::Int(v) => return Ok(Value::Int(v)),
        Scalar::Decimal { mantissa, scale } => numeric::encode_decimal(mantissa, scale, buf)?,
        Scalar::Numeric(v) | Scalar::String(v) | Scalar::Payload(v) => buf.extend_from_slice(v),
        Scalar::Null => return Err(Error::Corrupt("JSON null in a column of another type".into())),
    }
    Ok(Value::Bytes(buf))
}
