//! The node above an index, bitmap or sample scan: the entries of the rows it finds, paths from their own columns. The scan
//! below does all that has to do with finding rows, EvalPlanQual included.

use crate::columnar::Row;
use crate::pg::Slot;
use crate::pg::explain::ExplainState;
use crate::pg::node::{Node, Nodes};
use crate::pg::state::{CustomScanState, EState, PlanState, Prepared};
use crate::query::batch::child::begin_child;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::explain;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::{all_reads, reads};
use crate::query::expr::entry::{Entry, entry_of, expressions};
use crate::query::plan::node::{CustomNode, ExecMethods};
use crate::table::slot::columnar_row;
use std::rc::Rc;

static METHODS: ExecMethods = ExecMethods::of::<Fetch>(c"AmaxFetch");

pub struct Fetch {
    rows: Rows,
    /// Of the leaf that a sample's rows are in.
    columns: Option<Rc<BatchColumns>>,
    below: &'static PlanState,
    /// Conditions with the entries they read.
    conditions: Vec<(Prepared, Vec<usize>)>,
    /// Entries that the target list reads.
    output: Vec<usize>,
}

impl Fetch {
    /// The next row of the scan below, in the slot that it has it in: what it hands up itself has no columns.
    fn next_row(&self) -> Option<&'static Slot> {
        self.below.next()?;
        Some(self.below.econtext().row())
    }

    /// Where a row is in a slot. Of a sample's, which are many of a leaf, whole columns are read.
    fn set(&mut self, slot: &'static Slot) {
        let row = columnar_row(slot);
        let Some((leaf, origin, row)) = row.as_ref().and_then(Row::of_scan) else {
            return self.rows.set_slot(slot);
        };
        let columns = BatchColumns::known(&mut self.columns, (leaf, origin), &self.rows.entries);
        self.rows.set_leaf(&columns, row);
    }

    fn passes(&mut self) -> bool {
        let rows = &mut self.rows;
        self.conditions.iter().all(|(state, reads)| rows.holds(*state, reads))
    }

    /// Entries that are read.
    fn reads(&self) -> Vec<usize> {
        let conditions = self.conditions.iter().flat_map(|(_, reads)| reads);
        let mut all: Vec<usize> = conditions.chain(&self.output).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl CustomNode for Fetch {
    fn methods() -> &'static ExecMethods {
        &METHODS
    }

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Fetch {
        let below = begin_child(node, estate, flags);
        let plan = node.scan();
        let tlist = expressions(plan.custom_scan_tlist());
        let entries: Rc<[Entry]> = tlist.iter().map(|e| entry_of(e, &[])).collect();
        let rel = node.relation().expect("a fetch is of a table");
        let condition = |clause: &Node| (Prepared::new(clause, Some(node)), reads(clause));
        Fetch {
            rows: Rows::new(node, rel, &tlist, entries),
            columns: None,
            below,
            conditions: plan.custom_exprs().iter().map(condition).collect(),
            output: all_reads(plan.targetlist()),
        }
    }

    fn next(&mut self, node: &'static CustomScanState) -> Option<&'static Slot> {
        loop {
            let Some(slot) = self.next_row() else {
                self.rows.clear();
                return None;
            };
            self.set(slot);
            if self.passes() {
                break;
            }
            node.count_removed(1);
        }
        self.rows.fill(&self.output);
        Some(node.project(self.rows.scan_slot))
    }

    fn end(&mut self, _node: &CustomScanState) {
        self.rows.clear();
        self.below.end();
    }

    fn rescan(&mut self, node: &CustomScanState) {
        self.rows.clear();
        node.tell(self.below);
        // Else when it is asked for its first row.
        if !self.below.is_changed() {
            self.below.rescan();
        }
    }

    /// What it reads of the rows found below it.
    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        explain::materialization("late", es);
        let conditions = node.scan().custom_exprs().to_vec();
        explain::Conditions::of(node, ancestors, es).show(&conditions, node, es);
        explain::columns(&self.rows, &[], self.reads(), Vec::new(), es);
    }
}
