//! What vectorized expressions ask of others: PostgreSQL, and the bounds of columns.

use super::columns::BatchColumns;
use super::rows::Rows;
use crate::columnar::OpenLeaf;
use crate::query::expr::datum;
use crate::query::expr::entry::Entry;
use amax_exec::{Batch, External, Memo, VectorBuilder, Zones};
use amax_format::Zone;
use std::rc::Rc;

/// PostgreSQL, for what does not depend on rows.
pub struct Constants<'a>(pub &'a mut Rows);

impl External for Constants<'_> {
    fn row(&mut self, _id: usize, _row: u32, _out: &mut VectorBuilder) {
        unreachable!("no row is looked at")
    }

    fn call(&mut self, _id: usize, _word: i64, _out: &mut VectorBuilder) {
        unreachable!("no value is looked at")
    }

    fn once(&mut self, id: usize, out: &mut VectorBuilder) {
        self.0.eval_pg_expr(id, out)
    }

    fn is_known(&self, id: usize) -> bool {
        let param = self.0.pg_exprs[id].param;
        param.is_none_or(|param| self.0.econtext.is_known(param))
    }
}

/// The bounds of a leaf's columns.
pub struct LeafZones<'a> {
    leaf: &'a OpenLeaf,
    entries: Rc<[Entry]>,
}

impl LeafZones<'_> {
    pub fn new<'a>(leaf: &'a OpenLeaf, entries: &Rc<[Entry]>) -> LeafZones<'a> {
        LeafZones {
            leaf,
            entries: entries.clone(),
        }
    }
}

impl Zones for LeafZones<'_> {
    fn zone(&self, input: usize) -> Option<Zone> {
        let leaf = self.leaf;
        match &self.entries[input] {
            Entry::Path(path) if path.level > 0 => None,
            Entry::Path(path) => leaf.path_zone(path.attribute as usize - 1, &path.steps),
            Entry::Attribute(attribute) => leaf.zone(*attribute as usize - 1),
            _ => None,
        }
    }

    fn is_everywhere(&self, input: usize) -> bool {
        let leaf = self.leaf;
        match &self.entries[input] {
            Entry::Path(path) if path.level > 0 => false,
            Entry::Path(path) => leaf.path_is_everywhere(path.attribute as usize - 1, &path.steps),
            Entry::Attribute(attribute) => leaf.is_everywhere(*attribute as usize - 1),
            _ => false,
        }
    }
}

/// PostgreSQL, as vectorized expressions over one leaf call it.
pub struct Postgres<'a> {
    pub rows: &'a mut Rows,
    pub columns: Rc<BatchColumns>,
}

/// Has `evaluate` look at rows of a batch by vectors; PostgreSQL is there for what those call.
pub fn over<'a, R>(
    rows: &mut Rows,
    columns: &'a Rc<BatchColumns>,
    evaluate: impl FnOnce(&mut Batch<'a, '_>) -> R,
) -> R {
    let mut external = Postgres {
        rows,
        columns: columns.clone(),
    };
    evaluate(&mut Batch {
        columns: &**columns,
        external: &mut external,
    })
}

impl External for Postgres<'_> {
    fn row(&mut self, id: usize, row: u32, out: &mut VectorBuilder) {
        crate::memory::check_for_interrupts();
        self.rows.set_leaf(&self.columns, row);
        self.rows.push_pg_expr(id, out);
    }

    fn call(&mut self, id: usize, word: i64, out: &mut VectorBuilder) {
        self.rows.set_none();
        let value = datum::of_word(word, self.rows.pg_exprs[id].arg);
        self.rows.econtext.set_case_value((value, false));
        self.rows.eval_pg_expr(id, out);
    }

    fn once(&mut self, id: usize, out: &mut VectorBuilder) {
        self.rows.eval_pg_expr(id, out)
    }

    fn remembered(&mut self, id: usize) -> Option<Memo> {
        self.rows.memo(id).take()
    }

    fn remember(&mut self, id: usize, memo: Memo) {
        if self.rows.pg_exprs[id].lasting {
            *self.rows.memo(id) = Some(memo);
        }
    }
}
