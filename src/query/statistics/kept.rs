//! The statistics that a session has made, for as long as the table is much the same.

use super::expressions;
use super::sample::{self, Made, Of, Wanted};
use crate::pg::memory::Context;
use crate::pg::node::Node;
use crate::pg::planner::{PlannerInfo, RelOptInfo};
use crate::pg::relation::{FileId, Opened};
use crate::pg::statistics::{Rights, VariableStatData};
use crate::query::expr::tree::rewrite;
use crate::storage::manifest;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

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
    wanted: Wanted,
    made: Rc<Made>,
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
    let rights = Rights::of(root, rel);
    let wanted = match rights {
        Rights::Counts => Wanted::Counts,
        Rights::All | Rights::Leakproof => Wanted::Values,
    };
    if let Some(Made::Statistics(found)) = get(table, &of, expression, tuples, wanted).as_deref() {
        data.set(found, rights == Rights::All);
    }
}

/// What is known of an expression over rows of a table, or elements in them, of which there are about `tuples`.
pub fn get(table: pg_sys::Oid, of: &Of, expression: &Node, tuples: f64, wanted: Wanted) -> Option<Rc<Made>> {
    let expression = rewrite(expression, &mut |node| expressions::of_table(node, of));
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    let rows = manifest::current(&rel).rows();
    let is_same = |known: &Table| known.file == rel.file() && known.rows.abs_diff(rows) <= known.rows / 10;
    let found = KEPT.with_borrow(|kept| {
        let known = kept.get(&table).filter(|known| is_same(known))?;
        let is_it = |known: &&Known| known.wanted == wanted && known.of == *of && known.expression.equals(expression);
        known.expressions.iter().find(is_it).map(|known| known.made.clone())
    });
    if found.is_some() {
        return found;
    }
    let made = Rc::new(sample::make(&rel, of, expression, tuples, wanted)?);
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
            wanted,
            made: made.clone(),
        });
    });
    Some(made)
}

/// A table has changed, or any may have: by ANALYZE, too.
pub fn forget(table: pg_sys::Oid) {
    KEPT.with_borrow_mut(|kept| match table {
        pg_sys::InvalidOid => kept.clear(),
        table => drop(kept.remove(&table)),
    });
}
