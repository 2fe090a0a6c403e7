//! Whole columns as slices, for executors that work on vectors rather than rows.

use crate::column::Column;
use crate::kind::Kind;
use crate::path::PathColumn;
use crate::presence::Presence;
use crate::strings::ByteVec;
use crate::tree::{Body, Node, Tree};
use crate::types::ColumnType;
use crate::values::Values;

/// The values of a column that all are of one scalar kind, without those rows that have none.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    presence: &'a Presence,
    slices: Slices<'a>,
}

/// Byte strings back to back: string `i` is `data[ends[i - 1]..ends[i]]`.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    /// Where each string ends.
    pub ends: &'a [u32],
    /// The strings.
    pub data: &'a [u8],
}

impl<'a> Strings<'a> {
    pub(crate) fn new(bytes: &'a ByteVec) -> Self {
        Self {
            ends: &bytes.ends,
            data: &bytes.data,
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String `i`, if there is one.
    #[inline]
    pub fn get(&self, i: usize) -> Option<&'a [u8]> {
        let start = if i == 0 { 0 } else { *self.ends.get(i - 1)? };
        self.data.get(start as usize..*self.ends.get(i)? as usize)
    }
}

/// The values of a [`Vector`], one per row that has one.
#[derive(Clone, Copy, Debug)]
pub enum Slices<'a> {
    /// Booleans.
    Bool(&'a [bool]),
    /// Integers, of an SQL column or of JSON.
    Int(&'a [i64]),
    /// Numbers `mantissa[i]` / 10^`scale[i]`.
    Decimal {
        /// Without the decimal point.
        mantissa: &'a [i64],
        /// Display scales.
        scale: &'a [u16],
    },
    /// Bits of `f32`.
    Float4(&'a [u32]),
    /// Bits of `f64`.
    Float8(&'a [u64]),
    /// Strings, or an SQL type's bytes.
    Bytes(Strings<'a>),
    /// As `Bytes`, by code into distinct strings.
    Dictionary {
        /// Distinct, in no order.
        entries: Strings<'a>,
        /// Below `entries.len()`.
        codes: &'a [u32],
    },
}

impl<'a> Vector<'a> {
    /// The values, as many as [`Vector::len`].
    pub fn slices(&self) -> Slices<'a> {
        self.slices
    }

    /// Rows that have a value.
    pub fn len(&self) -> usize {
        self.presence.len() as usize
    }

    /// Whether no row has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether each row has a value, so that a row is its own position.
    pub fn is_dense(&self) -> bool {
        matches!(self.presence, Presence::All(_))
    }

    /// The position of `row`'s value in the slices.
    #[inline]
    pub fn position(&self, row: usize) -> Option<usize> {
        self.presence.get(u32::try_from(row).ok()?).map(|i| i as usize)
    }

    /// The row of each position, ascending.
    pub fn rows(&self) -> impl Iterator<Item = usize> + 'a {
        self.presence.iter().map(|row| row as usize)
    }
}

/// The vector of a place's alternatives: all of one scalar kind, JSON nulls aside.
fn of<'a>(tree: &'a Tree, alternatives: impl Iterator<Item = u32>) -> Option<Vector<'a>> {
    let mut found: Option<&Node> = None;
    for node in alternatives.map(|node| &tree.nodes[node as usize]) {
        if node.kind != Kind::Null && found.replace(node).is_some() {
            return None;
        }
    }
    let node = found?;
    let Body::Leaf(values) = &node.body else {
        return None;
    };
    let slices = match (&**values, node.kind) {
        (Values::Bool(v), _) => Slices::Bool(v),
        (Values::Int(v), _) => Slices::Int(v),
        (Values::Decimal { mantissa, scale }, _) => Slices::Decimal { mantissa, scale },
        (Values::Float4(v), _) => Slices::Float4(v),
        (Values::Float8(v), _) => Slices::Float8(v),
        (Values::Bytes(v), Kind::Bytes) => Slices::Bytes(Strings::new(v)),
        (Values::Dictionary { entries, codes }, Kind::Bytes) => Slices::Dictionary {
            entries: Strings::new(entries),
            codes,
        },
        _ => return None,
    };
    Some(Vector {
        presence: &node.presence,
        slices,
    })
}

impl Column {
    /// The column's values as slices; `None` for documents, for a numeric column whose values are not all
    /// of one representation, and for a column without any value.
    pub fn vector(&self) -> Option<Vector<'_>> {
        if self.column_type == ColumnType::Json {
            return None;
        }
        of(&self.tree, self.tree.roots.iter().copied())
    }
}

impl PathColumn {
    /// The path's values as slices, missing ones and JSON nulls left out alike; `None` if they are not all
    /// of one scalar kind, lie in an array or overflowed, or there are none.
    pub fn vector(&self) -> Option<Vector<'_>> {
        of(&self.tree, self.ends()?.into_iter())
    }
}
