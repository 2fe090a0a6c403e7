//! What a stage looks at next: rows of a leaf that vectorized conditions and joins above let pass, or elements of their
//! arrays.

use super::private::ReadToEnd;
use super::progress::Progress;
use super::run;
use super::source::Unit;
use super::stage::{Clause, Current, Passed, Picked, Stage, UNLESS_MATCHED};
use super::state::Scan;
use crate::columnar::{OpenLeaf, stub};
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::external::{Constants, LeafZones, Postgres};
use amax_exec::{is_harmless, passes_none};
use amax_format::RowNumbers;
use amax_lsm::Origin;
use std::rc::Rc;

impl Scan {
    /// Whether all rows will be asked for.
    fn to_end(&self) -> bool {
        match self.all {
            ReadToEnd::Perhaps => false,
            ReadToEnd::WithQuery => run::is_whole(),
            ReadToEnd::Always => true,
        }
    }

    /// Rows of the next unit that pass the vectorized conditions, each with the condition to go on with; or a page.
    fn unit(&mut self, forward: bool) -> Current {
        let left = self.progress.finish(forward);
        self.pass(left, 0);
        self.progress = Progress::default();
        self.note_met();
        let to_end = self.to_end();
        loop {
            match self.unit_of_table(forward, to_end) {
                None if forward && self.source.turn() => {}
                unit => return self.begin_unit(unit, forward),
            }
        }
    }

    /// The next unit of the table that it is at.
    fn unit_of_table(&mut self, forward: bool, to_end: bool) -> Option<Unit> {
        let (rows, clauses) = (&mut self.rows, &self.stages[0].clauses);
        let entries = rows.entries.clone();
        if let Some(interest) = self.interest.as_ref().filter(|_| std::mem::take(&mut self.orders)) {
            self.source
                .order(&mut |leaf| interest.rank(&LeafZones::new(leaf, &entries)));
        }
        let (skipping, interest) = (&clauses[..self.skipping], &self.interest);
        let mut unwanted = 0;
        let unit = self.source.next(forward, to_end, &mut |leaf| {
            let zones = LeafZones::new(leaf, &entries);
            let vectors = skipping.iter().map_while(|clause| clause.vector.as_ref());
            if passes_none(vectors, &zones, &mut Constants(rows)) {
                return true;
            }
            let Some(interest) = interest else { return false };
            let external = Constants(rows);
            let harmless = |clause: &Clause| {
                let vector = clause.vector.as_ref();
                vector.is_some_and(|vector| is_harmless(vector, &zones, &external))
            };
            let leaves_out = clauses.iter().all(harmless) && !interest.includes(&zones, &external);
            unwanted += u64::from(leaves_out);
            leaves_out
        });
        self.source.counters.unwanted += unwanted;
        unit
    }

    /// What is looked at of a unit.
    fn begin_unit(&mut self, unit: Option<Unit>, forward: bool) -> Current {
        match unit {
            None => Current::None,
            Some(Unit::Page) => {
                let len = self.source.block.len();
                self.progress = Progress::of_page(len, forward);
                self.stages[0].counts.all += len as u64;
                Current::Page
            }
            Some(Unit::Leaf(leaf, origin, rows)) => {
                #[cfg(feature = "test_hooks")]
                let rows = super::mutants::drop_rows(rows);
                self.progress = Progress::of_leaf(rows.clone(), forward);
                let columns = self.columns_of(leaf.clone(), origin);
                let picked = self.filter(0, &columns, rows);
                let picked = self.leave_out_unmatched(&columns, picked, 0);
                if let (true, Picked::Decided(rows)) = (self.changes, &picked) {
                    stub::ahead::expect(self.rows.rel, leaf, origin, rows);
                }
                Current::Leaf(columns, picked)
            }
        }
    }

    /// A leaf's columns: those that it had when the scan was last at it, if it was at no other since.
    fn columns_of(&mut self, leaf: Rc<OpenLeaf>, origin: Option<Origin>) -> Rc<BatchColumns> {
        match &self.columns {
            Some(known) if known.are_of(&leaf, origin) => known.clone(),
            _ => {
                let columns = Rc::new(BatchColumns::new(leaf, origin, &self.rows.entries));
                self.columns.insert(columns).clone()
            }
        }
    }

