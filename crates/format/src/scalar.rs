//! Values of documents that are not containers.

use amax_jsonb::numeric::Number;

use crate::kind::Kind;

/// One value that is not a container of its own events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// JSON null.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integral number.
    Int(i64),
    /// `mantissa` / 10^`scale`, `scale` (at least 1) being the display scale.
    Decimal {
        /// The number without its decimal point.
        mantissa: i64,
        /// Decimals displayed.
        scale: u16,
    },
    /// Any other number: a numeric's bytes after its varlena header.
    Numeric(&'a [u8]),
    /// A string's bytes, unescaped.
    String(&'a [u8]),
    /// A whole array or object as a jsonb payload.
    Payload(&'a [u8]),
}

impl<'a> Scalar<'a> {
    /// A numeric payload as the narrowest scalar that keeps it exactly.
    pub(crate) fn of_numeric(payload: &'a [u8]) -> Self {
        match amax_jsonb::numeric::decode(payload) {
            Some(Number::Int(v)) => Self::Int(v),
            Some(Number::Decimal { mantissa, scale }) => Self::Decimal { mantissa, scale },
            _ => Self::Numeric(payload),
        }
    }
}

/// The scalar of a kind that is a byte string.
#[inline]
pub(crate) fn of_bytes(kind: Kind, bytes: &[u8]) -> Scalar<'_> {
    match kind {
        Kind::Numeric => Scalar::Numeric(bytes),
        Kind::Raw => Scalar::Payload(bytes),
        _ => Scalar::String(bytes),
    }
}

/// jsonb's payloads of `{}` and `[]`: a header with no entries.
pub(crate) const EMPTY_OBJECT: &[u8] = &[0, 0, 0, 0x20];
pub(crate) const EMPTY_ARRAY: &[u8] = &[0, 0, 0, 0x40];
