//! Conditions over the columns of batches.

use super::columns::BatchColumns;
use super::external::over;
use super::rows::Rows;
use crate::pg::node::Node;
use crate::pg::state::{PlanState, Prepared};
use crate::query::expr::compile::reads;
use amax_exec::Expr;
use std::borrow::Cow;
use std::rc::Rc;

pub struct Condition {
    vector: Option<Expr>,
    state: Prepared,
    /// Columns.
    pub reads: Vec<usize>,
}

impl Condition {
    /// Of conditions over the columns of `rows`; `parent` owns them.
    pub fn of(rows: &mut Rows, conditions: &[&Node], parent: &PlanState) -> Vec<Condition> {
        let vectors = rows.compile(conditions, Some(parent));
        let condition = |(node, vector): (&&Node, Option<Expr>)| Condition {
            vector,
            state: Prepared::new(node, Some(parent)),
            reads: reads(node),
        };
        conditions.iter().zip(vectors).map(condition).collect()
    }

    /// The rows of a batch, of these, for which it is true; PostgreSQL looks at those that vectors are unsure of.
    fn select(&self, input: &mut Rows, columns: &Rc<BatchColumns>, rows: &[u32]) -> Vec<u32> {
        let mut unsure = Vec::new();
        let mut passing = match &self.vector {
            None => {
                unsure.extend_from_slice(rows);
                Vec::new()
            }
            Some(vector) => over(input, columns, |batch| batch.filter(vector, rows, &mut unsure)),
        };
        if !unsure.is_empty() {
            unsure.retain(|&row| {
                input.set_leaf(columns, row);
                input.holds(self.state, &self.reads)
            });
            passing.extend(unsure);
            passing.sort_unstable();
        }
        passing
    }
}

/// The rows of a batch for which all conditions are true, each looked at for those that the ones before leave.
pub fn select(conditions: &[Condition], input: &mut Rows, columns: &Rc<BatchColumns>) -> Vec<u32> {
    let all: Vec<u32> = (0..columns.len() as u32).collect();
    let mut rows = Cow::Owned(all);
    for condition in conditions {
        rows = Cow::Owned(condition.select(input, columns, &rows));
    }
    rows.into_owned()
}
