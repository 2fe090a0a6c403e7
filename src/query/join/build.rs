//! Reading another side of a join, whole: by batches where it is a scan of ours, else by rows.

use super::spine::Level;
use crate::columnar::OpenLeaf;
use crate::pg::node::Node;
use crate::pg::state::{CustomScanState, EState, ExprContext, PlanState, Prepared};
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::computed::Computed;
use crate::query::batch::contract::of;
use crate::query::batch::external::over;
use crate::query::batch::joined::{Side, SideColumn};
use crate::query::batch::rows::Rows;
use crate::query::batch::values::{Kind, ValuesBuilder};
use crate::query::batch::{Batch, Batches};
use crate::query::expr::datum::push;
use crate::query::expr::entry::expressions;
use crate::query::expr::raises::raises;
use crate::query::join_index::seen::numbers_of;
use crate::query::scan::node::METHODS;
use amax_exec::{Evaluated, KeySet, Lookup, VectorBuilder};
use amax_format::RowNumbers;
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

/// How a side's rows are read.
pub struct Building {
    rows: &'static PlanState,
    keys: Vec<(Prepared, pg_sys::Oid)>,
    econtext: &'static ExprContext,
    batches: Option<InBatches>,
}

/// The same where they come in batches.
struct InBatches {
    input: &'static RefCell<dyn Batches>,
    keys: Vec<Computed>,
    /// None: there are no vectors of its type.
    columns: Vec<Option<Computed>>,
}

/// The keys of the scan's rows that look rows up in a side, one set for each of its keys.
pub type Wanted = Vec<KeySet>;

/// A side that has been read.
pub enum Built {
    /// With its rows' numbers in their table, if they are wanted.
    Side(Box<Side>, Option<Vec<u64>>),
    /// It has no rows, and so has the join.
    Empty,
    /// It takes more memory than it may.
    TooLarge,
}

/// Rows are counted in such steps.
const STEP: usize = 1024;

/// What has been read of a side.
struct Read {
    keys: Vec<VectorBuilder>,
    columns: Vec<Option<ValuesBuilder>>,
    rows: usize,
    /// Their numbers in their table.
    numbers: Option<Vec<u64>>,
}

impl Read {
    fn bytes(&self) -> usize {
        let of_keys: usize = self.keys.iter().map(VectorBuilder::bytes_used).sum();
        let of_columns: usize = self.columns.iter().flatten().map(ValuesBuilder::bytes_used).sum();
        let of_numbers = self
            .numbers
            .as_ref()
            .map_or(0, |numbers| numbers.len() * size_of::<u64>());
        of_keys + of_columns + of_numbers
    }

    fn finish(self) -> Built {
        let keys = self.keys.into_iter().map(VectorBuilder::finish).collect();
        let column = |column: Option<ValuesBuilder>| {
            let values = column?.finish();
            let dense = values.dense().unwrap_or_else(|e| crate::columnar::raise(e));
            Some(SideColumn { values, dense })
        };
        let columns = self.columns.into_iter().map(column).collect();
        let side = Side::new(columns, keys, self.rows);
        Built::Side(Box::new(side), self.numbers)
    }
}

impl Building {
    pub fn new(level: &Level, estate: &EState) -> Building {
        // Without a parent: it would say what kind of slot a row comes in.
        let prepared = |key: &&'static Node| (Prepared::new(key, None), key.type_oid());
        Building {
            rows: level.rows,
            keys: level.inner_keys.iter().map(prepared).collect(),
            econtext: estate.new_context(),
            batches: InBatches::of(level),
        }
    }

    /// Whether its rows, of which columns are wanted, come in batches of a scan's, and nothing that is computed of them may raise an error, or be another
    /// thing when it is computed again.
    pub fn is_quiet(&self, level: &Level, wanted: &[bool]) -> bool {
        let scan = self.rows.as_a::<CustomScanState>().filter(|node| METHODS.are_of(node));
        let Some(plan) = scan.filter(|_| self.has_batches(wanted)).map(CustomScanState::scan) else {
            return false;
        };
        let computed = [plan.custom_scan_tlist(), plan.targetlist()];
        let computed = computed.into_iter().flat_map(expressions);
        let conditions = plan.custom_exprs().iter().chain(plan.qual().iter());
        let keys = level.inner_keys.iter().copied();
        computed
            .chain(conditions)
            .chain(keys)
            .all(|node| !raises(node) && !node.is_volatile())
    }

