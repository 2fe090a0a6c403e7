//! Datums and the format's values.

use crate::pg::TupleDesc;
use crate::pg::datum::varlena;
use crate::pg::tupdesc::Attribute;
use amax_format::{ColumnType, Dense, Tag, Value};
use amax_jsonb::numeric;
use pgrx::pg_sys;

/// How an attribute is stored: by its type's physical properties, and by its meaning where the format knows better.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    pub column: ColumnType,
    len: i16,
}

/// A table's columns. Dropped attributes keep their place (and are all NULL), so that attribute numbers are column
/// numbers.
pub fn storages(desc: &TupleDesc) -> Vec<Storage> {
    desc.attributes().map(storage).collect()
}

pub fn storage(att: &Attribute) -> Storage {
    let len = att.attlen;
    if att.attisdropped {
        let column = if att.attbyval {
            ColumnType::Int
        } else {
            ColumnType::Bytes
        };
        return Storage { column, len };
    }
    // SAFETY: looks a type up.
    let column = match unsafe { pg_sys::getBaseType(att.atttypid) } {
        pg_sys::BOOLOID => ColumnType::Bool,
        pg_sys::FLOAT4OID => ColumnType::Float4,
        pg_sys::FLOAT8OID => ColumnType::Float8,
        pg_sys::NUMERICOID => ColumnType::Numeric,
        pg_sys::JSONBOID => ColumnType::Json,
        _ if att.attbyval => ColumnType::Int,
        _ => ColumnType::Bytes,
    };
    Storage { column, len }
}

/// A Datum as a value. What it borrows lives in the current memory context or where the Datum points to.
///
/// # Safety
/// The Datum is of the attribute's type, and lives as long as the value.
pub unsafe fn from_datum<'a>(storage: Storage, datum: pg_sys::Datum, null: bool) -> Value<'a> {
    if null {
        return Value::Null;
    }
    match storage.column {
        ColumnType::Bool => Value::Bool(datum.value() as u8 != 0),
        ColumnType::Float4 => Value::Float4(f32::from_bits(datum.value() as u32)),
        ColumnType::Float8 => Value::Float8(f64::from_bits(datum.value() as u64)),
        ColumnType::Int => Value::Int(match storage.len {
            1 => i64::from(datum.value() as i8),
            2 => i64::from(datum.value() as i16),
            4 => i64::from(datum.value() as i32),
            _ => datum.value() as i64,
        }),
        ColumnType::Numeric | ColumnType::Bytes | ColumnType::Json => {
            // SAFETY: as the caller promises.
            Value::Bytes(unsafe { bytes(storage.len, datum) })
        }
    }
}

/// # Safety
/// As for [`from_datum`], of a type whose values are passed by reference and have this length.
unsafe fn bytes<'a>(len: i16, datum: pg_sys::Datum) -> &'a [u8] {
    // SAFETY: as the caller promises.
    unsafe {
        match len {
            -1 => varlena(datum),
            -2 => std::ffi::CStr::from_ptr(datum.cast_mut_ptr()).to_bytes_with_nul(),
            len => std::slice::from_raw_parts(datum.cast_mut_ptr::<u8>(), len as usize),
        }
    }
}

/// A row's value in a column that is not one of documents, as [`to_datum`]; None if the column has to be asked.
pub fn dense_to_datum(dense: &Dense, row: usize, att: &Attribute) -> Option<(pg_sys::Datum, bool)> {
    let word = dense.word(row);
    let mut numeric = Vec::new();
    let value = match dense.tag(row) {
        Tag::Missing => Value::Null,
        Tag::Bool => Value::Bool(word != 0),
        Tag::Int if att.attbyval => Value::Int(word),
        Tag::Float if att.attlen == 8 => Value::Float8(f64::from_bits(word as u64)),
        Tag::String => Value::Bytes(dense.strings().get(word as usize)?),
        Tag::Int if att.atttypid == pg_sys::NUMERICOID => {
            numeric::encode_int(word, &mut numeric);
            Value::Bytes(&numeric)
        }
        Tag::Decimal if att.atttypid == pg_sys::NUMERICOID => {
            numeric::encode_decimal(word, dense.scales()[row], &mut numeric).ok()?;
            Value::Bytes(&numeric)
        }
        _ => return None,
    };
    Some(to_datum(value, att))
}

/// A value as a Datum; by-reference ones are allocated in the current memory context.
pub fn to_datum(value: Value, att: &Attribute) -> (pg_sys::Datum, bool) {
    let datum = match value {
        Value::Null => return (pg_sys::Datum::null(), true),
        Value::Bool(b) => pg_sys::Datum::from(b),
        Value::Int(i) => match att.attlen {
            1 => pg_sys::Datum::from(i as i8),
            2 => pg_sys::Datum::from(i as i16),
            4 => pg_sys::Datum::from(i as i32),
            _ => pg_sys::Datum::from(i),
        },
        Value::Float4(f) => pg_sys::Datum::from(f.to_bits()),
        Value::Float8(f) => pg_sys::Datum::from(f.to_bits()),
        Value::Bytes(bytes) => {
            let varlena = att.attlen == -1;
            let header = if varlena { 4 } else { 0 };
            // SAFETY: room for the header and the bytes.
            unsafe {
                let at = pg_sys::MemoryContextAllocHuge(pg_sys::CurrentMemoryContext, bytes.len() + header) as *mut u8;
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(header), bytes.len());
                if varlena {
                    pgrx::set_varsize_4b(at as *mut pg_sys::varlena, (bytes.len() + header) as i32);
                }
                pg_sys::Datum::from(at as *mut std::ffi::c_void)
            }
        }
    };
    (datum, false)
}
