//! What a place of documents becomes in Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, UnionFields, UnionMode};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing but NULL.
    Null,
    Bool,
    Int,
    Float,
    Decimal {
        precision: u8,
        scale: i8,
    },
    String,
    /// The JSON text of whatever is there.
    Json,
    List(Box<Kind>),
    /// At least one field.
    Struct(Vec<(Box<str>, Kind)>),
    /// Values of several kinds, each kind once; NULL is one of the first.
    Union(Vec<Kind>),
}

/// What a place is that has values of several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixed {
    /// JSON text.
    #[default]
    Text,
    /// A dense union.
    Union,
}

/// What a place is that has nothing but NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// Of Arrow's type for it.
    Null,
    /// Strings, for who has no such type.
    String,
}

impl Kind {
    /// Of a column, or of a part of one. All are nullable.
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.data_type(), true);
        match self {
            Self::Json => field.with_metadata(HashMap::from([
                ("ARROW:extension:name".to_owned(), "arrow.json".to_owned()),
                ("ARROW:extension:metadata".to_owned(), String::new()),
            ])),
            _ => field,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Bool => DataType::Boolean,
            Self::Int => DataType::Int64,
            Self::Float => DataType::Float64,
            Self::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Self::String | Self::Json => DataType::Utf8,
            Self::List(item) => DataType::List(item_field(item)),
            Self::Struct(fields) => DataType::Struct(struct_fields(fields)),
            Self::Union(kinds) => DataType::Union(union_fields(kinds), UnionMode::Dense),
        }
    }

    /// What a value of this kind is called in a union.
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int | Self::Float | Self::Decimal { .. } => "number",
            Self::String => "string",
            Self::Json => "json",
            Self::List(_) => "list",
            Self::Struct(_) => "struct",
            Self::Union(_) => "union",
        }
    }
}

/// Of the elements of a list.
pub(crate) fn item_field(item: &Kind) -> FieldRef {
    Arc::new(item.field("item"))
}

pub(crate) fn union_fields(kinds: &[Kind]) -> UnionFields {
    (0..)
        .zip(kinds.iter().map(|kind| Arc::new(kind.field(kind.name()))))
        .collect()
}

pub(crate) fn struct_fields(fields: &[(Box<str>, Kind)]) -> Fields {
    fields.iter().map(|(name, kind)| kind.field(name)).collect()
}
