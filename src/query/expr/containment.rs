//! `doc @> constant` as conditions on the paths that the constant has, where it is a condition; elsewhere it is a
//! question (`path`).

use super::constant;
use super::raises::raises;
use crate::pg::datum::of_bytes;
use crate::pg::expr::{BoolExpr, Const, OpExpr};
use crate::pg::node::{Node, is_pure};
use amax_exec::JsonScalar;
use amax_jsonb::Value;
use pgrx::pg_sys;

/// A constant that is a scalar with a form of its own.
pub fn scalar_of(payload: &[u8]) -> Option<JsonScalar> {
    use amax_jsonb::numeric::Number;
    Some(match amax_jsonb::root(payload).ok()? {
        Value::Null => JsonScalar::Null,
        Value::Bool(b) => JsonScalar::Bool(b),
        Value::String(s) => JsonScalar::String(s.to_vec()),
        Value::Numeric(n) => match amax_jsonb::numeric::decode(n)? {
            Number::Int(mantissa) => JsonScalar::Number { mantissa, scale: 0 },
            Number::Decimal { mantissa, scale } => JsonScalar::Number { mantissa, scale },
        },
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// A condition of a scan; containment of an object as a condition for each of its fields, also below AND and OR. As the
/// scan's conditions must all be true, it does not matter there that a missing path makes one NULL, where containment
/// is false. Only AND goes on after NULL: where what it comes to then may raise an error, containment stays.
pub fn split<'a>(condition: &'a Node, out: &mut Vec<&'a Node>) {
    match by_field(condition) {
        Some(fields) => out.extend(fields),
        None => out.push(below(condition, true)),
    }
}

/// AND and OR of conditions that are split, if nothing that an AND comes to after this one may raise an error.
fn below(condition: &Node, nothing_raises: bool) -> &Node {
    use pg_sys::BoolExprType::{AND_EXPR, NOT_EXPR};
    crate::pg::executor::check_stack_depth();
    let Some(op) = condition.as_a::<BoolExpr>().filter(|op| op.boolop() != NOT_EXPR) else {
        return condition;
    };
    let args = op.args();
    let behind = |at: usize| args.iter().skip(at + 1);
    let split = args.iter().enumerate().map(|(at, arg)| {
        let nothing_raises = nothing_raises && (op.boolop() != AND_EXPR || !behind(at).any(raises));
        match by_field(arg).filter(|_| nothing_raises) {
            Some(fields) if fields.len() == 1 => fields[0],
            Some(fields) => BoolExpr::make(AND_EXPR, fields.into_iter().collect()),
            None => below(arg, nothing_raises),
        }
    });
    BoolExpr::make(op.boolop(), split.collect())
}

/// Containment of an object, by something that may be computed for each field; None if it is something else.
pub fn by_field(condition: &Node) -> Option<Vec<&Node>> {
    let op = condition.as_a::<OpExpr>()?;
    if op.function().to_u32() != pg_sys::F_JSONB_CONTAINS {
        return None;
    }
    let (base, sought) = (op.args().get(0)?, op.args().get(1)?);
    if !is_pure(base) {
        return None;
    }
    let Some(Ok(Value::Object(object))) = constant::json(sought).map(amax_jsonb::root) else {
        return None;
    };
    let mut found = Vec::new();
    fields(base, object, op, &mut found)?;
    (!found.is_empty()).then_some(found)
}

/// The fields of an object that `base` contains (JsonbDeepContains() of jsonb_util.c): objects field by field, scalars
/// by equality, arrays as a whole.
fn fields<'a>(base: &'a Node, object: amax_jsonb::Container, contains: &OpExpr, out: &mut Vec<&'a Node>) -> Option<()> {
    crate::pg::executor::check_stack_depth();
    for pair in object.pairs() {
        let (key, value) = pair.ok()?;
        let field = field(base, key);
        match value {
            Value::Object(inner) if !inner.is_empty() => fields(field, inner, contains, out)?,
            Value::Array(_) | Value::Object(_) => {
                let same = (contains.opno().to_u32(), pg_sys::F_JSONB_CONTAINS);
                out.push(OpExpr::make(same, pg_sys::BOOLOID, field, json(value)?));
            }
            scalar => {
                let equal = (EQUAL, pg_sys::F_JSONB_EQ);
                out.push(OpExpr::make(equal, pg_sys::BOOLOID, field, json(scalar)?));
            }
        }
    }
    Some(())
}

/// A document's field.
pub fn field<'a>(base: &'a Node, key: &[u8]) -> &'a Node {
    let key = constant_of(pg_sys::TEXTOID, pg_sys::DEFAULT_COLLATION_OID, key);
    OpExpr::make((FIELD, pg_sys::F_JSONB_OBJECT_FIELD), pg_sys::JSONBOID, base, key)
}

/// A document's field as text.
pub fn text_field<'a>(base: &'a Node, key: &[u8]) -> &'a Node {
    let key = constant_of(pg_sys::TEXTOID, pg_sys::DEFAULT_COLLATION_OID, key);
    let by = (TEXT_FIELD, pg_sys::F_JSONB_OBJECT_FIELD_TEXT);
    OpExpr::make(by, pg_sys::TEXTOID, base, key)
}

/// Operators by OID (pg_operator.dat): jsonb -> text, jsonb ->> text, jsonb = jsonb.
const FIELD: u32 = 3211;
const TEXT_FIELD: u32 = 3477;
pub const EQUAL: u32 = 3240;

fn json<'a>(value: Value) -> Option<&'a Node> {
    let mut builder = amax_jsonb::Builder::new();
    builder.value(value);
    let payload = builder.finish().ok()?;
    Some(constant_of(pg_sys::JSONBOID, pg_sys::InvalidOid, &payload))
}

fn constant_of<'a>(ty: pg_sys::Oid, collation: pg_sys::Oid, bytes: &[u8]) -> &'a Node {
    Const::make(ty, collation, (-1, false), (of_bytes(bytes), false))
}
