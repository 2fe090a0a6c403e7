//! The alternatives a place of a document, or an SQL column, can hold.

use crate::error::{Result, corrupt};

/// What a schema node holds. The discriminants are on disk.
///
/// One place with several kinds is a union; as in the paper (§3.2) the union itself adds no level. JSON
/// null, the empty object and the empty array are kinds of their own: levels without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Null = 0,
    Bool = 1,
    /// An integral number in `i64`.
    Int = 2,
    /// A number as `i64` mantissa and scale.
    Decimal = 3,
    /// Any other number: numeric's payload bytes.
    Numeric = 4,
    /// A string, or an SQL value's bytes.
    Bytes = 5,
    Object = 6,
    Array = 7,
    EmptyObject = 8,
    EmptyArray = 9,
    /// A value nested too deeply to shred: its jsonb payload.
    Raw = 10,
    /// The overflow column of an object: the fields that were not shredded.
    Rest = 11,
    Float4 = 12,
    Float8 = 13,
}

/// How many kinds there are.
pub(crate) const KINDS: usize = 14;

impl Kind {
    pub(crate) fn from_u8(v: u8) -> Result<Self> {
        use Kind::*;
        const ALL: [Kind; KINDS] = [
            Null,
            Bool,
            Int,
            Decimal,
            Numeric,
            Bytes,
            Object,
            Array,
            EmptyObject,
            EmptyArray,
            Raw,
            Rest,
            Float4,
            Float8,
        ];
        match ALL.get(v as usize) {
            Some(&kind) => Ok(kind),
            None => corrupt(format!("unknown column kind {v}")),
        }
    }

    /// Whether it is a JSON scalar.
    pub(crate) fn is_scalar(self) -> bool {
        use Kind::*;
        matches!(self, Null | Bool | Int | Decimal | Numeric | Bytes)
    }

    /// The name shown to users.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Int => "integer",
            Self::Decimal => "decimal",
            Self::Numeric => "numeric",
            Self::Bytes => "string",
            Self::Object => "object",
            Self::Array => "array",
            Self::EmptyObject => "empty object",
            Self::EmptyArray => "empty array",
            Self::Raw => "jsonb",
            Self::Rest => "overflow",
            Self::Float4 => "float4",
            Self::Float8 => "float8",
        }
    }
}
