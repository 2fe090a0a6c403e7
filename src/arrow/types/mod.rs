//! PostgreSQL types as Arrow columns, one file per family.

mod array;
mod bytes;
mod column;
mod datetime;
mod dictionary;
mod either;
mod enumeration;
mod json;
mod numeric;
mod primitive;
mod text;
mod uuid;
mod value;

pub use column::{Column, TypedColumn};
pub use value::{Layout, Value};

use std::ffi::CStr;

use amax_arrow::VARIANT;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::Unrepresentable;
use super::format::Format;
use super::scope::Scope;
use crate::encoding;
use column::Made;

/// The column for a SQL type; domains count as what they are over.
pub fn column(
    oid: pg_sys::Oid,
    typmod: i32,
    format: Format,
    scope: Scope<'_>,
) -> Result<TypedColumn<'_>, Unrepresentable> {
    let sql_type = shown_type(oid, typmod);
    let (oid, typmod) = base(oid, typmod);
    let mut extension = None;
    let (data_type, column): Made = match oid {
        pg_sys::BOOLOID => primitive::boolean(),
        pg_sys::INT2OID => primitive::int2(),
        pg_sys::INT4OID => primitive::int4(),
        pg_sys::INT8OID => primitive::int8(),
        pg_sys::OIDOID => primitive::oid(),
        pg_sys::FLOAT4OID => primitive::float4(),
        pg_sys::FLOAT8OID => primitive::float8(),
        pg_sys::NUMERICOID => numeric::column(typmod, scope),
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => text::varlena(),
        pg_sys::NAMEOID => text::name(),
        pg_sys::CHAROID => text::output(pg_sys::F_CHAROUT.into(), scope),
        pg_sys::TIMETZOID => text::output(pg_sys::F_TIMETZ_OUT.into(), scope),
        pg_sys::BYTEAOID => bytes::column(),
        pg_sys::DATEOID => datetime::date(),
        pg_sys::TIMEOID => datetime::time(),
        pg_sys::TIMESTAMPOID => datetime::timestamp(None),
        pg_sys::TIMESTAMPTZOID => datetime::timestamp(Some("UTC")),
        pg_sys::INTERVALOID => match format {
            Format::Arrow => datetime::interval(),
            // Its own intervals are of milliseconds, without signs.
            Format::Parquet => datetime::interval_text(),
        },
        pg_sys::UUIDOID => {
            extension = Some("arrow.uuid");
            uuid::column()
        }
        pg_sys::JSONOID => {
            extension = Some("arrow.json");
            text::varlena()
        }
        pg_sys::JSONBOID => {
            extension = Some("arrow.json");
            json::jsonb()
        }
        _ if is_enum(oid) => enumeration::column(),
        _ => match element_of(oid) {
            // An array's typmod is its elements'.
            Some(element) => array::column(element, column(element, typmod, format, scope)?),
            None => {
                return Err(Unrepresentable::new(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("There is no Arrow type for type {sql_type}, nor one of Parquet."),
                    "Cast the column to text.",
                ));
            }
        },
    };
    Ok(TypedColumn {
        data_type,
        extension,
        sql_type,
        column,
    })
}

/// The column for text, or labels, as a dictionary; None for any other type.
pub fn dictionary(oid: pg_sys::Oid, typmod: i32, scope: Scope<'_>) -> Option<TypedColumn<'_>> {
    let made = match base(oid, typmod).0 {
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => dictionary::varlena(),
        pg_sys::NAMEOID => dictionary::name(),
        oid if is_enum(oid) => dictionary::labels(scope),
        _ => return None,
    };
    Some(of_text(oid, typmod, made))
}

/// The column for text that is a dictionary in some batches, and text in others; None for any other type.
pub fn either(oid: pg_sys::Oid, typmod: i32) -> Option<TypedColumn<'static>> {
    let made = match base(oid, typmod).0 {
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => either::varlena(),
        _ => return None,
    };
    Some(of_text(oid, typmod, made))
}

fn of_text(oid: pg_sys::Oid, typmod: i32, (data_type, column): Made<'_>) -> TypedColumn<'_> {
    TypedColumn {
        data_type,
        extension: None,
        sql_type: shown_type(oid, typmod),
        column,
    }
}

/// The column for jsonb whose documents are to become columns; None for any other type.
pub fn documents(oid: pg_sys::Oid, typmod: i32) -> Option<TypedColumn<'static>> {
    of_jsonb(oid, typmod, None, json::documents)
}

/// The column for jsonb as variants; None for any other type.
pub fn variant(oid: pg_sys::Oid, typmod: i32) -> Option<TypedColumn<'static>> {
    of_jsonb(oid, typmod, Some(VARIANT), json::variants)
}

fn of_jsonb(
    oid: pg_sys::Oid,
    typmod: i32,
    extension: Option<&'static str>,
    make: fn() -> Made<'static>,
) -> Option<TypedColumn<'static>> {
    if base(oid, typmod).0 != pg_sys::JSONBOID {
        return None;
    }
    let (data_type, column) = make();
    Some(TypedColumn {
        data_type,
        extension,
        sql_type: shown_type(oid, typmod),
        column,
    })
}

/// A type as errors and \d show it.
pub fn shown_type(oid: pg_sys::Oid, typmod: i32) -> String {
    // SAFETY: it looks the type up, and returns a palloc'd string.
    let name = unsafe { CStr::from_ptr(pg_sys::format_type_with_typemod(oid, typmod)) };
    encoding::shown(name.to_bytes()).into_owned()
}

/// A domain's base type and its modifier.
pub fn base(oid: pg_sys::Oid, mut typmod: i32) -> (pg_sys::Oid, i32) {
    // SAFETY: it looks the type up.
    let base = unsafe { pg_sys::getBaseTypeAndTypmod(oid, &mut typmod) };
    (base, typmod)
}

fn is_enum(oid: pg_sys::Oid) -> bool {
    // SAFETY: it looks the type up.
    unsafe { pg_sys::get_typtype(oid) as u8 == pg_sys::TYPTYPE_ENUM }
}

/// What an array type's elements are.
pub fn element_of(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: it looks the type up.
    let element = unsafe { pg_sys::get_element_type(oid) };
    (element != pg_sys::InvalidOid).then_some(element)
}
