//! Values of columns as PostgreSQL's.

use super::datum;
use super::entry::is_variable;
use super::path::path_of;
use super::tree::rewrite;
use crate::pg::expr::case_value;
use crate::pg::node::Node;
use crate::pg::state::Prepared;
use amax_format::{Dense, Found, PathColumn, Pruned, Scalar, Shaped, Tag};
use pgrx::pg_sys;
use std::cell::RefCell;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// An expression over one document, or one path in it, with that as the value of a CASE.
pub fn over_json(expression: &Node) -> Prepared {
    let over = rewrite(expression, &mut |node| {
        let is_json = is_variable(node) || path_of(node, &|_| true).is_some();
        is_json.then(|| case_value(pg_sys::JSONBOID, -1, pg_sys::InvalidOid))
    });
    Prepared::new(over, None)
}

/// An expression over one document, with that as the value of a CASE.
pub fn over_document(expression: &Node) -> Prepared {
    let over = rewrite(expression, &mut |node| {
        is_variable(node).then(|| case_value(pg_sys::JSONBOID, -1, pg_sys::InvalidOid))
    });
    Prepared::new(over, None)
}

/// The part of a row's document that is looked at, in the current memory context.
pub fn part(shaped: &Shaped, row: usize) -> (pg_sys::Datum, bool) {
    document(|out| shaped.get(row, out))
}

/// What is left of a row's document, in the current memory context.
pub fn left(pruned: &Pruned, row: usize) -> (pg_sys::Datum, bool) {
    scratched(|scratch| pruned.get(row, scratch).map(|found| datum_of(found, false)))
}

/// What a path finds in a row, in the current memory context.
pub fn found(values: &Found, row: usize) -> (pg_sys::Datum, bool) {
    document(|out| values.get(row, out))
}

/// Jsonb that is made; false: there is none.
fn document(make: impl FnOnce(&mut Vec<u8>) -> amax_format::Result<bool>) -> (pg_sys::Datum, bool) {
    scratched(|scratch| {
        let there = make(scratch)?;
        Ok(datum_of(there.then_some(Scalar::Payload(scratch)), false))
    })
}

/// A value that is made with a buffer.
fn scratched(make: impl FnOnce(&mut Vec<u8>) -> amax_format::Result<(pg_sys::Datum, bool)>) -> (pg_sys::Datum, bool) {
    SCRATCH.with(|kept| {
        let mut scratch = kept.take();
        let value = make(&mut scratch).unwrap_or_else(|e| crate::columnar::raise(e));
        keep(kept, scratch);
        value
    })
}

fn keep(kept: &RefCell<Vec<u8>>, scratch: Vec<u8>) {
    if scratch.capacity() <= 1 << 20 {
        kept.replace(scratch);
    }
}

/// The answer for a row; None if PostgreSQL has to give it.
pub fn answer(answers: &Dense, row: usize) -> Option<(pg_sys::Datum, bool)> {
    let word = answers.word(row);
    let value = match answers.tag(row) {
        Tag::Missing => return Some((pg_sys::Datum::null(), true)),
        Tag::Int => pg_sys::Datum::from(word as i32),
        Tag::Bool => pg_sys::Datum::from(word != 0),
        Tag::String => datum::of_bytes(answers.strings().get(word as usize)?),
        _ => return None,
    };
    Some((value, false))
}

/// The value at a path in a row, as jsonb or as text, in the current memory context; `place` is the row's place in the
/// path's column.
pub fn path_value<'a>(
    dense: &Dense,
    row: usize,
    column: impl FnOnce() -> &'a PathColumn,
    place: usize,
    text: bool,
) -> (pg_sys::Datum, bool) {
    let word = dense.word(row);
    let scalar = match dense.tag(row) {
        Tag::Missing => None,
        Tag::Null => Some(Scalar::Null),
        Tag::Bool => Some(Scalar::Bool(word != 0)),
        Tag::Int => Some(Scalar::Int(word)),
        Tag::Decimal => Some(Scalar::Decimal {
            mantissa: word,
            scale: dense.scales()[row],
        }),
        Tag::String => dense.strings().get(word as usize).map(Scalar::String),
        Tag::Float | Tag::Other => return assembled(column(), place, text),
    };
    datum_of(scalar, text)
}

/// The value at a path, from its column.
fn assembled(column: &PathColumn, place: usize, text: bool) -> (pg_sys::Datum, bool) {
    scratched(|scratch| column.get(place, scratch).map(|found| datum_of(found, text)))
}

/// What was found at a path, as jsonb or as text, in the current memory context.
pub fn datum_of(found: Option<Scalar<'_>>, text: bool) -> (pg_sys::Datum, bool) {
    let value = match found {
        None => None,
        Some(Scalar::Null) if text => None,
        Some(Scalar::Int(v)) if text => Some(datum::of_bytes(itoa::Buffer::new().format(v).as_bytes())),
        Some(Scalar::String(string)) if text => Some(datum::of_bytes(string)),
        Some(Scalar::Payload(payload)) => {
            let json = datum::of_bytes(payload);
            Some(if text { text_of_json(json) } else { json })
        }
        Some(scalar) if text => Some(datum::of_bytes(text_of(scalar).as_bytes())),
        Some(scalar) => Some(datum::of_bytes(&payload_of(scalar))),
    };
    (value.unwrap_or(pg_sys::Datum::null()), value.is_none())
}

/// A boolean, or a number that is no integer, as `->>` shows it.
fn text_of(scalar: Scalar<'_>) -> String {
    let number =
        |payload: &[u8]| amax_jsonb::numeric::to_text(payload).unwrap_or_else(|e| crate::columnar::raise(e.into()));
    match scalar {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Decimal { mantissa, scale } => {
            let mut payload = Vec::new();
            match amax_jsonb::numeric::encode_decimal(mantissa, scale, &mut payload) {
                Ok(()) => number(&payload),
                Err(e) => crate::columnar::raise(e.into()),
            }
        }
        Scalar::Numeric(payload) => number(payload),
        Scalar::Null | Scalar::Int(_) | Scalar::String(_) | Scalar::Payload(_) => {
            unreachable!("these have been seen to")
        }
    }
}

/// jsonb as text.
fn text_of_json(json: pg_sys::Datum) -> pg_sys::Datum {
    // SAFETY: of a document.
    let text: Option<&std::ffi::CStr> = unsafe { pgrx::direct_function_call(pg_sys::jsonb_out, &[Some(json)]) };
    let text = text.expect("jsonb has a text");
    datum::of_bytes(text.to_bytes())
}

/// A scalar that is a document by itself.
fn payload_of(scalar: Scalar<'_>) -> Vec<u8> {
    let mut builder = amax_jsonb::Builder::new();
    match scalar {
        Scalar::Null | Scalar::Payload(_) => builder.null(),
        Scalar::Bool(b) => builder.bool(b),
        Scalar::Int(v) => builder.int(v),
        Scalar::Decimal { mantissa, scale } => builder.decimal(mantissa, scale),
        Scalar::Numeric(payload) => builder.numeric(payload),
        Scalar::String(s) => builder.string(s),
    }
    builder.finish().unwrap_or_else(|e| crate::columnar::raise(e.into()))
}