    /// What rows of a leaf find in the side that the scan has not handed up, by vectors alone: with each of which that is known, the row that has its keys, if there is one.
    pub fn find_others(
        &self,
        leaf: (&Rc<OpenLeaf>, Option<Origin>),
        rows: &[u32],
        lookup: &Lookup,
    ) -> Vec<(u32, Option<u32>)> {
        let batches = self.batches.as_ref().filter(|_| !rows.is_empty());
        batches.map_or(Vec::new(), |batches| batches.find_others(leaf, rows, lookup))
    }

    /// Whether its rows, of which columns are wanted, come in batches.
    pub fn has_batches(&self, wanted: &[bool]) -> bool {
        self.batches.as_ref().is_some_and(|batches| batches.have(wanted))
    }

    /// Reads the side's rows, of which columns are wanted; `keys`: those alone that have them, from its start again. `numbered`: with their numbers in their
    /// table, where they come in batches.
    pub fn read(&self, level: &Level, wanted: &[bool], limit: usize, keys: Option<&Wanted>, numbered: bool) -> Built {
        let builder = |(node, &wanted): (&&Node, &bool)| wanted.then(|| ValuesBuilder::new(Kind::of(node)));
        let mut read = Read {
            keys: level.types.iter().map(|&ty| VectorBuilder::new(ty)).collect(),
            columns: level.columns.iter().zip(wanted).map(builder).collect(),
            rows: 0,
            numbers: numbered.then(Vec::new),
        };
        let fits = match self.batches.as_ref().filter(|batches| batches.have(wanted)) {
            Some(batches) => {
                // As ExecProcNode() has it.
                if self.rows.is_changed() {
                    self.rows.rescan();
                }
                if keys.is_some() {
                    batches.input.borrow_mut().restart();
                }
                batches.read(&mut read, limit, keys)
            }
            None => {
                assert!(keys.is_none(), "only batches are read by keys");
                self.read_rows(&mut read, limit)
            }
        };
        match read.rows {
            _ if !fits => Built::TooLarge,
            // Where rows are left out, others of the join may still raise errors.
            0 if keys.is_none() && !level.kind.keeps_unmatched() => Built::Empty,
            _ => read.finish(),
        }
    }

    /// Whether they fit.
    fn read_rows(&self, read: &mut Read, limit: usize) -> bool {
        while let Some(slot) = self.rows.next() {
            crate::memory::check_for_interrupts();
            self.econtext.reset();
            self.econtext.set_outer_row(slot);
            for ((key, ty), out) in self.keys.iter().zip(&mut read.keys) {
                let (value, null) = key.eval(self.econtext);
                // SAFETY: a value of that type; what is detoasted goes with the row.
                self.econtext.within(|| unsafe { push(out, *ty, value, null) });
            }
            for (at, column) in read.columns.iter_mut().enumerate() {
                if let Some(out) = column {
                    out.push(slot.value(at), self.econtext);
                }
            }
            read.rows += 1;
            if read.rows.is_multiple_of(STEP) && read.bytes() > limit {
                return false;
            }
        }
        true
    }

    /// From the start again, for the hash joins to read.
    pub fn leave(&self) {
        if let Some(batches) = &self.batches {
            let mut input = batches.input.borrow_mut();
            let all = input.columns().len();
            input.read((0..all).collect());
        }
        self.rows.rescan();
    }
}

