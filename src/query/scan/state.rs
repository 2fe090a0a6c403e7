//! The scan node: vectorized filters over leaves, then the entries of the rows that pass.

use super::private::{Begins, Level, ReadToEnd, ScanPlan};
use super::progress::Progress;
use super::shared::Shared;
use super::source::{Counters, Source};
use super::sources::Sources;
use super::stage::{Clause, Counts, Current, Stage};
use crate::columnar::stub;
use crate::pg::Relation;
use crate::pg::expr::{FuncExpr, Var};
use crate::pg::node::Node;
use crate::pg::state::{CustomScanState, Prepared};
use crate::query::batch::Batch;
use crate::query::batch::arrays::Arrays;
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::contract::Interest;
use crate::query::batch::function::Function;
use crate::query::batch::gather::AloneBuilder;
use crate::query::batch::rows::Rows;
use crate::query::expr::compile::{Compiler, all_reads, reads};
use crate::query::expr::entry::{Entry, entry_of, expressions};
use crate::query::expr::quiet::looks_up;
use crate::query::expr::tree::any;
use crate::query::expr::unnesting::Unnesting;
use crate::query::join_filter::filter::{JoinFilter, JoinFilters};
use crate::table::load;
use amax_exec::Expr;
use pgrx::pg_sys;
use std::rc::Rc;

pub struct Scan {
    pub(super) node: &'static CustomScanState,
    pub(super) rows: Rows,
    pub(super) source: Sources,
    pub(super) stages: Vec<Stage>,
    pub(super) arrays: Option<Rc<Arrays>>,
    /// Rows that the conditions took out, and [`Scan::note_removed`] has not noted yet.
    pub(super) removed: usize,
    /// Rows of the table that it has met, and [`Scan::note_met`] has not noted yet.
    pub(super) met: usize,
    /// In the rows of the first stage.
    pub(super) progress: Progress,
    /// Of the leaf that it was at last.
    pub(super) columns: Option<Rc<BatchColumns>>,
    pub(super) joins: JoinFilters,
    pub(super) all: ReadToEnd,
    /// How many of the table's conditions, the first, may skip leaves.
    pub(super) skipping: usize,
    /// Whether another node of ours drives it.
    pub(super) driven: bool,
    pub(super) begins: Begins,
    /// Entries that the node's own target list reads, or whoever drives it.
    pub(super) output: Vec<usize>,
    /// What comes after rows by themselves that have just been handed up.
    pub(super) waiting: Option<Batch>,
    /// Rows by themselves of the table that comes next.
    pub(super) begun: Option<AloneBuilder>,
    /// What of it whoever drives it has use for, if not all.
    pub(super) interest: Option<Rc<dyn Interest>>,
    /// Whether leaves are still to be put in the order of what they promise.
    pub(super) orders: bool,
    /// Whether processes take the last leaves first.
    pub(super) from_end: bool,
    /// Whether the statement changes or locks the table's rows.
    pub(super) changes: bool,
    pub(super) parallel: bool,
    /// What workers share, as long as it is there.
    pub(super) shared: Option<Shared>,
}

impl Drop for Scan {
    /// Runs when the memory context goes. What is still held then was not let go by `end`: an error ended the query,
    /// and the resource owner has released the pins.
    fn drop(&mut self) {
        if self.changes {
            stub::ahead::forget();
        }
        self.source.each().for_each(|source| source.block.abandon());
    }
}

/// Whether it is a system column of who made the row, or locked or deleted it.
fn is_of_transactions(node: &Node) -> bool {
    const LAST: i32 = pg_sys::MaxCommandIdAttributeNumber;
    const FIRST: i32 = pg_sys::MinTransactionIdAttributeNumber;
    let var = node.as_a::<Var>();
    var.is_some_and(|var| (LAST..=FIRST).contains(&i32::from(var.varattno())))
}

