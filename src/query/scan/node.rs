//! The scan as PostgreSQL's executor runs it.

use super::private::ScanPlan;
use super::state::Scan;
use crate::pg::Slot;
use crate::pg::explain::ExplainState;
use crate::pg::node::Nodes;
use crate::pg::snapshot::predicate_lock;
use crate::pg::state::{CustomScanState, EState, Recheck, Rechecked};
use crate::query::plan::node::{CustomNode, ExecMethods};
use crate::query::plan::private::Private;
use pgrx::pg_sys;

pub static METHODS: ExecMethods = ExecMethods::of_shared::<Scan>(c"AmaxScan");

impl CustomNode for Scan {
    fn methods() -> &'static ExecMethods {
        &METHODS
    }

    fn begin(node: &'static CustomScanState, estate: &'static EState, flags: i32) -> Scan {
        let plan = node.scan();
        let private = ScanPlan::of_plan(plan);
        let tables = match node.relation() {
            _ if !private.partitions.is_empty() => {
                let partitions = private.partitions.iter();
                partitions.map(|&table| estate.open_table(table, flags)).collect()
            }
            Some(rel) => vec![rel],
            // A join's is for us to open.
            None => vec![estate.open(private.table(plan), flags)],
        };
        if flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32 == 0 {
            tables.iter().for_each(|rel| predicate_lock(rel, estate.snapshot()));
        }
        Scan::new(node, private, &tables)
    }

    fn next(&mut self, node: &'static CustomScanState) -> Option<&'static Slot> {
        let estate = node.state();
        // What unnests is in no query whose rows may be rechecked.
        let found = match estate.recheck().filter(|_| self.is_flat()) {
            None => {
                if self.joins.news() {
                    self.note_joins();
                }
                self.advance(estate.is_forward())
            }
            Some(recheck) => self.recheck(node, recheck),
        };
        self.note_removed();
        if !found {
            return None;
        }
        self.rows.fill(&self.output);
        #[cfg(feature = "test_hooks")]
        super::mutants::lose_column(self.rows.scan_slot);
        Some(node.project(self.rows.scan_slot))
    }

    fn end(&mut self, _node: &CustomScanState) {
        self.source.each().for_each(|source| source.count());
        self.forget();
        self.columns = None;
        self.source.block.clear();
    }

    fn rescan(&mut self, _node: &CustomScanState) {
        self.start_again();
    }

    fn explain(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        self.show(node, ancestors, es);
    }
}

impl Scan {
    /// EvalPlanQual's one row of our relation, if it is there and passes.
    fn recheck(&mut self, node: &CustomScanState, recheck: &Recheck) -> bool {
        match recheck.row(node.scan().scanrelid(), self.rows.row_slot) {
            Rechecked::All => return self.advance(true),
            Rechecked::None => return false,
            // As it is: a copy has no tableoid.
            Rechecked::Row(slot) => self.rows.set_slot(slot),
        }
        let passes = self.passes(0, 0, 0);
        self.removed += usize::from(!passes);
        passes
    }
}
