//! The scan as one that hands up batches.

use super::stage::Passed;
use super::state::Scan;
use crate::pg::node::Node;
use crate::pg::state::{CustomScanState, PlanState};
use crate::query::batch::columns::{BatchColumns, Home};
use crate::query::batch::contract::{Interest, Positions};
use crate::query::batch::gather::AloneBuilder;
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::expr::entry::{Entry, expressions};
use crate::query::plan::node::state_of;
use amax_exec::Expr;
use std::cell::RefCell;
use std::rc::Rc;

/// A scan's state as such.
pub fn view(node: &CustomScanState) -> &'static RefCell<dyn Batches> {
    state_of::<Scan>(node)
}

impl Scan {
    /// For rows by themselves.
    fn alone(&self) -> AloneBuilder {
        // What is asked of elements does not.
        let raises = |at: &usize| {
            let entry = &self.rows.entries[*at];
            entry.level() == 0 && matches!(entry, Entry::Answer(..) | Entry::Found(..) | Entry::Part(..))
        };
        let read: Vec<usize> = self.output.iter().copied().filter(|at| !raises(at)).collect();
        AloneBuilder::new(&self.rows, &read)
    }
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

    fn has_leaves(&self) -> bool {
        self.is_flat()
    }

    fn limit_to(&mut self, interest: Option<Rc<dyn Interest>>) {
        debug_assert!(self.is_flat());
        self.orders = interest.as_ref().is_some_and(|interest| interest.has_ranks());
        self.interest = interest;
    }

    fn next_batch(&mut self) -> Option<Batch> {
        if let Some(waiting) = self.waiting.take() {
            return Some(waiting);
        }
        let mut alone = self.begun.take();
        while alone.as_ref().is_none_or(|alone| !alone.is_full()) {
            match self.run(self.stages.len() - 1, true) {
                None => break,
                Some(Passed::Alone) => {
                    let others = alone.take_if(|alone| !alone.takes(&self.rows));
                    let mut begun = alone.unwrap_or_else(|| self.alone());
                    begun.push(&mut self.rows);
                    if others.is_some() {
                        // They are of the table before.
                        (alone, self.begun) = (others, Some(begun));
                        break;
                    }
                    alone = Some(begun);
                }
                Some(Passed::InColumns(columns, rows)) => {
                    // After those before it: there may be more of their kind later.
                    self.waiting = Some(Batch { columns, rows });
                    break;
                }
            }
        }
        let alone = alone.and_then(|alone| alone.finish(&self.rows));
        alone.or_else(|| self.waiting.take())
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn positions(&mut self, Batch { columns, rows }: &Batch) -> Positions {
        let rows = rows.iter().map(|&row| columns.root(row));
        match &columns.home {
            Home::Leaf(leaf, origin) => Positions::Leaf(leaf.clone(), *origin, rows.collect()),
            Home::Alone(alone) => Positions::Tids(alone.file, rows.map(|row| alone.tids[row as usize]).collect()),
        }
    }

    fn batch_at(&mut self, positions: &Positions) -> Batch {
        match positions {
            Positions::Leaf(leaf, origin, rows) => Batch {
                columns: Rc::new(BatchColumns::new(leaf.clone(), *origin, &self.rows.entries)),
                rows: rows.clone(),
            },
            Positions::Tids(file, tids) => {
                self.rows.go_to(*file);
                let mut alone = self.alone();
                for &tid in tids {
                    self.rows.set_tid(tid);
                    alone.push(&mut self.rows);
                }
                alone.finish(&self.rows).expect("positions of some rows")
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
