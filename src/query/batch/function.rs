//! PostgreSQL's own function for the rows whose value at the path the columns do not hold as an array, and for those of
//! row pages.

use crate::pg::node::Node;
use crate::pg::state::{CustomScanState, ExprContext};
use crate::pg::table_function::TableFunction;
use crate::query::expr::unnesting::keys_to_pairs;
use amax_format::Parts;

/// PostgreSQL's function, called for one row at a time, and the element it is at.
pub struct Function {
    /// The entry that is its argument.
    pub array: usize,
    /// Keys from there.
    pub keys: Vec<Vec<u8>>,
    pub parts: Parts,
    function: TableFunction,
    /// For expressions over an element.
    pub element_econtext: &'static ExprContext,
    pub ordinality: Option<i64>,
}

impl Function {
    /// For a node that outlives it.
    pub fn new(node: &CustomScanState, call: &Node, array: usize, parts: Parts) -> Function {
        let function = TableFunction::new(node, call);
        let element_econtext = node.state().new_context();
        element_econtext.set_row(function.slot());
        Function {
            array,
            keys: keys_to_pairs(call).unwrap_or_default(),
            parts,
            function,
            element_econtext,
            ordinality: None,
        }
    }

    /// Calls the function; its argument is in the scan's slot.
    pub fn call(&mut self) {
        self.function.call();
        self.ordinality = Some(0);
    }

    /// The next element; false after the last.
    pub fn next(&mut self) -> bool {
        self.element_econtext.reset();
        self.ordinality = self.ordinality.map(|n| n + 1);
        self.function.next()
    }

    /// No element, for an outer join.
    pub fn none(&mut self) {
        self.ordinality = None;
        self.function.none();
    }

    /// Lets go of what the function returned.
    pub fn clear(&mut self) {
        self.function.clear();
    }
}
