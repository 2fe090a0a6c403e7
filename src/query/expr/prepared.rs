//! Expressions that are ready to be evaluated.

use crate::pg::executor;
use pgrx::pg_sys;

/// An expression that PostgreSQL has initialized for a query that goes on.
#[derive(Clone, Copy)]
pub struct Prepared(*mut pg_sys::ExprState);

impl Prepared {
    /// ExecInitExpr(). It is not to outlive the query, or its parent, the node whose state it is given.
    ///
    /// # Safety
    /// A well-formed expression tree.
    pub unsafe fn new(expression: *mut pg_sys::Node, parent: *mut pg_sys::PlanState) -> Prepared {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe { Prepared(pg_sys::ExecInitExpr(expression as *mut pg_sys::Expr, parent)) }
    }

    /// In the expression context's memory for one row.
    ///
    /// # Safety
    /// A well-formed expression tree.
    pub unsafe fn eval(self, econtext: *mut pg_sys::ExprContext) -> (pg_sys::Datum, bool) {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe { executor::eval(self.0, econtext) }
    }

    /// Whether a condition holds: not false, not NULL.
    ///
    /// # Safety
    /// A well-formed expression tree.
    pub unsafe fn holds(self, econtext: *mut pg_sys::ExprContext) -> bool {
        // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
        unsafe { executor::holds(self.0, econtext) }
    }
}
