//! Which columnar rows of a table a snapshot sees, by their numbers.

use crate::columnar::{OpenLeaf, open_leaf, origin, rows_of_blocks, within};
use crate::pg::{Relation, Snapshot};
use crate::query::batch::columns::{BatchColumns, Home};
use crate::storage::rowpage::tid_block;
use crate::storage::{manifest, meta};
use amax_format::{RowNumbers, consecutive, row_numbers};
use amax_lsm::{Component, RangeSet, tid};
use std::rc::Rc;

/// The numbers of rows of a leaf in its table.
pub fn each_number(leaf: &OpenLeaf, rows: &[u32], mut take: impl FnMut(u64)) {
    let keys = leaf.keys();
    match consecutive(rows) {
        Some(range) => keys.range(range).for_each(|key| take(tid::ordinal(key))),
        None => rows.iter().for_each(|&row| take(tid::ordinal(keys.get(row as usize)))),
    }
}

/// The numbers of rows of a scan's batch.
pub fn numbers_of(columns: &BatchColumns, rows: &[u32], mut take: impl FnMut(u64)) {
    match &columns.home {
        Home::Leaf(leaf, _) => each_number(leaf, rows, take),
        Home::Alone(alone) => rows.iter().for_each(|&row| {
            let at = &alone.tids[row as usize];
            take(tid::ordinal(tid::key(tid_block(at), at.ip_posid)));
        }),
    }
}

/// Whether the row with a number is in one of these blocks.
pub fn is_within(blocks: &RangeSet, number: u64) -> bool {
    blocks.contains((number / u64::from(tid::MAX_OFFSET)) as u32)
}

/// How many numbers a table's rows may have.
pub fn bound(rel: &Relation) -> u64 {
    u64::from(meta::logical_blocks(rel)) * u64::from(tid::MAX_OFFSET)
}

/// Calls `f` with the rows of each leaf that the snapshot sees, and with the others that are still there. On a standby those of a component that has been
/// replaced meanwhile are left out.
pub fn rows_there(
    rel: &Relation,
    snapshot: &Snapshot,
    mut f: impl FnMut(&Rc<OpenLeaf>, &Component, RowNumbers, RowNumbers),
) {
    let manifest = manifest::current(rel);
    for component in &manifest.components {
        let is_seen = origin::visible(rel, &component.origin, snapshot);
        for at in 0..component.leaves as usize {
            crate::memory::check_for_interrupts();
            let Ok(leaf) = open_leaf(rel, component, at) else {
                break;
            };
            let blocks = leaf.blocks();
            let all = row_numbers(0..leaf.rows() as u32);
            let seen = match is_seen {
                true => rows_of_blocks(rel, &leaf, blocks.clone(), snapshot),
                false => Ok(row_numbers(0..0)),
            };
            let Ok(seen) = seen else {
                break;
            };
            // Of blocks between its own other components have the rows, or row pages.
            let owned = component.blocks.ranges().iter();
            let owned = owned.map(|&(start, end)| start.max(blocks.start)..end.min(blocks.end));
            for blocks in owned.filter(|blocks| !blocks.is_empty()) {
                let (all, seen) = (within(&leaf, &all, &blocks), within(&leaf, &seen, &blocks));
                let others = others(&all, &seen);
                if !all.is_empty() {
                    f(&leaf, component, seen, others);
                }
            }
        }
    }
}

/// Those of all rows that are not among some of them, both ascending.
fn others(all: &[u32], some: &[u32]) -> RowNumbers {
    if all.len() == some.len() {
        return row_numbers(0..0);
    }
    let mut some = some.iter().peekable();
    let others = all.iter().copied().filter(|row| some.next_if_eq(&row).is_none());
    others.collect::<Vec<u32>>().into()
}
