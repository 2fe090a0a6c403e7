//! The scan as one that hands up batches.

use super::state::Scan;
use crate::pg::node::Node;
use crate::pg::state::{CustomScanState, PlanState};
use crate::query::batch::columns::LeafColumns;
use crate::query::batch::contract::{Interest, Positions};
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::expr::entry::expressions;
use crate::query::plan::node::state_of;
use amax_exec::Expr;
use std::cell::RefCell;
use std::rc::Rc;

/// A scan's state as such.
pub fn view(node: &CustomScanState) -> &'static RefCell<dyn Batches> {
    state_of::<Scan>(node)
}

impl Batches for Scan {
    fn columns(&self) -> Vec<&'static Node> {
        expressions(self.node.scan().custom_scan_tlist())
    }

    fn compile(&mut self, wanted: &[&Node]) -> Vec<Option<Expr>> {
        self.rows.compile(wanted, Some(self.node))
    }

    fn state(&self) -> &'static PlanState {
        self.node
    }

    fn read(&mut self, columns: Vec<usize>) {
        self.driven = true;
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
        self.node.start_clock();
    }

    fn stop(&mut self, rows: usize) {
        self.note_removed();
        self.node.stop_clock(rows);
    }
}
