//! Which calls give the same whenever a query makes them.

use super::path::call_of;
use super::tree::any;
use crate::pg::lookup::function_is_immutable;
use crate::pg::node::Node;
use pgrx::pg_sys::*;

/// Whether an expression over the value of a CASE depends on nothing else but the time zone. Others may change while a cursor
/// is open, with a setting or a parameter.
pub fn is_lasting(node: &Node) -> bool {
    !any(node, |node| match node.tag() {
        NodeTag::T_Const | NodeTag::T_CaseTestExpr | NodeTag::T_RelabelType | NodeTag::T_List => false,
        _ => !call_of(node)
            .is_some_and(|(function, _)| depends_on_zone(function) || function_is_immutable(function.into())),
    })
}

fn depends_on_zone(function: u32) -> bool {
    matches!(
        function,
        F_TIMESTAMPTZ_DATE
            | F_TIMESTAMPTZ_TIMESTAMP
            | F_TIMESTAMP_TIMESTAMPTZ
            | F_DATE_TIMESTAMPTZ
            | F_DATE_TRUNC_TEXT_TIMESTAMPTZ
            | F_DATE_PART_TEXT_TIMESTAMPTZ
            | F_EXTRACT_TEXT_TIMESTAMPTZ
    )
}
