//! Which expressions cannot raise an error, whatever the row: those need not be evaluated for rows that nobody gets.

use crate::query::expr::guard::may_raise;
use crate::query::expr::operators::comparison;
use crate::query::expr::path::{path_of, question_of};
use crate::query::expr::tree::{operator_function, walk};
use amax_exec::Type;
use pgrx::pg_sys::*;

/// Whether an expression may raise an error, as far as is easy to see.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn raises(node: *mut Node) -> bool {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let mut found = false;
        walk(node, &mut |node| {
            if path_of(node, &|_| true).is_some() {
                return false;
            }
            if question_of(node, &|_| true).is_some() && !may_raise(node) {
                return false;
            }
            found |= match (*node).type_ {
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
                NodeTag::T_OpExpr => {
                    let op = &*(node as *mut OpExpr);
                    let known = comparison(operator_function(op).to_u32(), op.inputcollid);
                    // Text may be in no collation, or in one that fails.
                    !known.is_some_and(|(_, ty)| ty != Type::Text)
                }
                _ => true,
            };
            !found
        });
        found
    }
}