    /// Leaves out those rows, from the `from`-th on, that have no match in a join above. Conditions that are still open
    /// come first: they may raise an error.
    fn leave_out_unmatched(&mut self, columns: &Rc<BatchColumns>, mut picked: Picked, from: usize) -> Picked {
        if !self.joins.may_select() {
            return picked;
        }
        let conditions = self.stages[0].clauses.len();
        let passed = |row: &(u32, usize)| row.1 == conditions;
        let rows: RowNumbers = match &picked {
            Picked::Decided(rows) => rows.slice(from, rows.len() - from),
            Picked::Open(rows) => {
                let rows = rows[from..].iter().filter(|&row| passed(row));
                rows.map(|row| row.0).collect()
            }
        };
        let all = rows.len();
        let kept = self.joins.select(&mut self.rows, columns, rows);
        self.source.counters.unmatched += (all - kept.len()) as u64;
        self.progress.unmatched += all - kept.len();
        match &mut picked {
            Picked::Decided(rows) if from == 0 => *rows = kept,
            Picked::Decided(rows) => *rows = rows[..from].iter().chain(&*kept).copied().collect(),
            Picked::Open(rows) => {
                let mut kept = kept.iter().copied().peekable();
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
    pub(super) fn note_joins(&mut self) {
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

    /// Rows that may pass a stage's conditions.
    fn filter(&mut self, at: usize, columns: &Rc<BatchColumns>, mut rows: RowNumbers) -> Picked {
        let to_end = self.to_end();
        let stage = &mut self.stages[at];
        let all = rows.len();
        stage.counts.all += all as u64;
        let mut picked: Vec<(u32, usize)> = Vec::new();
        let mut external = Postgres {
            rows: &mut self.rows,
            columns: columns.clone(),
        };
        let mut batch = amax_exec::Batch {
            columns: &**columns,
            external: &mut external,
        };
        let vectorized = stage.vectorized(to_end);
        let vectors = stage.clauses[..vectorized]
            .iter()
            .map_while(|clause| clause.vector.as_ref());
        let mut together = 0;
        if let Some((left, passed)) = batch.filter_by_words(vectors, &rows) {
            rows = left.into();
            together = passed.len();
            let counts = stage.counts.passed.iter_mut().zip(passed);
            counts.for_each(|(count, passed)| *count += passed as u64);
        }
        for (i, clause) in stage.clauses[..vectorized].iter().enumerate().skip(together) {
            let Some(vector) = &clause.vector else { break };
            if rows.is_empty() {
                break;
            }
            let mut unsure = Vec::new();
            rows = batch.filter(vector, &rows, &mut unsure).into();
            stage.counts.passed[i] += rows.len() as u64;
            picked.extend(unsure.into_iter().map(|row| (row, i)));
        }
        if at > 0 {
            self.removed += all - rows.len() - picked.len();
        }
        if picked.is_empty() && vectorized == stage.clauses.len() {
            return Picked::Decided(rows);
        }
        let open = !picked.is_empty();
        picked.extend(rows.iter().map(|&row| (row, vectorized)));
        if open {
            picked.sort_unstable();
        }
        Picked::Open(picked)
    }

    /// The elements of the arrays of some rows of the stage before.
    fn elements(&mut self, stage: usize, columns: &Rc<BatchColumns>, rows: &[u32]) -> Current {
        let arrays = self.arrays.clone().expect("a stage unnests something");
        let Stage { outer, matching, .. } = self.stages[stage];
        let batch = Rc::new(columns.unnest(&arrays, rows, outer));
        let (elements, without): (Vec<u32>, Vec<u32>) =
            (0..batch.len() as u32).partition(|&row| batch.place(row).is_some());
        let mut picked = self.filter(stage, &batch, elements.into());
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
    pub(super) fn begin(&mut self, stage: usize, forward: bool, eager: bool) -> bool {
        self.stages[stage].current = Current::None;
        let current = if stage == 0 {
            self.rows.clear();
            self.unit(forward)
        } else {
            match self.run(stage - 1, eager) {
                None => Current::None,
                Some(Passed::InColumns(columns, rows)) => self.elements(stage, &columns, &rows),
                Some(Passed::Alone) => {
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
}
