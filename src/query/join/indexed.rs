//! Join indexes: rows of the scan's find those of a side by where they are in their table. Nothing is computed of their keys, but of those of
//! which the index knows nothing, or something that is over.

use super::build::Building;
use super::probe::Probe;
use super::spine::Level;
use crate::columnar::OpenLeaf;
use crate::pg::Relation;
use crate::pg::node::Node;
use crate::pg::relation::Opened;
use crate::pg::state::{CustomScanState, EState};
use crate::query::batch::columns::{BatchColumns, Home};
use crate::query::batch::contract::of;
use crate::query::batch::joined::Side;
use crate::query::batch::raise::raise;
use crate::query::join_index::definition::{Definition, of_table, over_row};
use crate::query::join_index::seen::{bound, each_number, is_within, rows_there};
use crate::query::join_index::stored::Stored;
use crate::query::plan::costs::hash_memory;
use crate::query::scan::node::METHODS;
use amax_exec::positions::Positions;
use amax_exec::{Matches, Type};
use amax_format::Dense;
use amax_lsm::Sidecar;
use pgrx::pg_sys;
use std::rc::Rc;

/// What an index says of the rows of a leaf.
struct Values {
    values: Dense,
    /// Whether it is known of all rows what they find.
    are_known: bool,
}

/// What values find.
struct Found {
    positions: Positions,
    /// Whether the side has no row that has come since the index was made.
    covers: bool,
    /// Whether all rows that were there then still are, and it is known what they find.
    whole: bool,
}

/// A leaf, and what an index says of its rows.
type OfLeaf = (Rc<OpenLeaf>, Option<Rc<Values>>);

/// A join index for a side.
pub(super) struct Index {
    id: pg_sys::Oid,
    pub(super) name: String,
    /// The side's table.
    dimension: &'static Relation,
    /// Whether its key is one integer: those of a span are found as quickly without.
    is_integer: bool,
    /// What it holds, and what that finds; None if it is of no use for this query.
    known: Option<(Stored, Option<Found>)>,
    /// Of the leaf that was asked for last.
    last: Option<OfLeaf>,
    /// Rows that have been asked for; those of which it knew what they find.
    pub(super) asked: u64,
    pub(super) told: u64,
}

