//! EXPLAIN of a scan: what it reads, and how many rows each of its steps leaves.

use super::above;
use super::private::{Begins, ScanPlan};
use super::state::Scan;
use crate::encoding::{of_utf8, shown};
use crate::pg::explain::ExplainState;
use crate::pg::node::{Node, Nodes};
use crate::pg::relation::may_be_read_whole;
use crate::pg::state::CustomScanState;
use crate::query::batch::explain::{Conditions, columns, materialization, text};
use crate::query::batch::reasons;
use crate::query::expr::why::why;
use crate::query::plan::private::Private;

impl Scan {
    /// How many rows there are after each step: conditions one by one, and arrays unnested.
    fn explain_steps<'a>(
        &self,
        arrays: &[String],
        (shown_as, conditions): (&Conditions<'a>, &[&'a Node]),
        es: &ExplainState,
    ) {
        if arrays.is_empty() && conditions.is_empty() {
            return;
        }
        let mut conditions = conditions.iter();
        let step = |kind: &str, what: &str, rows: u64| {
            if es.is_text() {
                es.integer(&of_utf8(format!("Rows {kind} {what}").trim_end()), rows);
                return;
            }
            es.group(c"Step", false, || {
                text(c"Step", kind, es);
                if !what.is_empty() {
                    text(c"Of", what, es);
                }
                es.integer(c"Rows", rows);
            });
        };
        es.group(c"Steps", true, || {
            for (stage, (counts, matching)) in self.counts().enumerate() {
                match stage.checked_sub(1) {
                    None => step("Scanned", "", counts.all),
                    Some(array) => step("Unnested", &arrays[array], counts.all),
                }
                for (i, &passed) in counts.passed.iter().enumerate() {
                    if i == matching && counts.unmatched > 0 {
                        step("Without Match", "", counts.unmatched);
                    }
                    let condition = shown_as.text(conditions.next().expect("each is somewhere"));
                    step("Passed", &shown(condition.to_bytes()), passed);
                }
                if counts.passed.len() == matching && counts.unmatched > 0 {
                    step("Without Match", "", counts.unmatched);
                }
            }
        });
    }

    /// The conditions that have no vectorized form, or none that is used, and why.
    fn left<'a>(&self, conditions: &[&'a Node], shown_as: &Conditions<'a>) -> Vec<String> {
        let mut left = Vec::new();
        let mut conditions = conditions.iter();
        for stage in &self.stages {
            let mut before = false;
            for (clause, &condition) in stage.clauses.iter().zip(conditions.by_ref()) {
                let reason = match &clause.vector {
                    Some(_) => continue,
                    None if before => "a condition before it is PostgreSQL's".into(),
                    None if clause.calls_out => "the query may end before the last row".into(),
                    None => why(condition, &self.rows.entries),
                };
                before = true;
                left.push(reasons::line(shown_as.text(condition), &reason));
            }
        }
        left
    }

    /// The columns it reads, and what became of its leaves.
    pub(super) fn show(&mut self, node: &CustomScanState, ancestors: Nodes<'_>, es: &ExplainState) {
        let plan = node.scan();
        if !self.driven {
            materialization(if self.begins == Begins::Early { "early" } else { "late" }, es);
        }
        let (conditions, _) = ScanPlan::of_plan(plan).expressions(plan);
        let shown_as = Conditions::of(node, ancestors, es);
        shown_as.show(&conditions, node, es);
        let joined = self.joins.filters.iter().flat_map(|f| f.reads.clone());
        let (outer_joins, reads) = (self.outer_joins(), self.reads());
        let arrays = columns(&self.rows, &outer_joins, reads, joined.collect(), es);
        if self.vectorized() > 0 {
            es.integer(c"Vectorized Conditions", self.vectorized() as u64);
        }
        if es.verbose() {
            let mut lines = self.left(&conditions, &shown_as);
            lines.extend(reasons::of_rows(&self.rows, &shown_as));
            lines.extend(above::left(node, &shown_as, ancestors, es));
            reasons::show(lines, es);
        }
        let partitions = self.rows.tables().len();
        if partitions > 1 {
            es.integer(c"Partitions", partitions as u64);
        }
        // Only if the user may look at all rows of the table by himself. To others the counts of leaves and of each condition's rows would
        // tell of values that row-level security or a view hides from them: with conditions of their own they find the least and the greatest.
        // Heap's counts, which they get, are all rows less those that pass all conditions.
        if es.analyze() && may_be_read_whole(self.rows.named) {
            let counters = self.source_counters();
            es.integer(c"Leaves Read", counters.leaves - counters.skipped);
            es.integer(c"Leaves Skipped", counters.skipped);
            if counters.unwanted > 0 {
                es.integer(c"Leaves Skipped by Best Rows", counters.unwanted);
            }
            es.integer(c"Row Pages Read", counters.pages);
            if counters.kept > 0 {
                es.integer(c"Row Pages Kept", counters.kept);
            }
            es.integer(c"Columnar Rows", counters.rows);
            if !self.joins.filters.is_empty() {
                es.integer(c"Rows Removed by Join Filters", counters.unmatched);
            }
            es.integer(c"Decoded kB", counters.decoded.div_ceil(1024));
            self.explain_steps(&arrays, (&shown_as, &conditions), es);
        }
    }
}
