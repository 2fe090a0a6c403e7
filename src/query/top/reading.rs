//! Reading the rows of the node below, and keeping the best of them by their positions.

use crate::columnar::OpenLeaf;
use crate::guc;
use crate::pg::relation::FileId;
use crate::query::batch::columns::{BatchColumns, Home};
use crate::query::batch::computed::Computed;
use crate::query::batch::contract::Positions;
use crate::query::batch::raise::raise;
use crate::query::batch::rows::Rows;
use crate::query::batch::{Batch, Batches};
use crate::query::expr::collation::Collations;
use crate::query::plan::costs::hash_memory;
use amax_exec::{Expr, SortKey, Top, TopOfEach, TopsOfEach, Vector};
use amax_lsm::Origin;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::rc::Rc;

/// So many rows by themselves are read again together.
const TOGETHER: usize = 1024;

/// Rows of which one is left are few.
const FEW: usize = 8;

/// Where a row is.
#[derive(Clone, Copy)]
pub enum Place {
    /// Which of the leaves, and which row of it.
    Leaf(u32, u32),
    Tid(FileId, pg_sys::ItemPointerData),
}

/// A leaf that has rows among the best.
type Leaf = (Rc<OpenLeaf>, Option<Origin>);

/// What keeps the best rows.
pub trait Keep {
    /// Adds rows, given a vector for each key, those of groups first.
    fn add(&mut self, keys: &[Vector<'_>], rows: usize, order: &Order, at: &dyn Fn(usize) -> Place);
    /// Rows that the first key's values do not exclude; None if that is not known.
    fn open(&self, first: &Vector<'_>, order: &Order) -> Option<Vec<u32>> {
        let _ = (first, order);
        None
    }
    /// How many are kept.
    fn len(&self) -> usize;
    fn places(&self) -> Vec<Place>;
}

impl Keep for Top<Place> {
    fn add(&mut self, keys: &[Vector<'_>], rows: usize, order: &Order, at: &dyn Fn(usize) -> Place) {
        Top::add(self, keys, rows, &order.collations, at);
    }

    fn open(&self, first: &Vector<'_>, order: &Order) -> Option<Vec<u32>> {
        Top::open(self, first, &order.collations)
    }

    fn len(&self) -> usize {
        Top::len(self)
    }

    fn places(&self) -> Vec<Place> {
        Top::places(self).collect()
    }
}

impl Keep for TopOfEach<Place> {
    fn add(&mut self, keys: &[Vector<'_>], rows: usize, order: &Order, at: &dyn Fn(usize) -> Place) {
        TopOfEach::add(self, keys, rows, &order.collations, at).unwrap_or_else(|e| raise(e));
    }

    fn len(&self) -> usize {
        TopOfEach::len(self)
    }

    fn places(&self) -> Vec<Place> {
        TopOfEach::places(self).collect()
    }
}

impl Keep for TopsOfEach<Place> {
    fn add(&mut self, keys: &[Vector<'_>], rows: usize, order: &Order, at: &dyn Fn(usize) -> Place) {
        TopsOfEach::add(self, keys, rows, &order.collations, at).unwrap_or_else(|e| raise(e));
    }

    fn len(&self) -> usize {
        TopsOfEach::len(self)
    }

    fn places(&self) -> Vec<Place> {
        TopsOfEach::places(self).collect()
    }
}

/// What keeps the best rows of each group.
pub trait KeepOfEach: Keep {
    fn bytes_used(&self) -> usize;
    /// Where the best rows are.
    fn finish(self, collations: &Collations) -> Vec<Place>;
}

impl KeepOfEach for TopOfEach<Place> {
    fn bytes_used(&self) -> usize {
        TopOfEach::bytes_used(self)
    }

    fn finish(self, _collations: &Collations) -> Vec<Place> {
        TopOfEach::places(&self).collect()
    }
}

impl KeepOfEach for TopsOfEach<Place> {
    fn bytes_used(&self) -> usize {
        TopsOfEach::bytes_used(self)
    }

    fn finish(self, collations: &Collations) -> Vec<Place> {
        TopsOfEach::finish(self, collations)
    }
}

/// By what rows are compared.
pub struct Order {
    /// By what rows are of one group, if only the best of each group are asked for.
    pub groups: Vec<Computed>,
    pub keys: Vec<Computed>,
    /// Computed of all rows as heap's sort has it, for their errors.
    pub checks: Vec<Computed>,
    pub sort: Vec<SortKey>,
    /// Of the keys.
    pub collations: Collations,
    pub ties: bool,
}

/// What has been read.
pub struct Read {
    pub rows: usize,
    /// Those that have rows among the best, by their number in places.
    leaves: Vec<Option<Leaf>>,
    /// Whether what is kept was not too much: then there are no further rows.
    pub fits: bool,
}

impl Order {
    /// All that rows are compared by.
    fn compared(&self) -> impl Iterator<Item = &Computed> {
        self.groups.iter().chain(&self.keys)
    }

    /// Reads rows until there are no more, or what is kept of them is too much.
    pub fn read<K: Keep>(&self, input: &mut dyn Batches, best: &RefCell<K>, fits: impl Fn(&K) -> bool) -> Read {
        let mut leaves: Vec<Option<Leaf>> = Vec::new();
        let (mut read, mut fit, mut unchecked) = (0, true, 0);
        while fit && let Some(Batch { columns, rows }) = input.next_batch() {
            read += rows.len();
            let leaf = leaves.len() as u32;
            let place = |row: u32| match &columns.home {
                Home::Leaf(..) => Place::Leaf(leaf, row),
                Home::Alone(alone) => Place::Tid(alone.file, alone.tids[row as usize]),
            };
            self.add(&mut *best.borrow_mut(), input.rows(), &columns, &rows, &place);
            if let Home::Leaf(leaf, origin) = &columns.home {
                leaves.push(Some((leaf.clone(), *origin)));
                unchecked += rows.len();
                // Looking at what is kept takes no longer than looking at what was read.
                if unchecked >= best.borrow().len() {
                    unchecked = 0;
                    fit = keep_needed(&mut leaves, &best.borrow().places());
                }
            }
            fit &= fits(&best.borrow());
        }
        Read {
            rows: read,
            leaves,
            fits: fit,
        }
    }

    /// Adds rows of a batch.
    fn add(
        &self,
        best: &mut impl Keep,
        input: &mut Rows,
        columns: &Rc<BatchColumns>,
        rows: &[u32],
        place: &dyn Fn(u32) -> Place,
    ) {
        let mut keys = self.compared();
        let first = keys.next().expect("rows are compared by something");
        let first: Vector = first.values(input, columns, rows);
        // What raises nothing is computed of rows alone that the first key does not exclude.
        let open = best.open(&first, self).filter(|open| open.len() <= rows.len() / FEW);
        let few: Option<Vec<u32>> = open
            .as_ref()
            .map(|open| open.iter().map(|&i| rows[i as usize]).collect());
        let mut vectors = vec![match &open {
            Some(open) => first.gather(open),
            None => first,
        }];
        for key in keys {
            vectors.push(match (&open, &few) {
                (Some(_), Some(few)) if is_variable(key) => key.values(input, columns, few),
                (Some(open), _) => key.values(input, columns, rows).gather(open),
                _ => key.values(input, columns, rows),
            });
        }
        for check in &self.checks {
            check.values(input, columns, rows);
        }
        let rows = few.as_deref().unwrap_or(rows);
        best.add(&vectors, rows.len(), self, &|i| place(rows[i]));
    }
}

/// Whether computing it raises nothing, whatever the row.
fn is_variable(key: &Computed) -> bool {
    matches!(key.vector(), Expr::Column(..) | Expr::Text(_))
}

/// Lets go of leaves none of whose rows is among the best; whether what is left may stay in memory.
fn keep_needed(leaves: &mut [Option<Leaf>], places: &[Place]) -> bool {
    let mut needed = vec![false; leaves.len()];
    for place in places {
        if let Place::Leaf(leaf, _) = *place {
            needed[leaf as usize] = true;
        }
    }
    let mut bytes = 0;
    for (leaf, needed) in leaves.iter_mut().zip(needed) {
        match leaf {
            Some((leaf, _)) if needed => bytes += leaf.bytes(),
            _ => *leaf = None,
        }
    }
    bytes <= guc::decode_cache_bytes().max(hash_memory())
}

impl Read {
    /// Where rows are: those by themselves, then in the order of the leaves, and of rows in each.
    pub fn positions(self, places: Vec<Place>) -> Vec<Positions> {
        let mut rows: Vec<Vec<u32>> = self.leaves.iter().map(|_| Vec::new()).collect();
        let mut tids = Vec::new();
        for place in places {
            match place {
                Place::Leaf(leaf, row) => rows[leaf as usize].push(row),
                Place::Tid(file, tid) => tids.push((file, tid)),
            }
        }
        let mut found = Vec::new();
        tids.sort_by_key(|row: &(FileId, _)| row.0);
        for of_table in tids.chunk_by(|a, b| a.0 == b.0) {
            let tids = |rows: &[(FileId, pg_sys::ItemPointerData)]| rows.iter().map(|row| row.1).collect();
            found.extend(
                of_table
                    .chunks(TOGETHER)
                    .map(|rows| Positions::Tids(rows[0].0, tids(rows))),
            );
        }
        for (leaf, mut rows) in self.leaves.into_iter().zip(rows) {
            if let Some((leaf, origin)) = leaf.filter(|_| !rows.is_empty()) {
                rows.sort_unstable();
                found.push(Positions::Leaf(leaf, origin, rows.into()));
            }
        }
        found
    }
}
