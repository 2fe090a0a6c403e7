//! The scan node: vectorized filters over leaves, then the entries of the rows that pass.

use super::run;
use super::shape::{ReadToEnd, Shape};
use super::shared::Shared;
use super::source::{Met, Position, Source, Unit};
use super::stage::{Clause, Counts, Current, Picked, Stage, UNLESS_MATCHED};
use crate::am::bulk;
use crate::query::batch::arrays::{Arrays, Function};
use crate::query::batch::columns::LeafColumns;
use crate::query::batch::rows::{Constants, Postgres, Rows};
use crate::query::expr::compile::{Compiler, reads};
use crate::query::expr::entry::{Entry, entry_of, expressions};
use crate::query::expr::tree::{is_pure, nodes};
use crate::query::expr::unnesting::Unnesting;
use crate::query::join::filter::JoinFilters;
use crate::storage::meta::logical_blocks;
use amax_exec::{Batch, Expr, passes_none};
use pgrx::pg_sys;
use std::rc::Rc;

/// The node's state, begun as PostgreSQL's.
#[repr(C)]
pub struct Node {
    pub base: pg_sys::CustomScanState,
    pub scan: *mut Scan,
}

/// Rows that passed all conditions.
pub enum Run {
    Leaf(Rc<LeafColumns>, Vec<u32>),
    /// The one it is about.
    One,
}

pub struct Scan {
    pub rows: Rows,
    pub source: Source,
    stages: Vec<Stage>,
    arrays: Option<Rc<Arrays>>,
    /// Rows that the conditions took out, and [`Scan::note_removed`] has not noted yet.
    removed: usize,
    pub joins: JoinFilters,
    all: ReadToEnd,
    /// Entries that the node's own target list reads, or whoever drives it.
    pub output: Vec<usize>,
    pub(super) parallel: bool,
    /// What workers share, as long as it is there.
    pub(super) shared: *mut Shared,
}

impl Drop for Scan {
    /// Runs when the memory context goes. What is still held then was not let go by `end`: an error ended the query,
    /// and the resource owner has released the pins.
    fn drop(&mut self) {
        self.source.block.abandon();
    }
}

pub unsafe fn of<'a>(node: *mut pg_sys::CustomScanState) -> &'a mut Scan {
    &mut *(*(node as *mut Node)).scan
}

impl Scan {
    pub(super) unsafe fn new(node: *mut pg_sys::CustomScanState, rel: pg_sys::Relation) -> Scan {
        let plan = (*node).ss.ps.plan as *mut pg_sys::CustomScan;
        let shape = Shape::of(plan);
        let tlist = expressions((*plan).custom_scan_tlist);
        let calls = nodes((*plan).custom_exprs);
        let functions: Vec<Unnesting> = shape
            .functions()
            .into_iter()
            .zip(&calls)
            .map(|(relation, &call)| {
                let function = (*(call as *mut pg_sys::FuncExpr)).funcid.to_u32();
                Unnesting::by(relation, function).expect("the planner chose what unnests")
            })
            .collect();
        let entries: Rc<[Entry]> = tlist.iter().map(|&e| entry_of(e, &functions)).collect();
        let mut rows = Rows::new(&mut (*node).ss, rel, &tlist, entries.clone());
        let parent = &mut (*node).ss.ps as *mut pg_sys::PlanState;
        let mut compiler = Compiler {
            entries: &entries,
            parent,
            outside: Vec::new(),
            sometimes: false,
        };
        let mut clauses = nodes((*plan).scan.plan.qual).into_iter();
        let mut stage = |matching: usize, others: usize, outer: bool| {
            let mut vectors = true;
            let clause = |clause: *mut pg_sys::Node| {
                let vector = vectors.then(|| compiler.compile(clause)).flatten();
                let vector = vector.filter(|v| shape.all != ReadToEnd::Perhaps || !v.calls_out());
                vectors = vector.is_some();
                Clause {
                    state: pg_sys::ExecInitExpr(clause as *mut pg_sys::Expr, parent),
                    reads: reads(clause),
                    calls_out: vector.as_ref().is_some_and(Expr::calls_out),
                    vector,
                }
            };
            let clauses = clauses.by_ref().take(matching + others).map(clause);
            Stage::new(clauses.collect(), matching, outer)
        };
        let mut stages = vec![stage(shape.conditions, 0, false)];
        for level in &shape.levels {
            stages.push(stage(level.matching, level.others, level.outer));
        }
        rows.outside = std::mem::take(&mut compiler.outside);
        for (call, unnesting) in calls.into_iter().zip(&functions) {
            let array = reads(call)[0];
            let call = call as *mut pg_sys::FuncExpr;
            let function = Function::new(&mut (*node).ss, call, array, unnesting.parts());
            rows.functions.push(function);
        }
        let arrays = Arrays::new(&entries, &rows.functions);
        let estate = (*node).ss.ps.state;
        if !bulk::idle() {
            bulk::publish_for(rel, (*estate).es_snapshot);
        }
        let mut output = reads((*plan).scan.plan.targetlist as *mut pg_sys::Node);
        output.sort_unstable();
        Scan {
            rows,
            source: Source::new(rel, (*estate).es_snapshot, logical_blocks(rel), Position::Own(0..0)),
            stages,
            arrays: arrays.map(Rc::new),
            removed: 0,
            joins: JoinFilters::default(),
            all: shape.all,
            output,
            parallel: false,
            shared: std::ptr::null_mut(),
        }
    }

