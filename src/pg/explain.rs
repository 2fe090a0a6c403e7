//! EXPLAIN's output, and expressions as SQL (explain.c, ruleutils.c).

use super::handle::handle;
use super::node::{Node, Nodes};
use super::plan::Plan;
use super::state::PlanState;
use pgrx::pg_sys;
use std::ffi::{CStr, CString};

handle! {
    /// What EXPLAIN is asked for, and its text.
    ExplainState, pg_sys::ExplainState
}

impl ExplainState {
    pub fn analyze(&self) -> bool {
        // SAFETY: a field of the struct.
        unsafe { (*self.raw()).analyze }
    }

    pub fn verbose(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.raw()).verbose }
    }

    pub fn is_text(&self) -> bool {
        // SAFETY: as above.
        unsafe { (*self.raw()).format == pg_sys::ExplainFormat::EXPLAIN_FORMAT_TEXT }
    }

    pub fn text(&self, label: &CStr, value: &CStr) {
        // SAFETY: two strings.
        unsafe { pg_sys::ExplainPropertyText(label.as_ptr(), value.as_ptr(), self.raw()) }
    }

    /// Several texts, none if there are none.
    pub fn list(&self, label: &CStr, values: impl Iterator<Item = CString>) {
        let values: Vec<CString> = values.collect();
        if values.is_empty() {
            return;
        }
        let mut list = std::ptr::null_mut();
        // SAFETY: strings, which are there until it has been shown.
        unsafe {
            for value in &values {
                list = pg_sys::lappend(list, value.as_ptr().cast_mut().cast());
            }
            pg_sys::ExplainPropertyList(label.as_ptr(), list, self.raw());
        }
    }

    pub fn integer(&self, label: &CStr, value: u64) {
        // SAFETY: a string.
        unsafe { pg_sys::ExplainPropertyInteger(label.as_ptr(), std::ptr::null(), value as i64, self.raw()) }
    }

    pub fn float(&self, label: &CStr, value: f64, digits: i32) {
        // SAFETY: a string.
        unsafe { pg_sys::ExplainPropertyFloat(label.as_ptr(), std::ptr::null(), value, digits, self.raw()) }
    }

    /// What `f` shows, as a group; `list` has several without labels of their own.
    pub fn group(&self, kind: &CStr, is_list: bool, f: impl FnOnce()) {
        let label = if is_list { kind.as_ptr() } else { std::ptr::null() };
        // SAFETY: strings.
        unsafe { pg_sys::ExplainOpenGroup(kind.as_ptr(), label, !is_list, self.raw()) };
        f();
        // SAFETY: as above.
        unsafe { pg_sys::ExplainCloseGroup(kind.as_ptr(), label, !is_list, self.raw()) };
    }
}

/// Shows expressions of a node as SQL.
pub struct Deparser {
    context: *mut pg_sys::List,
    prefixed: bool,
}

impl Deparser {
    /// Of a node that is shown below `ancestors`.
    pub fn new(node: &PlanState, ancestors: Nodes<'_>, es: &ExplainState) -> Deparser {
        Deparser::of_plan(node.plan(), ancestors, es)
    }

    fn of_plan(plan: &Plan, ancestors: Nodes<'_>, es: &ExplainState) -> Deparser {
        // SAFETY: what EXPLAIN hands over.
        unsafe {
            Deparser {
                context: pg_sys::set_deparse_context_plan((*es.raw()).deparse_cxt, plan.raw(), ancestors.raw()),
                prefixed: (*es.raw()).verbose,
            }
        }
    }

    /// Of the plan that is the `at`-th of these ancestors, the nearest being the first.
    pub fn of_ancestor(plan: &Plan, ancestors: Nodes<'_>, at: usize, es: &ExplainState) -> Deparser {
        // SAFETY: a list, of which a copy is made.
        let above = unsafe { Nodes::of(pg_sys::list_copy_tail(ancestors.raw(), at as i32 + 1)) };
        Deparser::of_plan(plan, above, es)
    }

    /// In the server's encoding.
    pub fn text(&self, expression: &Node) -> &CStr {
        // SAFETY: an expression of the node.
        unsafe {
            let text = pg_sys::deparse_expression(expression.raw(), self.context, self.prefixed, false);
            CStr::from_ptr(text)
        }
    }
}
