//! Expressions over the columns of batches, in both forms: over vectors, and PostgreSQL's for what those are unsure of.

use super::columns::BatchColumns;
use super::contract::Batches;
use super::external::over;
use super::rows::Rows;
use crate::pg::node::Node;
use crate::pg::state::{PlanState, Prepared};
use crate::query::expr::compile::reads;
use crate::query::expr::datum::{self, type_of_node};
use crate::query::expr::entry::over_entries;
use amax_exec::{Evaluated, Expr, Type, Vector, VectorBuilder};
use pgrx::pg_sys;
use std::rc::Rc;

pub struct Computed {
    vector: Expr,
    state: Prepared,
    /// Columns.
    pub reads: Vec<usize>,
    /// SQL type and vectors' type.
    pub sql: pg_sys::Oid,
    pub ty: Type,
}

impl Computed {
    /// Of expressions over the table's row, which the planner has found to have vectors.
    pub fn of(input: &mut dyn Batches, wanted: &[&Node]) -> Vec<Computed> {
        let columns = input.columns();
        let wanted: Vec<&Node> = wanted.iter().map(|e| over_entries(e, &columns)).collect();
        Computed::over_columns(input, &wanted)
    }

    /// Of expressions over the columns, which the planner has found to have vectors.
    pub fn over_columns(input: &mut dyn Batches, wanted: &[&Node]) -> Vec<Computed> {
        let vectors = input.compile(wanted);
        let parent = input.state();
        let computed = |(node, vector): (&&Node, Option<Expr>)| {
            let vector = vector.expect("the planner chose what has vectors");
            Computed::new(node, vector, Some(parent))
        };
        wanted.iter().zip(vectors).map(computed).collect()
    }

    /// Of an expression over the columns, with its vectorized form.
    pub fn new(node: &Node, vector: Expr, parent: Option<&PlanState>) -> Computed {
        Computed {
            vector,
            state: Prepared::new(node, parent),
            reads: reads(node),
            sql: node.type_oid(),
            ty: type_of_node(node).expect("it has a vectorized form"),
        }
    }

    /// As an expression over vectors.
    pub fn vector(&self) -> &Expr {
        &self.vector
    }

    /// Its values for rows of a batch; PostgreSQL evaluates those that vectors are unsure of.
    pub fn values<'a>(&self, input: &mut Rows, columns: &'a Rc<BatchColumns>, rows: &[u32]) -> Vector<'a> {
        let Evaluated { vector, unsure } = over(input, columns, |batch| batch.eval(&self.vector, rows));
        if unsure.is_empty() {
            return vector;
        }
        let mut out = VectorBuilder::new(self.ty);
        let mut unsure = unsure.into_iter().peekable();
        for (i, &row) in rows.iter().enumerate() {
            if unsure.next_if_eq(&(i as u32)).is_some() {
                crate::memory::check_for_interrupts();
                input.set_leaf(columns, row);
                self.push(input, &mut out);
            } else {
                out.push_from(&vector, i);
            }
        }
        out.finish()
    }

    /// Appends its value for the row that `rows` is at.
    fn push(&self, rows: &mut Rows, out: &mut VectorBuilder) {
        let (value, null) = rows.eval(self.state, &self.reads);
        // SAFETY: the value is of that type.
        unsafe { datum::push(out, self.sql, value, null) };
    }
}
