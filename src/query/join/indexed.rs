//! Join indexes: rows of the scan's find those of a side by where they are in their table. Nothing is computed of their keys, but of those of
//! which the index knows nothing, or something that is over.

use super::spine::Level;
use crate::pg::node::Node;
use crate::pg::relation::Opened;
use crate::pg::state::{CustomScanState, EState};
use crate::pg::{Relation, index};
use crate::query::batch::columns::{BatchColumns, Home};
use crate::query::batch::contract::of;
use crate::query::join_index::definition::{Definition, METHOD, over_row};
use crate::query::join_index::seen::{bound, positions};
use crate::query::join_index::stored::Stored;
use crate::query::plan::costs::hash_memory;
use crate::query::scan::node::METHODS;
use amax_exec::Lookup;
use amax_exec::positions::{Positions, Told, is_worth_it};
use pgrx::pg_sys;

/// A join index for a side.
pub(super) struct Index {
    id: pg_sys::Oid,
    pub(super) name: String,
    /// The side's table.
    dimension: &'static Relation,
    /// What it holds, and what that finds; None if it is of no use for this query.
    known: Option<(Stored, Option<Positions>)>,
    /// Rows that have been asked for; those of which it knew what they find.
    pub(super) asked: u64,
    pub(super) told: u64,
}

/// That of a table by which rows find those of a side, by keys that are columns of a scan's.
pub(super) fn find(table: &Relation, columns: &[&'static Node], level: &Level) -> Option<Index> {
    let method = index::method(METHOD);
    let scan = level
        .rows
        .as_a::<CustomScanState>()
        .filter(|node| METHODS.are_of(node))?;
    let dimension = scan.relation().filter(|_| method != pg_sys::InvalidOid)?;
    let batches = of(level.rows)?;
    let inner = batches.borrow().columns();
    if !batches.borrow().has_leaves() {
        return None;
    }
    let own: Vec<&Node> = level.outer_keys.iter().map(|key| over_row(key, columns)).collect();
    let (keys, _) = level.over_input();
    let others: Vec<&Node> = keys.into_iter().map(|key| over_row(key, &inner)).collect();
    let mut ids = Vec::new();
    table.all_indexes(|index| {
        if index.method == method {
            ids.push(index.id);
        }
        true
    });
    ids.into_iter().find_map(|id| {
        let index = Opened::with_lock(id, pg_sys::AccessShareLock);
        let definition = Definition::of(&index).filter(|definition| definition.dimension == dimension.id())?;
        let keys = definition.keys(dimension).ok()?;
        keys.are(&own, &others, &level.types).then(|| Index {
            id,
            name: index.name(),
            dimension,
            known: None,
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
        self.known = open().map(|stored| (stored, None));
        self.known.is_some()
    }

    /// The side has been read: its rows have these numbers.
    pub(super) fn begin(&mut self, estate: &EState, lookup: &Lookup, numbers: Vec<u64>) {
        let fits = Positions::bytes(bound(self.dimension)) <= hash_memory();
        if !(fits && is_worth_it(lookup)) {
            self.known = None;
        }
        if let Some((_, known)) = &mut self.known {
            *known = Some(positions(
                self.dimension,
                estate.snapshot(),
                numbers.into_iter().map(Some),
            ));
        }
    }

    /// What rows of a batch of the scan's find; None if nothing is known of the batch.
    pub(super) fn find(&mut self, columns: &BatchColumns, rows: &[u32]) -> Option<Told> {
        let (stored, Some(positions)) = self.known.as_ref()? else {
            return None;
        };
        let Home::Leaf(leaf, _) = &columns.home else {
            return None;
        };
        self.asked += rows.len() as u64;
        if leaf.is_in_memory() {
            return None;
        }
        let values = stored.values(leaf)?;
        let told = positions.find(values.words(), rows);
        self.told += (rows.len() - told.unknown.len()) as u64;
        Some(told)
    }
}