    /// Adds expressions that somebody above evaluates over the entries; their vectorized forms.
    pub unsafe fn compile(
        &mut self,
        node: *mut pg_sys::CustomScanState,
        wanted: &[*mut pg_sys::Node],
    ) -> Vec<Option<Expr>> {
        let entries = self.rows.entries.clone();
        let mut compiler = Compiler {
            entries: &entries,
            parent: &mut (*node).ss.ps,
            outside: std::mem::take(&mut self.rows.outside),
            sometimes: false,
        };
        let found = wanted
            .iter()
            .map(|&e| if is_pure(e) { compiler.compile(e) } else { None })
            .collect();
        self.rows.outside = compiler.outside;
        found
    }

    /// Rows of the next leaf that pass the vectorized conditions, each with the condition to go on with; or a page.
    unsafe fn unit(&mut self, forward: bool) -> Current {
        let (rows, clauses) = (&mut self.rows, &self.stages[0].clauses);
        let unit = self.source.next(forward, &mut |leaf| {
            let zones = rows.zones(leaf);
            let vectors = clauses.iter().map_while(|clause| clause.vector.as_ref());
            passes_none(vectors, &zones, &mut Constants(rows))
        });
        match unit {
            None => Current::None,
            Some(Unit::Page) => {
                self.stages[0].counts.all += self.source.block.len() as u64;
                Current::Page
            }
            Some(Unit::Leaf(leaf, origin, rows)) => {
                #[cfg(feature = "test_hooks")]
                let rows = super::mutants::drop_rows(rows);
                let columns = Rc::new(LeafColumns::new(leaf, origin, &self.rows.entries));
                let picked = self.filter(0, &columns, rows);
                let picked = self.leave_out_unmatched(&columns, picked, 0);
                Current::Leaf(columns, picked)
            }
        }
    }

    /// Leaves out those rows, from the `from`-th on, that have no match in a join above. Conditions that are still open
    /// come first: they may raise an error.
    unsafe fn leave_out_unmatched(&mut self, columns: &Rc<LeafColumns>, mut picked: Picked, from: usize) -> Picked {
        if self.joins.filters.is_empty() {
            return picked;
        }
        let conditions = self.stages[0].clauses.len();
        let passed = |row: &(u32, usize)| row.1 == conditions;
        let rows: Vec<u32> = match &picked {
            Picked::Decided(rows) => rows[from..].to_vec(),
            Picked::Open(rows) => {
                let rows = rows[from..].iter().filter(|&row| passed(row));
                rows.map(|row| row.0).collect()
            }
        };
        let all = rows.len();
        let kept = self.joins.select(&mut self.rows, columns, rows);
        self.source.met.unmatched += (all - kept.len()) as u64;
        match &mut picked {
            Picked::Decided(rows) => {
                rows.truncate(from);
                rows.extend(kept);
            }
            Picked::Open(rows) => {
                let mut kept = kept.into_iter().peekable();
                let rest = rows.split_off(from);
                rows.extend(
                    rest.into_iter()
                        .filter(|row| !passed(row) || kept.next_if_eq(&row.0).is_some()),
                );
            }
        }
        picked
    }

    /// A join above has built its table: the rows that are still to come are looked at again.
    pub(super) unsafe fn hear_of_joins(&mut self) {
        let stage = &mut self.stages[0];
        let from = (stage.at + 1) as usize;
        match std::mem::replace(&mut stage.current, Current::None) {
            Current::Leaf(columns, picked) => {
                let from = from.min(picked.len());
                let picked = self.leave_out_unmatched(&columns, picked, from);
                self.stages[0].current = Current::Leaf(columns, picked);
            }
            other => stage.current = other,
        }
    }

    /// Whether it unnests nothing.
    pub fn is_flat(&self) -> bool {
        self.arrays.is_none()
    }

