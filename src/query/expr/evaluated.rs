//! Expressions that PostgreSQL evaluates.

use crate::pg::state::{Planned, Prepared};
use amax_exec::Memo;
use pgrx::pg_sys::{InvalidOid, Oid};

/// An expression that PostgreSQL evaluates.
pub struct PgExpr {
    /// None while a query is planned.
    pub state: Option<Prepared>,
    /// As the query has it.
    pub written: Planned,
    /// The SQL type of its values.
    pub ty: Oid,
    /// Of a function's argument.
    pub arg: Oid,
    /// Entries it reads, from 0.
    pub reads: Vec<usize>,
    /// Of a function that gives the same as long as the time zone is the same: results of batches before.
    pub lasting: bool,
    pub memo: Option<Memo>,
    /// The executor's parameter that it is, if it is one: a subquery may have to be run for it.
    pub param: Option<usize>,
}

impl PgExpr {
    /// Whether it is evaluated once, and not for rows.
    pub fn is_constant(&self) -> bool {
        self.reads.is_empty() && !self.is_of_values()
    }

    /// Whether it is a function of one argument, of which it is evaluated for each value.
    pub fn is_of_values(&self) -> bool {
        self.arg != InvalidOid
    }
}