impl Scan {
    /// Of a table, or of partitions.
    pub(super) fn new(node: &'static CustomScanState, private: ScanPlan, tables: &[&'static Relation]) -> Scan {
        let plan = node.scan();
        let tlist = expressions(plan.custom_scan_tlist());
        let (clauses, calls) = private.expressions(plan);
        let unnesting = |(level, call): (&Level, &&Node)| {
            let function = call.as_a::<FuncExpr>().map(|call| call.funcid().to_u32());
            function.and_then(|function| Unnesting::by(level.function.relation(plan), function))
        };
        let functions: Option<Vec<Unnesting>> = private.levels.iter().zip(&calls).map(unnesting).collect();
        let functions = functions.expect("the planner chose what unnests");
        let entries: Rc<[Entry]> = tlist.iter().map(|e| entry_of(e, &functions)).collect();
        let mut rows = Rows::new(node, tables[0], &tlist, entries.clone()).with_tables(&tables[1..]);
        rows.named = node.state().table(private.table(plan));
        let mut compiler = Compiler::new(&entries, Some(node));
        let mut clauses = clauses.into_iter();
        let mut stage = |matching: usize, others: usize, outer: bool, true_of_all: usize| {
            let mut vectors = private.begins != Begins::Early;
            let clause = |(at, clause): (usize, &Node)| {
                let compile = || match at + true_of_all < matching {
                    true => compiler.compile(clause),
                    false => Some(Expr::And(Vec::new())),
                };
                let vector = vectors.then(compile).flatten();
                let calls_out = vector.as_ref().is_some_and(Expr::calls_out) && !looks_up(clause, &entries);
                let vector = vector.filter(|_| private.all != ReadToEnd::Perhaps || !calls_out);
                vectors = vector.is_some();
                let prepared = vector.as_ref().and_then(|vector| compiler.prepared(vector));
                Clause {
                    state: prepared.unwrap_or_else(|| Prepared::new(clause, Some(node))),
                    reads: reads(clause),
                    calls_out,
                    vector,
                }
            };
            let clauses = clauses.by_ref().take(matching + others).enumerate().map(clause);
            Stage::new(clauses.collect(), matching, outer)
        };
        let mut stages = vec![stage(private.conditions, 0, false, private.about_blocks)];
        for level in &private.levels {
            stages.push(stage(level.matching, level.others, level.outer, 0));
        }
        rows.pg_exprs = std::mem::take(&mut compiler.pg_exprs);
        for (call, unnesting) in calls.into_iter().zip(&functions) {
            let array = reads(call)[0];
            rows.functions.push(Function::new(node, call, array, unnesting.parts()));
        }
        let arrays = Arrays::new(&entries, &rows.functions);
        let snapshot = node.state().snapshot();
        let mut output = all_reads(plan.targetlist());
        output.sort_unstable();
        let reads_row_pages = tlist.iter().any(|entry| any(entry, is_of_transactions));
        let source = |&rel: &&'static Relation| {
            load::publish_for(rel, Some(snapshot));
            let mut source = Source::new(rel, snapshot, private.blocks.clone(), None);
            if reads_row_pages {
                source.read_row_pages();
            }
            source
        };
        let source = Sources::new(tables.iter().map(source).collect());
        Scan {
            node,
            rows,
            source,
            stages,
            arrays: arrays.map(Rc::new),
            removed: 0,
            met: 0,
            progress: Progress::default(),
            columns: None,
            joins: JoinFilters::default(),
            all: private.all,
            begins: private.begins,
            skipping: private.skipping,
            driven: false,
            output,
            waiting: None,
            begun: None,
            interest: None,
            orders: false,
            from_end: false,
            changes: functions.is_empty() && node.state().changes(plan.scanrelid()),
            parallel: false,
            shared: None,
        }
    }

    /// Whether rows that have no match in a join above may be left out.
    pub fn takes_join_filters(&self) -> bool {
        self.begins == Begins::Matched
    }

    /// Has rows left out that have no match in a join above.
    pub fn add_join_filter(&mut self, filter: JoinFilter) {
        // Joins are met from the top; the lowest leaves out most, as a rule.
        self.joins.filters.insert(0, filter);
        self.joins.restart();
    }

    /// Whether it unnests nothing.
    pub fn is_flat(&self) -> bool {
        self.arrays.is_none()
    }

    pub(super) fn note_removed(&mut self) {
        let passed_over = self.source.each().map(|source| std::mem::take(&mut source.passed_over));
        let removed = std::mem::take(&mut self.removed) + passed_over.sum::<usize>();
        self.node.count_removed(removed);
    }

    /// What vectors decide of all stages' conditions, if the query is read to its end.
    pub fn vectorized(&self) -> usize {
        self.stages.iter().map(|stage| stage.vectorized(true)).sum()
    }

    /// Of each level of unnesting, whether rows without a matching element stay.
    pub fn outer_joins(&self) -> Vec<bool> {
        self.stages[1..].iter().map(|stage| stage.outer).collect()
    }

    /// What became of each stage's rows, and how many of its conditions say whether an element matches.
    pub fn counts(&self) -> impl Iterator<Item = (&Counts, usize)> {
        self.stages.iter().map(|s| (&s.counts, s.matching))
    }

    /// All that is counted, in an order.
    pub(super) fn counters(&mut self) -> Vec<&mut u64> {
        let mut all: Vec<&mut u64> = self
            .source
            .each()
            .flat_map(|source| source.counters.counters())
            .collect();
        for Stage { counts, .. } in &mut self.stages {
            all.extend([&mut counts.all, &mut counts.unmatched]);
            all.extend(&mut counts.passed);
        }
        all
    }

    /// Entries that are read.
    pub fn reads(&self) -> Vec<usize> {
        let clauses = self.stages.iter().flat_map(|stage| &stage.clauses);
        let arrays = self.rows.functions.iter().map(|f| f.array);
        let mut all: Vec<usize> = clauses
            .flat_map(|c| &c.reads)
            .chain(self.joins.filters.iter().flat_map(|f| &f.reads))
            .chain(&self.output)
            .copied()
            .chain(arrays)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Has met rows of the table, of which so many are handed on.
    pub(super) fn pass(&mut self, met: usize, handed: usize) {
        let gone = met.saturating_sub(handed);
        let unmatched = gone.min(self.progress.unmatched);
        self.progress.unmatched -= unmatched;
        self.met += met;
        self.removed += gone - unmatched;
    }

    /// pgstat_count_heap_getnext() (pgstat.h).
    pub(super) fn note_met(&mut self) {
        self.source.note_met(std::mem::take(&mut self.met));
    }

    /// Lets go of the rows it is at.
    pub(super) fn forget(&mut self) {
        if self.changes {
            stub::ahead::forget();
        }
        self.note_met();
        (self.waiting, self.begun) = (None, None);
        self.progress = Progress::default();
        for stage in &mut self.stages {
            stage.current = Current::None;
        }
        self.rows.clear();
    }

    /// From its start again.
    pub(super) fn start_again(&mut self) {
        self.forget();
        self.joins.restart();
        if !self.parallel {
            self.source.rewind();
        }
    }

    pub fn source_counters(&mut self) -> Counters {
        self.source.leave();
        self.source.counters()
    }
}
