//! Why an expression is left to PostgreSQL, for people who read plans.

use super::compile::reads;
use super::datum::type_of_node;
use super::entry::{Entry, reference_of};
use super::path::call_of;
use crate::encoding::shown;
use crate::pg::expr::{CoerceViaIO, Const, OpExpr, ScalarArrayOpExpr};
use crate::pg::lookup::{function_name, is_deterministic, operator_name, type_name};
use crate::pg::node::{Node, is_pure};
use pgrx::pg_sys::{
    F_TEXT_GE, F_TEXT_GT, F_TEXT_LE, F_TEXT_LT, F_TEXTICLIKE, F_TEXTICNLIKE, F_TEXTICREGEXEQ, F_TEXTICREGEXNE,
    F_TEXTLIKE, F_TEXTNLIKE, F_TEXTREGEXEQ, F_TEXTREGEXNE, InvalidOid, NodeTag,
};

/// Of an expression over a scan's entries that has no vectorized form.
pub fn why(node: &Node, entries: &[Entry]) -> String {
    if node.is_volatile() {
        return "volatile".into();
    }
    if !is_pure(node) {
        return "a subquery".into();
    }
    match reference_of(node).map(|at| &entries[at]) {
        Some(Entry::Part(..)) => return "evaluated over a part of the document".into(),
        Some(Entry::Found(..)) => return "no vectors of what a path finds".into(),
        Some(Entry::Expression) => return "of the whole row".into(),
        _ => {}
    }
    if let Some(cast) = node.as_a::<CoerceViaIO>() {
        let from = cast.arg().map(|arg| type_name(arg.type_oid())).unwrap_or_default();
        return format!(
            "no vectorized cast of {} to {}",
            shown(&from),
            shown(&type_name(node.type_oid()))
        );
    }
    let call = call_of(node);
    let function = call.as_ref().map(|call| call.0);
    let (name, operands) = match (node.as_a::<ScalarArrayOpExpr>(), call) {
        (Some(op), _) if op.args().get(1).is_none_or(|list| !list.is_a::<Const>()) => {
            return "a list that is computed".into();
        }
        (Some(op), _) => (operator_name(op.opno()), op.args().to_vec()[..1].to_vec()),
        (None, Some((function, operands))) => match node.as_a::<OpExpr>() {
            Some(op) => (operator_name(op.opno()), operands),
            None => (function_name(function.into()), operands),
        },
        (None, None) => (kind(node).to_vec(), Vec::new()),
    };
    if let Some(reason) = operands.iter().find_map(|operand| no_vectors(operand)) {
        return reason;
    }
    match function {
        Some(F_TEXT_LT | F_TEXT_LE | F_TEXT_GT | F_TEXT_GE) => return "in the order of a collation".into(),
        Some(
            F_TEXTLIKE | F_TEXTNLIKE | F_TEXTICLIKE | F_TEXTICNLIKE | F_TEXTREGEXEQ | F_TEXTREGEXNE | F_TEXTICREGEXEQ
            | F_TEXTICREGEXNE,
        ) if operands.get(1).is_some_and(|pattern| pattern.is_a::<Const>()) => {
            return "no vectorized form of this pattern".into();
        }
        _ => {}
    }
    let of_columns = operands.iter().filter(|operand| !reads(operand).is_empty()).count();
    let several = if of_columns > 1 { " of several columns" } else { "" };
    format!("no vectorized form of {}{several}", shown(&name))
}

/// Why vectors do not hold an expression's values, if they do not.
pub fn no_vectors(node: &Node) -> Option<String> {
    if type_of_node(node).is_some() {
        return None;
    }
    let collation = node.collation();
    if collation != InvalidOid && !is_deterministic(collation) {
        return Some("its collation is not deterministic".into());
    }
    Some(format!("no vectors of type {}", shown(&type_name(node.type_oid()))))
}

/// What SQL calls it.
fn kind(node: &Node) -> &'static [u8] {
    match node.tag() {
        NodeTag::T_CaseExpr => b"this CASE",
        NodeTag::T_CoalesceExpr => b"this COALESCE",
        NodeTag::T_MinMaxExpr => b"GREATEST and LEAST of this type",
        NodeTag::T_NullIfExpr => b"this NULLIF",
        NodeTag::T_ArrayExpr | NodeTag::T_ArrayCoerceExpr => b"arrays",
        NodeTag::T_RowExpr | NodeTag::T_RowCompareExpr | NodeTag::T_FieldSelect => b"rows",
        NodeTag::T_SubscriptingRef => b"subscripts",
        NodeTag::T_NullTest | NodeTag::T_BooleanTest => b"this test",
        NodeTag::T_BoolExpr => b"all of it",
        _ => b"such an expression",
    }
}