/// That of a table by which rows find those of a side, by keys that are columns of a scan's.
pub(super) fn find(table: &Relation, columns: &[&'static Node], level: &Level) -> Option<Index> {
    let indexes = of_table(table);
    let scan = level
        .rows
        .as_a::<CustomScanState>()
        .filter(|node| METHODS.are_of(node))?;
    let dimension = scan.relation().filter(|_| !indexes.is_empty())?;
    let batches = of(level.rows)?;
    let inner = batches.borrow().columns();
    if !batches.borrow().has_leaves() {
        return None;
    }
    let own: Vec<&Node> = level.outer_keys.iter().map(|key| over_row(key, columns)).collect();
    let (keys, _) = level.over_input();
    let others: Vec<&Node> = keys.into_iter().map(|key| over_row(key, &inner)).collect();
    indexes.into_iter().find_map(|id| {
        let index = Opened::with_lock(id, pg_sys::AccessShareLock);
        let definition = Definition::of(&index).filter(|definition| definition.dimension == dimension.id())?;
        let keys = definition.keys(dimension).ok()?;
        keys.are(&own, &others, &level.types).then(|| Index {
            id,
            name: index.name(),
            dimension,
            is_integer: level.types == [Type::Int],
            known: None,
            last: None,
            asked: 0,
            told: 0,
        })
    })
}

impl Index {
    /// Before the side is read: what it says is of rows that were columnar by then. Whether that is of use.
    pub(super) fn open(&mut self, table: &Relation) -> bool {
        let open = || {
            let index = Opened::with_lock(self.id, pg_sys::NoLock);
            let keys = Definition::of(&index)?.keys(self.dimension).ok()?;
            let about = keys.about(table, self.dimension)?;
            Stored::open(index).filter(|stored| stored.sidecars.about == about)
        };
        self.last = None;
        self.known = open().map(|stored| (stored, None));
        self.known.is_some()
    }

    /// The side has been read: its rows have these numbers. Of rows of its table that the snapshot does not see it is looked up once what has taken their place.
    pub(super) fn begin(&mut self, estate: &EState, building: &Building, side: &mut Side, numbers: &[u64]) {
        let bound = bound(self.dimension);
        let is_worth_it = Positions::bytes(bound) <= hash_memory() && !(self.is_integer && side.lookup().is_span());
        let Some((stored, found)) = self.known.as_mut().filter(|_| is_worth_it) else {
            self.known = None;
            return;
        };
        // No two rows that the snapshot sees have the same keys.
        side.is_unique = true;
        let covered = &stored.sidecars.covered;
        let covers = numbers.iter().all(|&number| is_within(covered, number));
        let (mut there, mut all) = (0, true);
        let mut positions = Positions::new(bound, covers).unwrap_or_else(|e| raise(e));
        rows_there(self.dimension, estate.snapshot(), |leaf, component, seen, others| {
            let is_covered = component.blocks.difference(covered).is_empty();
            there += if is_covered {
                (seen.len() + others.len()) as u64
            } else {
                0
            };
            each_number(leaf, &seen, |number| positions.add(number));
            if !others.is_empty() {
                let found = building.find_others((leaf, component.origin), &others, side.lookup());
                all &= found.len() == others.len();
                for (row, found) in found {
                    each_number(leaf, &[row], |number| match found {
                        Some(found) => positions.lead(number, found),
                        None => positions.add(number),
                    });
                }
            }
        });
        numbers
            .iter()
            .zip(0..)
            .for_each(|(&number, row)| positions.lead(number, row));
        *found = Some(Found {
            positions,
            covers,
            whole: all && there == stored.sidecars.there,
        });
    }

    /// What it says of the rows of a batch of the scan's, and what that finds, if it says something of them.
    fn values(&mut self, columns: &BatchColumns) -> Option<(Rc<Values>, &Positions)> {
        let (stored, Some(found)) = self.known.as_ref()? else {
            return None;
        };
        let Home::Leaf(leaf, _) = &columns.home else {
            return None;
        };
        let values = match &self.last {
            Some((last, values)) if Rc::ptr_eq(last, leaf) => values.clone(),
            _ => {
                let values = (!leaf.is_in_memory()).then(|| stored.values(leaf)).flatten();
                let values = values.map(|(sidecar, values)| {
                    let are_known = found.knows(sidecar) || found.positions.has_all(values.words(), values.len());
                    Rc::new(Values { values, are_known })
                });
                self.last = Some((leaf.clone(), values.clone()));
                values
            }
        };
        Some((values?, &found.positions))
    }

    /// What rows of a batch of the scan's find, ascending; None if it says nothing of them. `repeat`: some may be there twice; `late`: what they find is found later, if that
    /// is possible. `others` looks up those of which it is not known, by their keys.
    pub(super) fn find(
        &mut self,
        probe: &Probe,
        columns: &BatchColumns,
        rows: &[u32],
        (repeat, late): (bool, bool),
        others: impl FnOnce(&[u32]) -> Matches,
    ) -> Option<Matches> {
        let (values, positions) = self.values(columns)?;
        let words = values.values.words();
        let (found, unknown) = match values.are_known && !repeat {
            true => (probe.find_words(positions.lookup(), words, rows, late)?, 0),
            false => {
                let told = positions.find(words, rows);
                let unknown: Vec<u32> = told.unknown.iter().map(|&place| rows[place as usize]).collect();
                let found = match unknown.is_empty() {
                    true => told.matches,
                    false => told.with(others(&unknown)),
                };
                (found, unknown.len())
            }
        };
        self.asked += rows.len() as u64;
        self.told += (rows.len() - unknown) as u64;
        Some(found)
    }

    /// What those that have only been looked for have found.
    pub(super) fn find_late(&mut self, columns: &BatchColumns, rows: &[u32]) -> Option<Vec<u32>> {
        let (values, positions) = self.values(columns)?;
        Some(positions.lookup().found_by_words(values.values.words(), rows))
    }
}

impl Found {
    /// Whether of all rows of a leaf it is known what they find, without a look at what is said of each.
    fn knows(&self, sidecar: &Sidecar) -> bool {
        self.whole && sidecar.whole && sidecar.unknown == 0 && (self.covers || sidecar.not_found == 0)
    }
}
