//! Between PostgreSQL's values and the words of vectors.

use amax_exec::{Scalar, Type, VectorBuilder};
use pgrx::pg_sys;
use std::cell::RefCell;

/// The vectors that hold values of an SQL type; None if none do. Text is compared bytewise, so its collation must be
/// deterministic.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn type_of(ty: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Type> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
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
            pg_sys::TEXTOID | pg_sys::VARCHAROID
                if collation == pg_sys::InvalidOid || pg_sys::get_collation_isdeterministic(collation) =>
            {
                Type::Text
            }
            _ => return None,
        })
    }
}

/// Appends a value of SQL type `ty`, for which [`type_of`] has a vector.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn push(out: &mut VectorBuilder, ty: pg_sys::Oid, value: pg_sys::Datum, null: bool) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        if null {
            return out.push_null();
        }
        match ty {
            pg_sys::BOOLOID => out.push_word(i64::from(value.value() & 0xff != 0)),
            pg_sys::INT2OID => out.push_word(i64::from(value.value() as i16)),
            pg_sys::INT4OID | pg_sys::DATEOID => out.push_word(i64::from(value.value() as i32)),
            pg_sys::FLOAT4OID => out.push_word(f64::from(f32::from_bits(value.value() as u32)).to_bits() as i64),
            pg_sys::NUMERICOID => out.push_numeric(varlena(value)),
            pg_sys::TEXTOID | pg_sys::VARCHAROID => out.push_text(varlena(value)),
            _ => out.push_word(value.value() as i64),
        }
    }
}

/// The bytes of a variable-length value, which lives as long as its memory context.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn varlena<'a>(value: pg_sys::Datum) -> &'a [u8] {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let plain = pg_sys::pg_detoast_datum_packed(value.cast_mut_ptr());
        std::slice::from_raw_parts(
            pgrx::varlena::vardata_any(plain) as *const u8,
            pgrx::varlena::varsize_any_exhdr(plain),
        )
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
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn of_scalar(value: Scalar<'_>, ty: pg_sys::Oid) -> (pg_sys::Datum, bool) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let datum = match value {
            Scalar::Null => return (pg_sys::Datum::null(), true),
            Scalar::Bool(value) => of_word(i64::from(value), ty),
            Scalar::Int(value) => of_word(value, ty),
            Scalar::Float(value) => of_word(value.to_bits() as i64, ty),
            Scalar::Text(bytes) => of_bytes(bytes),
            Scalar::Numeric(payload) => of_bytes(payload),
            Scalar::Decimal { mantissa, scale } => of_decimal(mantissa, scale),
        };
        (datum, false)
    }
}

/// A variable-length value of these bytes, in the current memory context.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn of_bytes(bytes: &[u8]) -> pg_sys::Datum {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let total = bytes.len() + pg_sys::VARHDRSZ;
        let at = pg_sys::MemoryContextAllocHuge(pg_sys::CurrentMemoryContext, total) as *mut u8;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(pg_sys::VARHDRSZ), bytes.len());
        pgrx::set_varsize_4b(at as *mut pg_sys::varlena, total as i32);
        pg_sys::Datum::from(at as *mut std::ffi::c_void)
    }
}
/// # Safety
/// A well-formed expression tree.
pub unsafe fn of_decimal(mantissa: i64, scale: u16) -> pg_sys::Datum {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        thread_local! {
            static PAYLOAD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        PAYLOAD.with_borrow_mut(|payload| {
            payload.clear();
            match scale {
                0 => amax_jsonb::numeric::encode_int(mantissa, payload),
                _ => {
                    amax_jsonb::numeric::encode_decimal(mantissa, scale, payload).expect("scales in use are numeric's")
                }
            }
            of_bytes(payload)
        })
    }
}

/// An integer as numeric, in the current memory context.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn of_integer(value: i128) -> pg_sys::Datum {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        match i64::try_from(value) {
            Ok(value) => of_decimal(value, 0),
            Err(_) => of_bytes(&amax_jsonb::numeric::from_text(&value.to_string()).expect("an integer is a number")),
        }
    }
}

/// Whether a numeric's payload is neither NaN nor infinite.
pub fn is_finite(payload: &[u8]) -> bool {
    !matches!(
        amax_jsonb::numeric::to_text(payload).as_deref(),
        Ok("NaN" | "Infinity" | "-Infinity")
    )
}
