//! Between PostgreSQL's values and the words of vectors.

use crate::pg::datum::{fixed, of_fixed};
pub use crate::pg::datum::{of_bytes, varlena};
use crate::pg::expr::Var;
use crate::pg::lookup::is_deterministic;
use crate::pg::node::Node;
use amax_exec::{Scalar, Type, VectorBuilder};
use pgrx::pg_sys;
use std::cell::RefCell;

/// uuid.h.
const UUID_LEN: usize = 16;

/// The vectors that hold values of an SQL type; None if none do. Text is compared bytewise, so its collation must be
/// deterministic.
pub fn type_of(ty: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Type> {
    Some(match ty {
        pg_sys::BOOLOID => Type::Bool,
        pg_sys::INT2OID
        | pg_sys::INT4OID
        | pg_sys::INT8OID
        | pg_sys::DATEOID
        | pg_sys::TIMEOID
        | pg_sys::TIMESTAMPOID
        | pg_sys::TIMESTAMPTZOID => Type::Int,
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => Type::Float,
        pg_sys::NUMERICOID => Type::Numeric,
        pg_sys::TEXTOID | pg_sys::VARCHAROID if collation == pg_sys::InvalidOid || is_deterministic(collation) => {
            Type::Text
        }
        // Bytes as well, and ordered by them.
        pg_sys::UUIDOID => Type::Text,
        _ => return None,
    })
}

/// The same of an expression's values. Those of a column of type char(n) are all padded to n characters, so that they are
/// equal if their bytes are; which of two is less only PostgreSQL knows.
pub fn type_of_node(node: &Node) -> Option<Type> {
    let is_padded = node.is_a::<Var>() && node.type_oid() == pg_sys::BPCHAROID && node.typmod() >= 0;
    if is_padded && is_deterministic(node.collation()) {
        return Some(Type::Text);
    }
    type_of(node.type_oid(), node.collation())
}

/// Appends a value of SQL type `ty`, for which [`type_of`] has a vector.
///
/// # Safety
/// The value is of that type.
pub unsafe fn push(out: &mut VectorBuilder, ty: pg_sys::Oid, value: pg_sys::Datum, null: bool) {
    if null {
        return out.push_null();
    }
    match ty {
        pg_sys::BOOLOID => out.push_word(i64::from(value.value() & 0xff != 0)),
        pg_sys::INT2OID => out.push_word(i64::from(value.value() as i16)),
        pg_sys::INT4OID | pg_sys::DATEOID => out.push_word(i64::from(value.value() as i32)),
        pg_sys::FLOAT4OID => out.push_word(f64::from(f32::from_bits(value.value() as u32)).to_bits() as i64),
        // SAFETY: as the caller promises.
        pg_sys::NUMERICOID => out.push_numeric(unsafe { varlena(value) }),
        // SAFETY: as the caller promises.
        pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => out.push_text(unsafe { varlena(value) }),
        // SAFETY: as the caller promises.
        pg_sys::UUIDOID => out.push_text(unsafe { fixed(value, UUID_LEN) }),
        _ => out.push_word(value.value() as i64),
    }
}

/// The word of a value as an SQL value of type `ty` that is passed by value.
pub fn of_word(word: i64, ty: pg_sys::Oid) -> pg_sys::Datum {
    match ty {
        pg_sys::BOOLOID => pg_sys::Datum::from(word != 0),
        pg_sys::INT2OID => pg_sys::Datum::from(word as i16),
        pg_sys::INT4OID | pg_sys::DATEOID => pg_sys::Datum::from(word as i32),
        pg_sys::FLOAT4OID => pg_sys::Datum::from((f64::from_bits(word as u64) as f32).to_bits()),
        _ => pg_sys::Datum::from(word),
    }
}

/// A value of a vector as SQL type `ty`, in the current memory context.
pub fn of_scalar(value: Scalar<'_>, ty: pg_sys::Oid) -> (pg_sys::Datum, bool) {
    let datum = match value {
        Scalar::Null => return (pg_sys::Datum::null(), true),
        Scalar::Bool(value) => of_word(i64::from(value), ty),
        Scalar::Int(value) => of_word(value, ty),
        Scalar::Float(value) => of_word(value.to_bits() as i64, ty),
        Scalar::Text(bytes) if ty == pg_sys::UUIDOID => of_fixed(bytes),
        Scalar::Text(bytes) => of_bytes(bytes),
        Scalar::Numeric(payload) => of_bytes(payload),
        Scalar::Decimal { mantissa, scale } => of_decimal(mantissa, scale),
    };
    (datum, false)
}

/// A decimal as numeric, in the current memory context.
pub fn of_decimal(mantissa: i64, scale: u16) -> pg_sys::Datum {
    thread_local! {
        static PAYLOAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    PAYLOAD.with_borrow_mut(|payload| {
        payload.clear();
        encode_decimal(mantissa, scale, payload);
        of_bytes(payload)
    })
}

/// Appends a decimal's bytes as numeric.
pub fn encode_decimal(mantissa: i64, scale: u16, payload: &mut Vec<u8>) {
    match scale {
        0 => amax_jsonb::numeric::encode_int(mantissa, payload),
        _ => amax_jsonb::numeric::encode_decimal(mantissa, scale, payload).expect("scales in use are numeric's"),
    }
}

/// An integer as numeric, in the current memory context.
pub fn of_integer(value: i128) -> pg_sys::Datum {
    match i64::try_from(value) {
        Ok(value) => of_decimal(value, 0),
        Err(_) => of_bytes(&amax_jsonb::numeric::from_text(&value.to_string()).expect("an integer is a number")),
    }
}

/// Whether a numeric's payload is neither NaN nor infinite.
pub fn is_finite(payload: &[u8]) -> bool {
    !matches!(
        amax_jsonb::numeric::to_text(payload).as_deref(),
        Ok("NaN" | "Infinity" | "-Infinity")
    )
}