impl InBatches {
    fn of(level: &Level) -> Option<InBatches> {
        let input = of(level.rows)?;
        let mut batches = input.borrow_mut();
        let parent = batches.state();
        let mut vectors = |nodes: &[&Node]| -> Vec<Option<Computed>> {
            let compiled = batches.compile(nodes);
            let computed = |(node, vector): (&&Node, Option<_>)| Some(Computed::new(node, vector?, Some(parent)));
            nodes.iter().zip(compiled).map(computed).collect()
        };
        let (keys, columns) = level.over_input();
        let keys = vectors(&keys).into_iter().collect::<Option<Vec<Computed>>>()?;
        let columns = vectors(&columns);
        drop(batches);
        Some(InBatches { input, keys, columns })
    }

    fn find_others(
        &self,
        (leaf, origin): (&Rc<OpenLeaf>, Option<Origin>),
        rows: &[u32],
        lookup: &Lookup,
    ) -> Vec<(u32, Option<u32>)> {
        let mut input = self.input.borrow_mut();
        let of_input = input.rows();
        let columns = Rc::new(BatchColumns::new(leaf.clone(), origin, &of_input.entries));
        let mut is_known = vec![true; rows.len()];
        let mut keys = Vec::new();
        for key in &self.keys {
            let Evaluated { vector, unsure } = over(of_input, &columns, |batch| batch.eval(key.vector(), rows));
            unsure.iter().for_each(|&place| is_known[place as usize] = false);
            keys.push(vector);
        }
        let mut row_of = vec![None; rows.len()];
        let matches = lookup.find_one(&keys, rows.len());
        for (&asked, &found) in matches.asked.iter().zip(&matches.found) {
            row_of[asked as usize] = Some(found);
        }
        let known = rows.iter().copied().zip(row_of).zip(is_known);
        known
            .filter_map(|(entry, is_known)| is_known.then_some(entry))
            .collect()
    }

    /// Whether all that is wanted has vectors.
    fn have(&self, wanted: &[bool]) -> bool {
        wanted
            .iter()
            .zip(&self.columns)
            .all(|(&wanted, column)| !wanted || column.is_some())
    }

    /// Of rows those that have keys among these.
    fn among(&self, wanted: &Wanted, input: &mut Rows, columns: &Rc<BatchColumns>, mut rows: RowNumbers) -> RowNumbers {
        for (key, set) in self.keys.iter().zip(wanted) {
            if rows.is_empty() {
                break;
            }
            let words = columns.words(key.vector());
            let of_words = words.and_then(|words| set.select_words(words, &rows));
            let found = of_words.unwrap_or_else(|| {
                let vector = key.values(input, columns, &rows);
                let unsure = Vec::new();
                set.select(&Evaluated { vector, unsure }, &rows)
            });
            rows = found.into();
        }
        rows
    }

    /// Whether they fit.
    fn read(&self, read: &mut Read, limit: usize, keys: Option<&Wanted>) -> bool {
        let mut input = self.input.borrow_mut();
        let columns = || self.columns.iter().zip(&read.columns);
        let wanted = columns().filter_map(|(column, out)| column.as_ref().filter(|_| out.is_some()));
        let reads = wanted
            .chain(&self.keys)
            .flat_map(|computed| computed.reads.iter().copied());
        input.read(reads.collect());
        loop {
            crate::memory::check_for_interrupts();
            input.start();
            let batch = input.next_batch();
            input.stop(batch.as_ref().map_or(0, |batch| batch.rows.len()));
            let Some(Batch { columns, mut rows }) = batch else {
                input.rows().clear();
                return true;
            };
            if let Some(wanted) = keys {
                rows = self.among(wanted, input.rows(), &columns, rows);
            }
            for (key, out) in self.keys.iter().zip(&mut read.keys) {
                out.push_all(&key.values(input.rows(), &columns, &rows));
            }
            for (column, out) in self.columns.iter().zip(&mut read.columns) {
                if let (Some(column), Some(out)) = (column, out) {
                    out.push_all(&column.values(input.rows(), &columns, &rows));
                }
            }
            if let Some(numbers) = &mut read.numbers {
                numbers_of(&columns, &rows, |number| numbers.push(number));
            }
            read.rows += rows.len();
            if read.bytes() > limit {
                return false;
            }
        }
    }
}
