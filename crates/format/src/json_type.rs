//! What `jsonb_typeof` says of values.

use amax_jsonb::Value as Json;

use crate::kind::Kind;

/// The types' names; [`type_of`] and [`type_of_json`] number them.
pub(crate) const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

pub(crate) const ARRAY: usize = 4;
pub(crate) const OBJECT: usize = 5;

pub(crate) fn type_of(kind: Kind) -> Option<usize> {
    Some(match kind {
        Kind::Null => 0,
        Kind::Bool => 1,
        Kind::Int | Kind::Decimal | Kind::Numeric => 2,
        Kind::Bytes => 3,
        Kind::Array | Kind::EmptyArray => 4,
        Kind::Object | Kind::EmptyObject => 5,
        Kind::Raw | Kind::Rest | Kind::Float4 | Kind::Float8 => return None,
    })
}

pub(crate) fn type_of_json(value: &Json<'_>) -> usize {
    match value {
        Json::Null => 0,
        Json::Bool(_) => 1,
        Json::Numeric(_) => 2,
        Json::String(_) => 3,
        Json::Array(_) => 4,
        Json::Object(_) => 5,
    }
}