    /// Rows that may pass a stage's conditions.
    unsafe fn filter(&mut self, stage: usize, columns: &Rc<LeafColumns>, mut rows: Vec<u32>) -> Picked {
        let to_end = match self.all {
            ReadToEnd::Perhaps => false,
            ReadToEnd::WithQuery => run::is_whole(),
            ReadToEnd::Always => true,
        };
        let stage = &mut self.stages[stage];
        let all = rows.len();
        stage.counts.all += all as u64;
        let mut picked: Vec<(u32, usize)> = Vec::new();
        let mut external = Postgres {
            rows: &mut self.rows,
            columns: columns.clone(),
        };
        let mut batch = Batch {
            columns: &**columns,
            external: &mut external,
        };
        let vectorized = stage.vectorized(to_end);
        for (i, clause) in stage.clauses[..vectorized].iter().enumerate() {
            let Some(vector) = &clause.vector else { break };
            if rows.is_empty() {
                break;
            }
            let mut unsure = Vec::new();
            rows = batch.filter(vector, &rows, &mut unsure);
            stage.counts.passed[i] += rows.len() as u64;
            picked.extend(unsure.into_iter().map(|row| (row, i)));
        }
        self.removed += all - rows.len() - picked.len();
        if picked.is_empty() && vectorized == stage.clauses.len() {
            return Picked::Decided(rows);
        }
        let open = !picked.is_empty();
        picked.extend(rows.into_iter().map(|row| (row, vectorized)));
        if open {
            picked.sort_unstable();
        }
        Picked::Open(picked)
    }

    /// The elements of the arrays of some rows of the stage before.
    unsafe fn elements(&mut self, stage: usize, columns: &Rc<LeafColumns>, rows: &[u32]) -> Current {
        let arrays = self.arrays.clone().expect("a stage unnests something");
        let Stage { outer, matching, .. } = self.stages[stage];
        let batch = Rc::new(columns.unnest(&arrays, rows, outer));
        let (elements, without): (Vec<u32>, Vec<u32>) =
            (0..batch.len() as u32).partition(|&row| batch.place(row).is_some());
        let mut picked = self.filter(stage, &batch, elements);
        if outer {
            let conditions = self.stages[stage].clauses.len();
            let parent = |row: u32| batch.elements().map(|e| e.parents[row as usize]);
            let mut at = 0;
            let mut kept = Vec::new();
            for row in without {
                // Those of the same row of the stage before come before it.
                let (mut sure, mut open) = (false, false);
                while let Some((element, first)) = picked.get(at, conditions).filter(|p| p.0 < row) {
                    if parent(element) == parent(row) {
                        sure |= first == matching;
                        open = true;
                    }
                    at += 1;
                }
                if !sure {
                    kept.push((row, if open { UNLESS_MATCHED } else { matching }));
                }
            }
            kept.extend((0..picked.len()).filter_map(|at| picked.get(at, conditions)));
            kept.sort_unstable();
            picked = Picked::Open(kept);
        }
        Current::Leaf(batch, picked)
    }

    /// What a stage has to look at next; false at the end.
    unsafe fn begin(&mut self, stage: usize, forward: bool, eager: bool) -> bool {
        self.stages[stage].current = Current::None;
        let current = if stage == 0 {
            self.rows.clear();
            self.unit(forward)
        } else {
            match self.run(stage - 1, eager) {
                None => Current::None,
                Some(Run::Leaf(columns, rows)) => self.elements(stage, &columns, &rows),
                Some(Run::One) => {
                    self.rows.call(stage);
                    Current::Call
                }
            }
        };
        let page = self.source.block.len() as isize;
        let stage = &mut self.stages[stage];
        stage.matched = None;
        stage.at = match &current {
            _ if forward => -1,
            Current::Leaf(_, picked) => picked.len() as isize,
            _ => page,
        };
        stage.current = current;
        !matches!(stage.current, Current::None)
    }

