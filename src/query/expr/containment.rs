//! `doc @> constant` as conditions on the paths that the constant has, where it is a condition; elsewhere it is a
//! question (`path`).

use super::datum;
use super::tree::{is_a, is_pure, list, nodes, operator_function};
use amax_exec::JsonScalar;
use amax_jsonb::Value;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// A jsonb constant's payload.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn constant<'a>(node: *mut pg_sys::Node) -> Option<&'a [u8]> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let c = node as *mut pg_sys::Const;
        (is_a(node, NodeTag::T_Const) && (*c).consttype == pg_sys::JSONBOID && !(*c).constisnull)
            .then(|| datum::varlena((*c).constvalue))
    }
}

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
/// is false.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn split(condition: *mut pg_sys::Node, out: &mut Vec<*mut pg_sys::Node>) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        match by_field(condition) {
            Some(fields) => out.extend(fields),
            None => out.push(below(condition)),
        }
    }
}

/// AND and OR of conditions that are split.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn below(condition: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        pg_sys::check_stack_depth();
        use pg_sys::BoolExprType::{AND_EXPR, NOT_EXPR};
        let op = condition as *mut pg_sys::BoolExpr;
        if !is_a(condition, NodeTag::T_BoolExpr) || (*op).boolop == NOT_EXPR {
            return condition;
        }
        let connect = |op, args| pg_sys::makeBoolExpr(op, list(args), -1) as *mut pg_sys::Node;
        let args = nodes((*op).args).into_iter().map(|arg| match by_field(arg) {
            Some(fields) if fields.len() == 1 => fields[0],
            Some(fields) => connect(AND_EXPR, fields),
            None => below(arg),
        });
        connect((*op).boolop, args.collect())
    }
}

/// Containment of an object, by something that may be computed for each field; None if it is something else.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn by_field(condition: *mut pg_sys::Node) -> Option<Vec<*mut pg_sys::Node>> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let op = condition as *mut pg_sys::OpExpr;
        let contains =
            is_a(condition, NodeTag::T_OpExpr) && operator_function(&*op).to_u32() == pg_sys::F_JSONB_CONTAINS;
        let args = if contains {
            nodes((*op).args)
        } else {
            return None;
        };
        if !is_pure(args[0]) {
            return None;
        }
        let Some(Ok(Value::Object(object))) = constant(args[1]).map(amax_jsonb::root) else {
            return None;
        };
        let mut found = Vec::new();
        fields(args[0], object, &*op, &mut found)?;
        (!found.is_empty()).then_some(found)
    }
}

/// The fields of an object that `base` contains (JsonbDeepContains() of jsonb_util.c): objects field by field, scalars
/// by equality, arrays as a whole.
///
/// # Safety
/// A well-formed expression tree.
unsafe fn fields(
    base: *mut pg_sys::Node,
    object: amax_jsonb::Container,
    contains: &pg_sys::OpExpr,
    out: &mut Vec<*mut pg_sys::Node>,
) -> Option<()> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        pg_sys::check_stack_depth();
        for pair in object.pairs() {
            let (key, value) = pair.ok()?;
            let key = constant_of(pg_sys::TEXTOID, pg_sys::DEFAULT_COLLATION_OID, datum::of_bytes(key));
            let field = call(pg_sys::F_JSONB_OBJECT_FIELD, FIELD, pg_sys::JSONBOID, base, key);
            match value {
                Value::Object(inner) if !inner.is_empty() => fields(field, inner, contains, out)?,
                Value::Array(_) | Value::Object(_) => {
                    let whole = json(value)?;
                    out.push(call(
                        pg_sys::F_JSONB_CONTAINS,
                        contains.opno.to_u32(),
                        pg_sys::BOOLOID,
                        field,
                        whole,
                    ));
                }
                scalar => {
                    let scalar = json(scalar)?;
                    out.push(call(pg_sys::F_JSONB_EQ, EQUAL, pg_sys::BOOLOID, field, scalar));
                }
            }
        }
        Some(())
    }
}

/// Operators by OID (pg_operator.dat): jsonb -> text, jsonb = jsonb.
const FIELD: u32 = 3211;
const EQUAL: u32 = 3240;
/// # Safety
/// A well-formed expression tree.
unsafe fn call(
    function: u32,
    operator: u32,
    result: pg_sys::Oid,
    left: *mut pg_sys::Node,
    right: *mut pg_sys::Node,
) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let op = pg_sys::make_opclause(
            operator.into(),
            result,
            false,
            left as *mut pg_sys::Expr,
            right as *mut pg_sys::Expr,
            pg_sys::InvalidOid,
            pg_sys::InvalidOid,
        );
        (*(op as *mut pg_sys::OpExpr)).opfuncid = function.into();
        op as *mut pg_sys::Node
    }
}
/// # Safety
/// A well-formed expression tree.
unsafe fn json(value: Value) -> Option<*mut pg_sys::Node> {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let mut builder = amax_jsonb::Builder::new();
        builder.value(value);
        let payload = builder.finish().ok()?;
        Some(constant_of(
            pg_sys::JSONBOID,
            pg_sys::InvalidOid,
            datum::of_bytes(&payload),
        ))
    }
}
/// # Safety
/// A well-formed expression tree.
unsafe fn constant_of(ty: pg_sys::Oid, collation: pg_sys::Oid, value: pg_sys::Datum) -> *mut pg_sys::Node {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe { pg_sys::makeConst(ty, -1, collation, -1, value, false, false) as *mut pg_sys::Node }
}
