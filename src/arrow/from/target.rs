//! What a column's type makes of values.

use amax_arrow::Target;
use pgrx::pg_sys;

use super::super::types::{base, element_of};
use crate::encoding;
use crate::pg::tupdesc::of_composite;

/// The target that a type is, or the one its domain is over.
pub fn of(oid: pg_sys::Oid) -> Target {
    let (oid, _) = base(oid, -1);
    match oid {
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID | pg_sys::NAMEOID => Target::Text,
        pg_sys::BYTEAOID => Target::Bytes,
        pg_sys::UUIDOID => Target::Uuid,
        pg_sys::DATEOID => Target::Date,
        pg_sys::TIMEOID | pg_sys::TIMETZOID | pg_sys::INTERVALOID => Target::Micros,
        pg_sys::TIMESTAMPOID => Target::Timestamp,
        pg_sys::TIMESTAMPTZOID => Target::TimestampTz,
        pg_sys::JSONOID | pg_sys::JSONBOID => Target::Json,
        _ => match element_of(oid) {
            Some(element) => Target::Array {
                delimiter: delimiter(element),
                element: Box::new(of(element)),
            },
            None => match of_composite(oid) {
                Some(attributes) => Target::Composite(
                    attributes
                        .into_iter()
                        .map(|(name, oid)| (encoding::shown(name.to_bytes()).into_owned(), of(oid)))
                        .collect(),
                ),
                None => Target::Other,
            },
        },
    }
}

/// What stands between the elements of its arrays.
fn delimiter(element: pg_sys::Oid) -> u8 {
    let (mut length, mut by_value, mut alignment, mut delimiter, mut parameter, mut function) =
        (0, false, 0, 0, pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: it looks the type up.
    unsafe {
        pg_sys::get_type_io_data(
            element,
            pg_sys::IOFuncSelector::IOFunc_input,
            &mut length,
            &mut by_value,
            &mut alignment,
            &mut delimiter,
            &mut parameter,
            &mut function,
        );
    }
    delimiter as u8
}
