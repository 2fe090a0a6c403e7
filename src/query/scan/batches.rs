//! The scan as one that hands up batches.

use super::state::{Scan, of};
use crate::query::batch::columns::LeafColumns;
use crate::query::batch::contract::{Interest, Positions};
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::expr::compile::Compiler;
use crate::query::expr::entry::expressions;
use crate::query::expr::tree::is_pure;
use amax_exec::Expr;
use pgrx::pg_sys;
use std::rc::Rc;

/// A scan's state as such.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn view(node: *mut pg_sys::CustomScanState) -> *mut dyn Batches {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe { of(node) as *mut Scan }
}

impl Batches for Scan {
    fn columns(&self) -> Vec<*mut pg_sys::Node> {
        // SAFETY: the node's state outlives this, which is a part of it.
        unsafe {
            let plan = (*self.node).ss.ps.plan as *mut pg_sys::CustomScan;
            expressions((*plan).custom_scan_tlist)
        }
    }
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn compile(&mut self, wanted: &[*mut pg_sys::Node]) -> Vec<Option<Expr>> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let entries = self.rows.entries.clone();
            let mut compiler = Compiler::new(&entries, self.state());
            compiler.pg_exprs = std::mem::take(&mut self.rows.pg_exprs);
            let found = wanted
                .iter()
                .map(|&e| if is_pure(e) { compiler.compile(e) } else { None })
                .collect();
            self.rows.pg_exprs = compiler.pg_exprs;
            found
        }
    }

    fn state(&self) -> *mut pg_sys::PlanState {
        self.node as *mut pg_sys::PlanState
    }

    fn read(&mut self, columns: Vec<usize>) {
        self.output = columns;
    }

    fn take_last_first(&mut self) {
        self.from_end = true;
    }

    fn limit_to(&mut self, interest: Option<Rc<dyn Interest>>) {
        debug_assert!(self.is_flat());
        self.orders = interest.is_some();
        self.interest = interest;
    }

    fn next_batch(&mut self) -> Option<Batch> {
        self.run(self.stages.len() - 1, true)
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn positions(&mut self, batch: &Batch) -> Positions {
        match batch {
            Batch::Leaf(columns, rows) => {
                let rows = rows.iter().map(|&row| columns.root(row)).collect();
                Positions::Leaf(columns.leaf.clone(), columns.origin, rows)
            }
            Batch::Row => Positions::Tid(self.rows.tid()),
        }
    }

    fn batch_at(&mut self, positions: &Positions) -> Batch {
        match positions {
            Positions::Leaf(leaf, origin, rows) => {
                let columns = LeafColumns::new(leaf.clone(), *origin, &self.rows.entries);
                Batch::Leaf(Rc::new(columns), rows.clone())
            }
            Positions::Tid(tid) => {
                self.rows.set_tid(*tid, self.source.snapshot);
                Batch::Row
            }
        }
    }

    fn restart(&mut self) {
        self.start_again();
    }

    fn start(&mut self) {
        // SAFETY: the node's state outlives this, which is a part of it.
        unsafe {
            let instrument = (*self.node).ss.ps.instrument;
            if !instrument.is_null() {
                pg_sys::InstrStartNode(instrument);
            }
        }
    }

    fn stop(&mut self, rows: usize) {
        // SAFETY: the node's state outlives this, which is a part of it.
        unsafe {
            self.note_removed();
            let instrument = (*self.node).ss.ps.instrument;
            if !instrument.is_null() {
                pg_sys::InstrStopNode(instrument, rows as f64);
            }
        }
    }
}
