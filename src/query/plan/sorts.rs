//! What clauses to sort say.

use crate::pg::lookup::order;
use crate::pg::node::Node;
use crate::pg::parse::SortGroupClause;

/// Whether a clause sorts from the greatest to the least, in the type's own order: that of an operator class by default, in
/// the expression's collation. None if it is another one.
pub fn is_descending(clause: &SortGroupClause, node: &Node) -> Option<bool> {
    let [less, _, greater] = order(node.type_oid());
    match clause.sortop() {
        op if op == less => Some(false),
        op if op == greater => Some(true),
        _ => None,
    }
}
