//! Which columnar rows of a table a snapshot sees, by their numbers.

use crate::columnar::{OpenLeaf, open_leaf, origin, rows_of_blocks, within};
use crate::pg::{Relation, Snapshot};
use crate::query::batch::columns::{BatchColumns, Home};
use crate::query::batch::raise::raise;
use crate::storage::rowpage::tid_block;
use crate::storage::{manifest, meta};
use amax_exec::positions::Positions;
use amax_format::RowNumbers;
use amax_lsm::{Component, tid};
use std::rc::Rc;

/// A row's number in its table.
pub fn number(leaf: &OpenLeaf, row: u32) -> u64 {
    tid::ordinal(leaf.keys().get(row as usize))
}

/// The numbers of rows of a scan's batch.
pub fn numbers_of(columns: &BatchColumns, rows: &[u32], mut take: impl FnMut(u64)) {
    match &columns.home {
        Home::Leaf(leaf, _) => rows.iter().for_each(|&row| take(number(leaf, row))),
        Home::Alone(alone) => rows.iter().for_each(|&row| {
            let at = &alone.tids[row as usize];
            take(tid::ordinal(tid::key(tid_block(at), at.ip_posid)));
        }),
    }
}

/// How many numbers a table's rows may have.
pub fn bound(rel: &Relation) -> u64 {
    u64::from(meta::logical_blocks(rel)) * u64::from(tid::MAX_OFFSET)
}

/// What values say of a table's rows, and of those of a side that has some of them.
pub fn positions(rel: &Relation, snapshot: &Snapshot, rows: impl Iterator<Item = Option<u64>>) -> Positions {
    let seen = |see: &mut dyn FnMut(u64)| {
        rows_seen(rel, snapshot, |leaf, _, rows| {
            rows.iter().for_each(|&row| see(number(leaf, row)));
        });
    };
    Positions::new(bound(rel), seen, rows).unwrap_or_else(|e| raise(e))
}

/// Calls `f` with the rows of each leaf that the snapshot sees. On a standby those of a component that has been replaced meanwhile are
/// left out.
pub fn rows_seen(rel: &Relation, snapshot: &Snapshot, mut f: impl FnMut(&Rc<OpenLeaf>, &Component, RowNumbers)) {
    let manifest = manifest::current(rel);
    for component in &manifest.components {
        if !origin::visible(rel, &component.origin, snapshot) {
            continue;
        }
        for at in 0..component.leaves as usize {
            crate::memory::check_for_interrupts();
            let Ok(leaf) = open_leaf(rel, component, at) else {
                break;
            };
            let blocks = leaf.blocks();
            let Ok(rows) = rows_of_blocks(rel, &leaf, blocks.clone(), snapshot) else {
                break;
            };
            // Of blocks between its own other components have the rows, or row pages.
            let owned = component.blocks.ranges().iter();
            let owned = owned.map(|&(start, end)| start.max(blocks.start)..end.min(blocks.end));
            for blocks in owned.filter(|blocks| !blocks.is_empty()) {
                let rows = within(&leaf, &rows, &blocks);
                if !rows.is_empty() {
                    f(&leaf, component, rows);
                }
            }
        }
    }
}
