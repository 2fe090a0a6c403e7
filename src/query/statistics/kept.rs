//! The statistics that a session has made, for as long as the table is much the same.

use super::expressions;
use super::sample::{self, Of};
use crate::pg::memory::Context;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::relation::{FileId, Opened};
use crate::pg::statistics::{Rights, Statistics, VariableStatData};
use crate::query::expr::tree::rewrite;
use crate::storage::manifest;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;

/// What is known of a table.
struct Table {
    file: FileId,
    /// Its columnar rows then.
    rows: u64,
    expressions: Vec<Known>,
    /// Where those are.
    context: Context,
}

struct Known {
    of: Of,
    expression: &'static Node,
    /// Whether they have values.
    values: bool,
    statistics: Statistics,
}

/// Expressions, of all tables.
const MOST: usize = 1000;

thread_local! {
    static KEPT: RefCell<HashMap<pg_sys::Oid, Table>> = RefCell::default();
}

/// Whether it is a table of ours that has something in columns.
pub fn has_columns(table: pg_sys::Oid) -> bool {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    rel.is_ours() && manifest::current(&rel).rows() > 0
}

/// Tells of an expression over `tuples` rows of a table, or elements in them.
pub fn give(
    root: &PlannerInfo,
    (rel, table): (&RelOptInfo, pg_sys::Oid),
    of: Of,
    expression: &Node,
    tuples: f64,
    data: &VariableStatData,
) {
    let expression = rewrite(expression, &mut |node| expressions::of_table(node, &of));
    let rights = Rights::of(root, rel);
    with(table, &of, expression, tuples, rights != Rights::Counts, |found| {
        data.set(found, rights == Rights::All);
    });
}

/// Has `f` look at the statistics of an expression over rows of a table, of which there are about `tuples`. `values`: whether they have
/// values in them.
pub fn with(table: pg_sys::Oid, of: &Of, expression: &Node, tuples: f64, values: bool, mut f: impl FnMut(&Statistics)) {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    let rows = manifest::current(&rel).rows();
    let is_same = |known: &Table| known.file == rel.file() && known.rows.abs_diff(rows) <= known.rows / 10;
    let found = KEPT.with_borrow(|kept| {
        let known = kept.get(&table).filter(|known| is_same(known))?;
        let is_it = |known: &&Known| known.values == values && known.of == *of && known.expression.equals(expression);
        known.expressions.iter().find(is_it).map(|known| f(&known.statistics))
    });
    if found.is_some() {
        return;
    }
    let Some(statistics) = sample::statistics(&rel, of, expression, tuples, values) else {
        return;
    };
    f(&statistics);
    KEPT.with_borrow_mut(|kept| {
        if kept.values().map(|known| known.expressions.len()).sum::<usize>() >= MOST {
            kept.clear();
        }
        if kept.get(&table).is_some_and(|known| !is_same(known)) {
            kept.remove(&table);
        }
        let known = kept.entry(table).or_insert_with(|| Table {
            file: rel.file(),
            rows,
            expressions: Vec::new(),
            context: Context::lasting("amax statistics"),
        });
        known.expressions.push(Known {
            of: of.clone(),
            expression: known.context.within(|| expression.copy()),
            values,
            statistics,
        });
    });
}

/// A table has changed, or any may have: by ANALYZE, too.
pub fn forget(table: pg_sys::Oid) {
    KEPT.with_borrow_mut(|kept| match table {
        pg_sys::InvalidOid => kept.clear(),
        table => drop(kept.remove(&table)),
    });
}
