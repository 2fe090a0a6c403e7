//! Finding the columnar rows that a snapshot sees.

use super::alive::Alive;
use super::leaf::OpenLeaf;
use super::lookup::{find, leaf_of, resolve};
use super::origin;
use super::row::Row;
use super::stub::{self, State};
use crate::heap::tuple;
use crate::pg::snapshot::{Own, predicate_lock_tid};
use crate::pg::{Relation, Snapshot, Tuple};
use crate::storage::manifest::{Replaced, confirm};
use crate::storage::rowpage::{new_tid, tid_block};
use crate::storage::version::Versions;
use crate::storage::watch::Watch;
use amax_format::{RowNumbers, Runs};
use amax_lsm::tid::{self, key};
use amax_lsm::{Component, Origin};
use pgrx::pg_sys;
use std::ops::Range;
use std::rc::Rc;

/// What the offsets of a block are chosen by.
pub enum Pick<'a> {
    /// All rows.
    All,
    /// The rows that index entries with these offsets point to.
    Indexed(&'a [u16]),
}

/// Rows of one logical block in a leaf.
pub struct LeafRows {
    leaf: Option<Rc<OpenLeaf>>,
    origin: Option<Origin>,
    /// Row numbers in the leaf, ascending.
    rows: Vec<u32>,
    /// The number and the offset of the block's first row, if no offset is missing after it.
    dense: Option<(u32, u16)>,
    max_offset: u16,
    dead: usize,
    /// Whether an index picked them.
    picked: bool,
}

