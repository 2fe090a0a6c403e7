//! PostgreSQL types as Arrow columns, one file per family.

mod array;
mod bytes;
mod column;
mod datetime;
mod enumeration;
mod json;
mod numeric;
mod primitive;
mod text;
mod uuid;
mod varlena;

pub use column::{Column, TypedColumn};
pub use varlena::payload;

use std::ffi::{CStr, c_char};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::Unrepresentable;
use column::Made;

/// The column for a SQL type; domains count as what they are over.
///
/// # Safety
/// Called in a transaction; CurrentMemoryContext outlives the column.
pub unsafe fn column(oid: pg_sys::Oid, typmod: i32) -> Result<TypedColumn, Unrepresentable> {
    let sql_type = to_utf8_lossy(pg_sys::format_type_with_typemod(oid, typmod));
    let mut typmod = typmod;
    let base = pg_sys::getBaseTypeAndTypmod(oid, &mut typmod);
    let mut extension = None;
    let (data_type, column): Made = match base {
        pg_sys::BOOLOID => primitive::boolean(),
        pg_sys::INT2OID => primitive::int2(),
        pg_sys::INT4OID => primitive::int4(),
        pg_sys::INT8OID => primitive::int8(),
        pg_sys::OIDOID => primitive::oid(),
        pg_sys::FLOAT4OID => primitive::float4(),
        pg_sys::FLOAT8OID => primitive::float8(),
        pg_sys::NUMERICOID => numeric::column(typmod),
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => text::varlena(),
        pg_sys::NAMEOID => text::name(),
        pg_sys::CHAROID => text::output(pg_sys::F_CHAROUT.into()),
        pg_sys::TIMETZOID => text::output(pg_sys::F_TIMETZ_OUT.into()),
        pg_sys::BYTEAOID => bytes::column(),
        pg_sys::DATEOID => datetime::date(),
        pg_sys::TIMEOID => datetime::time(),
        pg_sys::TIMESTAMPOID => datetime::timestamp(None),
        pg_sys::TIMESTAMPTZOID => datetime::timestamp(Some("UTC")),
        pg_sys::INTERVALOID => datetime::interval(),
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
        _ if pg_sys::get_typtype(base) as u8 == pg_sys::TYPTYPE_ENUM => enumeration::column(),
        _ => {
            let element = pg_sys::get_element_type(base);
            if element == pg_sys::InvalidOid {
                return Err(Unrepresentable::new(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    format!("There is no Arrow type for type {sql_type}."),
                    "Cast the column to text.",
                ));
            }
            // An array's typmod is its elements'.
            array::column(element, column(element, typmod)?)
        }
    };
    Ok(TypedColumn {
        data_type,
        extension,
        sql_type,
        column,
    })
}

/// A C string in the server's encoding as UTF-8, for names.
///
/// # Safety
/// `text` is a valid C string; CurrentMemoryContext may be allocated in.
pub unsafe fn to_utf8_lossy(text: *const c_char) -> String {
    let bytes = CStr::from_ptr(text).to_bytes();
    match text::to_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
