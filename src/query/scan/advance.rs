//! From row to row of the last stage, or from run to run.

use super::private::Begins;
use super::stage::{Current, Passed, Picked, UNLESS_MATCHED};
use super::state::Scan;
use crate::query::batch::columns::BatchColumns;
use std::rc::Rc;

impl Scan {
    /// Whether the row it is about passes a stage's conditions from `first` on.
    pub(super) fn passes(&mut self, stage: usize, first: usize, parent: u32) -> bool {
        if self.begins == Begins::Early && stage == 0 {
            self.rows.fill_all();
        }
        let found = &mut self.stages[stage];
        for i in first..found.clauses.len() {
            if i == found.matching {
                found.matched = Some(parent);
            }
            let clause = &found.clauses[i];
            if !self.rows.holds(clause.state, &clause.reads) {
                // Those of the first stage are counted as they are passed.
                self.removed += usize::from(stage > 0);
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
    fn looks_good(
        &mut self,
        stage: usize,
        columns: &Rc<BatchColumns>,
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
        if !only_number || first < self.stages[stage].clauses.len() || self.begins == Begins::Early {
            self.rows.set_leaf(columns, row);
        }
        self.passes(stage, first, parent)
    }

    /// Moves to the next row of the last stage that passes, in the given direction; false at the end.
    pub(super) fn advance(&mut self, forward: bool) -> bool {
        let last = self.stages.len() - 1;
        let found = self.advance_stage(last, forward, false);
        if found && last == 0 {
            let met = self.progress.pass(self.stages[0].row(), forward);
            self.pass(met, 1);
        }
        found
    }

    fn advance_stage(&mut self, stage: usize, forward: bool, eager: bool) -> bool {
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
                        // Whoever drives the scan may have looked at rows of another.
                        self.rows.go_to(self.source.file());
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
    pub(super) fn run(&mut self, stage: usize, eager: bool) -> Option<Passed> {
        let batch = self.next_run(stage, eager)?;
        if stage == 0 {
            let (row, handed) = match &batch {
                Passed::InColumns(_, rows) => (*rows.last().expect("a run has rows"), rows.len()),
                Passed::Alone => (self.stages[0].row(), 1),
            };
            let met = self.progress.pass(row, true);
            self.pass(met, handed);
        }
        Some(batch)
    }

    fn next_run(&mut self, stage: usize, eager: bool) -> Option<Passed> {
        if !self.advance_stage(stage, true, eager) {
            return None;
        }
        let last = stage + 1 == self.stages.len();
        let found = &mut self.stages[stage];
        let conditions = found.clauses.len();
        let Current::Leaf(columns, picked) = &mut found.current else {
            return Some(Passed::Alone);
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
            return Some(Passed::InColumns(columns, rows));
        }
        let (row, _) = picked.get(at, conditions).expect("the row it is at");
        if is_other(row) {
            self.rows.set_leaf(&columns, row);
            return Some(Passed::Alone);
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
        Some(Passed::InColumns(columns, rows.into()))
    }
}