impl LeafRows {
    fn none() -> LeafRows {
        LeafRows {
            leaf: None,
            origin: None,
            rows: Vec::new(),
            dense: None,
            max_offset: 0,
            dead: 0,
            picked: false,
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    fn leaf(&self) -> &Rc<OpenLeaf> {
        self.leaf.as_ref().expect("rows come from a leaf")
    }

    pub fn offset(&self, i: usize) -> u16 {
        let row = self.rows[i];
        match self.dense {
            Some((first, offset)) => offset + (row - first) as u16,
            None => tid::offset(self.leaf().keys().get(row as usize)),
        }
    }

    pub fn row(&self, i: usize) -> Row {
        let row = Row::new(self.leaf().clone(), self.rows[i] as usize, self.origin);
        if self.picked { row.alone() } else { row }
    }

    /// The leaf, if there is any, and who loaded it.
    pub fn of_leaf(&self) -> Option<(&Rc<OpenLeaf>, Option<Origin>)> {
        self.leaf.as_ref().map(|leaf| (leaf, self.origin))
    }

    /// A row's number in the leaf.
    pub fn number(&self, i: usize) -> u32 {
        self.rows[i]
    }

    /// The largest offset in the block.
    pub fn max_offset(&self) -> u16 {
        self.max_offset
    }

    /// Rows that are dead.
    pub fn dead(&self) -> usize {
        self.dead
    }

    /// (offset in index entries, offset of the row) where they differ.
    pub fn aliases(&self) -> Vec<(u16, u16)> {
        let Some(leaf) = &self.leaf else {
            return Vec::new();
        };
        let Some(&first) = self.rows.first() else {
            return Vec::new();
        };
        let v = tid::block(leaf.keys().get(first as usize));
        let aliases = leaf.entry.aliases_of(v).iter();
        aliases.map(|a| (tid::offset(a.0), a.1)).collect()
    }
}

pub fn rows_of_block(
    rel: &Relation,
    component: &Component,
    v: u32,
    snapshot: &Snapshot,
    pick: &Pick,
) -> Result<LeafRows, Replaced> {
    if !origin::visible(rel, &component.origin, snapshot) {
        return Ok(LeafRows::none());
    }
    let Some(leaf) = leaf_of(rel, component, v)? else {
        return Ok(LeafRows::none());
    };
    let keys = leaf.keys();
    let (start, end) = (keys.first(key(v, 0)), keys.first(key(v + 1, 0)));
    if let Pick::Indexed(offsets) = pick {
        // See `fetch`. A scan of all rows has a lock on the relation.
        for &offset in offsets.iter() {
            predicate_lock_tid(rel, new_tid(v, resolve(&leaf.entry, v, offset)), snapshot);
        }
    }
    let states = stub::states_of_block(rel, v);
    let judge = leaf.judge(rel, snapshot)?;
    let seen = |i: usize| {
        let inserted = judge.as_ref().is_none_or(|judge| judge(i));
        inserted
            && states.as_ref().is_none_or(|states| {
                let offset = tid::offset(keys.get(i));
                stub::visible(rel, v, offset, states.get(offset), snapshot)
            })
    };
    let picked = matches!(pick, Pick::Indexed(_));
    let rows = match pick {
        Pick::All => (start..end).filter(|&i| seen(i)).map(|i| i as u32).collect(),
        Pick::Indexed(offsets) => {
            let mut rows: Vec<u32> = offsets
                .iter()
                .filter_map(|&o| keys.find(key(v, resolve(&leaf.entry, v, o))))
                .filter(|&i| seen(i))
                .map(|i| i as u32)
                .collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        }
    };
    let offset = |row| tid::offset(keys.get(row));
    let (first, max_offset) = if end > start {
        (offset(start), offset(end - 1))
    } else {
        (0, 0)
    };
    let is_dense = end - start == usize::from(max_offset - first) + 1;
    let dead = end - start - rows.len();
    drop(judge);
    confirm(rel, component.id)?;
    Ok(LeafRows {
        leaf: Some(leaf),
        origin: component.origin,
        rows,
        dense: is_dense.then_some((start as u32, first)),
        max_offset,
        dead,
        picked,
    })
}

/// The rows of a leaf in these blocks, all in the leaf, that the snapshot sees: row numbers, ascending. The component
/// is visible.
pub fn rows_of_blocks(
    rel: &Relation,
    leaf: &OpenLeaf,
    blocks: Range<u32>,
    snapshot: &Snapshot,
) -> Result<RowNumbers, Replaced> {
    // Before the entries are read: what is changed then has another LSN next time.
    let pages = match rel.needs_wal() {
        true => stub::versions_of_blocks(rel, &blocks, leaf.alive_pages()),
        false => Versions::default(),
    };
    let sees_all = leaf.judge(rel, snapshot)?.is_none();
    if sees_all && let Some(rows) = leaf.alive(&blocks, pages.clone()) {
        confirm(rel, leaf.place().1)?;
        return Ok(rows);
    }
    let mut runs = Runs::default();
    let is_settled = runs_of_blocks(rel, leaf, blocks.clone(), snapshot, |run| runs.push(run))?;
    let rows = runs.finish();
    if !is_settled || pages.is_empty() {
        return Ok(rows);
    }
    let known = rows.clone();
    leaf.keep_alive(Alive {
        blocks,
        pages,
        rows: known,
    });
    Ok(rows)
}

/// The rows of these blocks, among rows of the leaf.
pub fn within(leaf: &OpenLeaf, rows: &RowNumbers, blocks: &Range<u32>) -> RowNumbers {
    let before = |v: u32| {
        let first = first_of(leaf, v);
        rows.partition_point(|&row| row < first)
    };
    let (start, end) = (before(blocks.start), before(blocks.end));
    rows.slice(start, end - start)
}

/// The first row of a block, or of those behind it; of the whole leaf's it is known without its keys.
fn first_of(leaf: &OpenLeaf, v: u32) -> u32 {
    let Range { start, end } = leaf.blocks();
    let row = match v {
        _ if v <= start => 0,
        _ if v >= end => leaf.rows(),
        _ => leaf.keys().first(key(v, 0)),
    };
    row as u32
}

/// How many they are.
pub fn count_of_blocks(
    rel: &Relation,
    leaf: &OpenLeaf,
    blocks: Range<u32>,
    snapshot: &Snapshot,
) -> Result<usize, Replaced> {
    let mut count = 0;
    runs_of_blocks(rel, leaf, blocks, snapshot, |run| count += run.len())?;
    Ok(count)
}

/// The same as runs; whether they are the rows that everyone sees, for good but for those that are changed from now on.
fn runs_of_blocks(
    rel: &Relation,
    leaf: &OpenLeaf,
    blocks: Range<u32>,
    snapshot: &Snapshot,
    mut take: impl FnMut(Range<u32>),
) -> Result<bool, Replaced> {
    let judge = leaf.judge(rel, snapshot)?;
    let mut is_settled = judge.is_none();
    let mut take = |run: Range<u32>| match &judge {
        None => take(run),
        Some(judge) => run
            .filter(|&row| judge(row as usize))
            .for_each(|row| take(row..row + 1)),
    };
    let first_of = |v: u32| first_of(leaf, v);
    // Few blocks have stubs; the rows of the others are counted, not looked at.
    let mut plain = blocks.start;
    for unseen in stub::unseen(rel, blocks.clone(), snapshot) {
        is_settled &= unseen.is_settled;
        for v in unseen.blocks.clone() {
            // From the first row that is seen after the last that is not.
            let mut first = first_of(plain);
            for (i, key) in (first_of(v)..).zip(leaf.keys().range(first_of(v) as usize..first_of(v + 1) as usize)) {
                if unseen.has(v, tid::offset(key)) {
                    take(first..i);
                    first = i + 1;
                }
            }
            take(first..first_of(v + 1));
            plain = v + 1;
        }
    }
    take(first_of(plain)..first_of(blocks.end));
    confirm(rel, leaf.place().1)?;
    Ok(is_settled)
}

/// ANALYZE's view: rows that are alive, or whose fate is open.
pub fn rows_for_analyze(rel: &Relation, component: &Component, v: u32) -> Result<LeafRows, Replaced> {
    // A row's state changes with the transactions that hold it; their statistics reports make up for what is counted
    // here.
    let own = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_SELF);
    rows_of_block(rel, component, v, &own, &Pick::All)
}

/// An index fetch, by what the caller watches, if anything.
pub fn fetch(
    rel: &Relation,
    watch: Option<&Watch>,
    component: &Component,
    at: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    all_dead: Option<&mut bool>,
) -> Result<Option<Row>, Replaced> {
    snapshot.reset_dirty();
    if !origin::visible(rel, &component.origin, snapshot) {
        return Ok(None);
    }
    let Some(row) = find(rel, component, at)? else {
        confirm(rel, component.id)?;
        return Ok(None);
    };
    let (v, offset) = (tid_block(at), at.ip_posid);
    // SSI: locked before the stub is looked at, checked by writers after they have changed it. The row's logical TID
    // may be some other row's physical one; that can only make a transaction fail in vain.
    predicate_lock_tid(rel, *at, snapshot);
    if snapshot.is_any() && all_dead.is_none() {
        // The row itself is what is asked for, which somebody has seen: of an UPDATE each row that it is about to change.
        confirm(rel, component.id)?;
        return Ok(Some(row));
    }
    let state = stub::watched_state(rel, watch, v, offset);
    if let (true, Some(all_dead)) = (state.is_dead(), all_dead) {
        *all_dead = true;
    }
    let visible = row.is_seen_by(rel, snapshot)? && stub::visible(rel, v, offset, state, snapshot);
    confirm(rel, component.id)?;
    Ok(visible.then_some(row))
}

/// The row at its own TID, if the snapshot sees it.
pub fn row_version(
    rel: &Relation,
    component: &Component,
    at: &pg_sys::ItemPointerData,
    snapshot: &Snapshot,
) -> Result<Option<Row>, Replaced> {
    let mut own = *at;
    let row = fetch(rel, None, component, &mut own, snapshot, None)?;
    Ok(row.filter(|_| own.ip_posid == at.ip_posid))
}

/// Where the row's next version is, and who made it.
pub fn next_version(
    rel: &Relation,
    _component: &Component,
    at: &pg_sys::ItemPointerData,
) -> Option<(pg_sys::ItemPointerData, pg_sys::TransactionId)> {
    let (v, offset) = (tid_block(at), at.ip_posid);
    let State::At { block, offset: o } = stub::state(rel, v, offset) else {
        return None;
    };
    let stub = stub::with_tuple(rel, (v, offset), (block, o), |tuple, _| {
        (tuple.header().copy(), *tuple.tid())
    })?;
    let (mut header, own) = stub;
    let stub = Tuple::of_header(&mut header, rel.id());
    tuple::next_version(rel, stub.header(), &own)
}
