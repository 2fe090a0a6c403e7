//! Which expressions cannot raise an error, whatever the row: those need not be evaluated for rows that nobody gets.

use super::guard::may_raise;
use super::operators::comparison;
use super::path::{path_of, question_of};
use super::tree::walk;
use crate::pg::expr::OpExpr;
use crate::pg::node::Node;
use amax_exec::Type;
use pgrx::pg_sys::{C_COLLATION_OID, DEFAULT_COLLATION_OID, NodeTag};

/// Whether an expression may raise an error, as far as is easy to see.
pub fn raises(node: &Node) -> bool {
    let mut found = false;
    walk(node, &mut |node| {
        if path_of(node, &|_| true).is_some() {
            return false;
        }
        if question_of(node, &|_| true).is_some() && !may_raise(node) {
            return false;
        }
        found |= match node.tag() {
            NodeTag::T_Var
            | NodeTag::T_Const
            | NodeTag::T_Param
            | NodeTag::T_RelabelType
            | NodeTag::T_PlaceHolderVar
            | NodeTag::T_NullTest
            | NodeTag::T_BooleanTest
            | NodeTag::T_BoolExpr
            | NodeTag::T_CoalesceExpr
            | NodeTag::T_List => false,
            _ => match node.as_a::<OpExpr>() {
                // A collation of text may be one that fails.
                Some(op) => {
                    let collation = op.inputcollid();
                    let known = comparison(op.function().to_u32(), collation);
                    let safe = matches!(collation, DEFAULT_COLLATION_OID | C_COLLATION_OID);
                    !known.is_some_and(|(_, ty)| ty != Type::Text || safe)
                }
                None => true,
            },
        };
        !found
    });
    found
}