    /// InstrCountFiltered1() of instrument.h.
    pub unsafe fn note_removed(&mut self, instrument: *mut pg_sys::Instrumentation) {
        let removed = std::mem::take(&mut self.removed) + std::mem::take(&mut self.source.passed_over);
        if let Some(instrument) = instrument.as_mut() {
            instrument.nfiltered1 += removed as f64;
        }
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
        let mut all = self.source.met.counters();
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

    /// Whether the row it is about passes a stage's conditions from `first` on.
    pub(super) unsafe fn passes(&mut self, stage: usize, first: usize, parent: u32) -> bool {
        let found = &mut self.stages[stage];
        for i in first..found.clauses.len() {
            if i == found.matching {
                found.matched = Some(parent);
            }
            let clause = &found.clauses[i];
            if !self.rows.holds(clause.state, &clause.reads) {
                self.removed += 1;
                return false;
            }
            found.counts.passed[i] += 1;
        }
        if found.clauses.len() == found.matching {
            found.matched = Some(parent);
        }
        true
    }

    /// Whether a row of a stage's batch passes the conditions that are left. It becomes the row we are at, unless none
    /// is left and only its number matters.
    unsafe fn looks_good(
        &mut self,
        stage: usize,
        columns: &Rc<LeafColumns>,
        (row, mut first): (u32, usize),
        only_number: bool,
    ) -> bool {
        let parent = columns.elements().map_or(0, |e| e.parents[row as usize]);
        if first == UNLESS_MATCHED {
            if self.stages[stage].matched == Some(parent) {
                return false;
            }
            first = self.stages[stage].matching;
        }
        if columns.place(row).is_none() {
            self.stages[stage].counts.unmatched += 1;
        }
        if !only_number || first < self.stages[stage].clauses.len() {
            self.rows.set_leaf(columns, row);
        }
        self.passes(stage, first, parent)
    }

    /// Moves to the next row of the last stage that passes, in the given direction; false at the end.
    pub(super) unsafe fn advance(&mut self, forward: bool) -> bool {
        self.advance_stage(self.stages.len() - 1, forward, false)
    }

    pub unsafe fn advance_stage(&mut self, stage: usize, forward: bool, eager: bool) -> bool {
        loop {
            let found = &mut self.stages[stage];
            let at = found.at + if forward { 1 } else { -1 };
            let passed = match &found.current {
                Current::None => None,
                Current::Leaf(columns, picked) => {
                    let at = usize::try_from(at).ok();
                    let next = at.and_then(|at| picked.get(at, found.clauses.len()));
                    let columns = columns.clone();
                    next.map(|next| self.looks_good(stage, &columns, next, eager))
                }
                Current::Page => {
                    let row = usize::try_from(at).ok();
                    row.filter(|&row| row < self.source.block.len()).map(|row| {
                        self.rows.set_page(&self.source.block, row);
                        self.passes(stage, 0, 0)
                    })
                }
                Current::Call => {
                    let (outer, matching) = (found.outer, found.matching);
                    if self.rows.next_element(stage) {
                        found.counts.all += 1;
                        Some(self.passes(stage, 0, 0))
                    } else if outer && found.matched.is_none() {
                        found.counts.unmatched += 1;
                        found.matched = Some(0);
                        self.rows.no_element(stage);
                        Some(self.passes(stage, matching, 0))
                    } else {
                        None
                    }
                }
            };
            match passed {
                Some(passed) => {
                    self.stages[stage].at = at;
                    if passed {
                        return true;
                    }
                }
                None if self.begin(stage, forward, eager) => {}
                None => return false,
            }
        }
    }

    /// The next rows of a stage that pass. All of a batch if `eager`: then rows are looked at before they are asked
    /// for.
    unsafe fn run(&mut self, stage: usize, eager: bool) -> Option<Run> {
        if !self.advance_stage(stage, true, eager) {
            return None;
        }
        let last = stage + 1 == self.stages.len();
        let found = &mut self.stages[stage];
        let conditions = found.clauses.len();
        let Current::Leaf(columns, picked) = &mut found.current else {
            return Some(Run::One);
        };
        let columns = columns.clone();
        let others = match &self.arrays {
            Some(arrays) if !last => Some(columns.others(arrays)),
            _ => None,
        };
        let is_other = |row: u32| {
            let others = others.as_ref();
            others.is_some_and(|others| others.has(columns.place(row)))
        };
        let at = found.at as usize;
        if let (Picked::Decided(rows), 0) = (&mut *picked, at)
            && !rows.iter().any(|&row| is_other(row))
        {
            let rows = std::mem::take(rows);
            return Some(Run::Leaf(columns, rows));
        }
        let (row, _) = picked.get(at, conditions).expect("the row it is at");
        if is_other(row) {
            self.rows.set_leaf(&columns, row);
            return Some(Run::One);
        }
        let mut rows = vec![row];
        loop {
            let found = &mut self.stages[stage];
            let Current::Leaf(_, picked) = &found.current else {
                break;
            };
            let Some(next) = picked.get(found.at as usize + 1, conditions) else {
                break;
            };
            let decided = next.1 == conditions;
            if is_other(next.0) || !decided && !eager {
                break;
            }
            found.at += 1;
            if decided && !found.outer || self.looks_good(stage, &columns, next, eager) {
                rows.push(next.0);
            }
        }
        Some(Run::Leaf(columns, rows))
    }

    /// The next rows that pass, of a leaf or one by one; all rows are asked for.
    pub unsafe fn next_run(&mut self) -> Option<Run> {
        self.run(self.stages.len() - 1, true)
    }

    /// Lets go of the rows it is at.
    pub(super) unsafe fn forget(&mut self) {
        for stage in &mut self.stages {
            stage.current = Current::None;
        }
        self.rows.clear();
    }

    /// From its start again.
    pub unsafe fn restart(&mut self) {
        self.forget();
        self.joins.restart();
        if !self.parallel {
            self.source.rewind(logical_blocks(self.rows.rel));
        }
    }

    pub fn met(&mut self) -> Met {
        self.source.leave();
        self.source.met
    }
}
