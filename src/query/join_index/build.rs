//! Making a join index, and keeping it: what each row of the table's leaves finds in the other table's.

use super::definition::{Definition, Keys, Unusable, of_table};
use super::keys::KeyReader;
use super::seen::{each_number, is_within, rows_there};
use super::stored::{Carried, Stored, sidecars};
use crate::columnar::{OpenLeaf, open_leaf, origin, raise};
use crate::maintenance::MaintenanceLock;
use crate::maintenance::reclaim;
use crate::pg::lookup::may_be_selected_by;
use crate::pg::node::Node;
use crate::pg::relation::Opened;
use crate::pg::settings::own_maintenance_work_mem;
use crate::pg::state::EState;
use crate::pg::vacuum::delay_point;
use crate::pg::{Relation, lock, snapshot, xid};
use crate::query::batch::raise::raise as raise_exec;
use crate::storage::buffer::PAYLOAD;
use crate::storage::manifest::{self, Replaced, cancel_replaced};
use crate::storage::{blob, meta};
use amax_exec::positions::{NO_KEY, NOT_FOUND, Positions, UNKNOWN, value_of, values_of};
use amax_exec::{Lookup, VectorBuilder};
use amax_format::{ColumnType, Dense, LeafBuilder, LeafOptions};
use amax_lsm::{Component, Extent, FreeSpace, RangeSet, RetiredPages, Sidecar, Sidecars, tid};
use pgrx::pg_sys;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A leaf is looked up anew when this share of its rows no longer finds what it did.
const STALE: usize = 100;

/// Why an index has not been brought up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It is not of use.
    Unusable(Unusable),
    /// Somebody has a lock on the other table.
    Locked,
    /// The other table's keys take more than may be used of memory.
    TooLarge,
}

/// The other table's rows that are looked up.
struct Dimension {
    lookup: Lookup,
    /// Their numbers.
    numbers: Vec<u64>,
    /// Whether vectors have the keys of all of them: what is not found is not there.
    all: bool,
    /// The blocks that they are in, and the numbers of all rows that are there, those that are gone for everybody as well.
    covered: RangeSet,
    there: Vec<u64>,
}

impl Dimension {
    /// The columnar rows of a table that are not gone, whoever sees them, but for those of loads that were rolled back.
    fn read(dimension: &'static Relation, estate: &'static EState, keys: &Keys) -> Result<Dimension, Left> {
        let mut reader = KeyReader::of(dimension, estate, &keys.others).ok_or(Left::Unusable(Unusable::NotComputed))?;
        let mut builders: Vec<VectorBuilder> = keys.types.iter().map(|&ty| VectorBuilder::new(ty)).collect();
        let mut numbers = Vec::new();
        let limit = own_maintenance_work_mem();
        let mut fits = true;
        let oldest = xid::oldest_xmin(dimension);
        let was_rolled_back = |component: &Component| {
            origin::vacuum_state(dimension, &component.origin, oldest) == pg_sys::HTSV_Result::HEAPTUPLE_DEAD
        };
        let (mut all, mut covered, mut there) = (true, RangeSet::default(), Vec::new());
        rows_there(dimension, snapshot::any(), |leaf, component, rows, others| {
            delay_point();
            if !fits {
                return;
            }
            covered.union(&component.blocks);
            each_number(leaf, &rows, |number| there.push(number));
            each_number(leaf, &others, |number| there.push(number));
            if was_rolled_back(component) {
                return;
            }
            reader.read((leaf, component.origin), &rows, |read| {
                for (place, &row) in rows.iter().enumerate() {
                    all &= !read.is_unsure(place);
                    if !read.is_unsure(place) && !read.is_null(place) {
                        numbers.push(tid::ordinal(leaf.keys().get(row as usize)));
                        let out = builders.iter_mut().zip(&read.keys);
                        out.for_each(|(out, key)| out.push_from(key, place));
                    }
                }
            });
            let bytes: usize = builders.iter().map(VectorBuilder::bytes_used).sum();
            fits = bytes + (numbers.len() + there.len()) * size_of::<u64>() <= limit;
        });
        if !fits {
            return Err(Left::TooLarge);
        }
        let keys = builders.into_iter().map(VectorBuilder::finish).collect();
        let lookup = Lookup::new(keys, numbers.len()).unwrap_or_else(|e| raise_exec(e));
        Ok(Dimension {
            lookup,
            numbers,
            all,
            covered,
            there,
        })
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.numbers, &self.there).hash(&mut hasher);
        hasher.finish()
    }
}

/// Which values say something of rows with these numbers, and, if it `covers`, NOT_FOUND.
fn known(numbers: &[u64], covers: bool) -> Positions {
    let bound = numbers.iter().max().map_or(0, |last| last + 1);
    let mut known = Positions::new(bound, covers).unwrap_or_else(|e| raise_exec(e));
    numbers.iter().for_each(|&number| known.add(number));
    known
}

/// What these rows of a leaf find.
fn values(reader: &mut KeyReader, dimension: &Dimension, leaf: &Rc<OpenLeaf>, rows: &[u32]) -> Vec<i64> {
    reader.read((leaf, None), rows, |read| {
        let found = dimension.lookup.find(&read.keys, rows.len());
        let mut values = values_of(&found, &dimension.numbers, rows.len());
        for (place, value) in values.iter_mut().enumerate() {
            if read.is_unsure(place) || *value == NOT_FOUND && !dimension.all {
                *value = UNKNOWN;
            } else if read.is_null(place) {
                *value = NO_KEY;
            }
        }
        values
    })
}

/// As bytes: a leaf of its own, of one column, whose keys are the leaf's.
fn image(leaf: &OpenLeaf, values: &[i64]) -> Vec<u8> {
    let options = LeafOptions {
        page_size: PAYLOAD,
        ..LeafOptions::default()
    };
    let mut builder = LeafBuilder::new(&[ColumnType::Int], options);
    let pushed = builder.push_rows(leaf.keys().iter(), |_, rows| rows.push_ints(values));
    let image = pushed.and_then(|()| builder.finish());
    image.unwrap_or_else(|e| raise(e))
}

/// Opens the other table; if it `waits` not, only if that is possible at once.
fn open_dimension(id: pg_sys::Oid, waits: bool) -> Result<Opened, Left> {
    let found = match waits {
        true => Opened::find(id, pg_sys::AccessShareLock),
        false if lock::try_lock_by_id(id, pg_sys::AccessShareLock) => Opened::find(id, pg_sys::NoLock),
        false => return Err(Left::Locked),
    };
    found.ok_or(Left::Unusable(Unusable::NotColumnar))
}

/// A table and its index, and the other table, as they are looked at to find out what rows find.
struct Sides<'a> {
    table: &'static Relation,
    index: &'a Relation,
    other: &'a Relation,
    keys: Keys,
    reader: KeyReader,
    dimension: Dimension,
}

/// Why VACUUM will not make an index that its definition has nothing against.
pub fn cannot_make(table: &Relation, dimension: &Relation, keys: &Keys) -> Option<Unusable> {
    if !may_be_selected_by(dimension.id(), table.owner()) {
        return Some(Unusable::NotAllowed);
    }
    let is_computed = |rel: &Relation, keys: &[&'static Node]| {
        EState::with_new(rel.id(), |estate, rel| KeyReader::of(rel, estate, keys).is_some())
    };
    let can = is_computed(table, &keys.own) && is_computed(dimension, &keys.others);
    (!can).then_some(Unusable::NotComputed)
}

/// Runs `f` on both sides of an index; None if either table has no columnar rows. The other table keeps its components meanwhile: VACUUM
/// has no snapshot for which they would be kept.
fn with_sides<R>(
    table: &Relation,
    index: &Relation,
    waits: bool,
    f: impl FnOnce(Sides) -> R,
) -> Result<Option<R>, Left> {
    let definition = Definition::of(index).ok_or(Left::Unusable(Unusable::NoKey))?;
    let dimension = open_dimension(definition.dimension, waits)?;
    let keys = definition.keys(&dimension).map_err(Left::Unusable)?;
    if let Some(why) = cannot_make(table, &dimension, &keys) {
        return Err(Left::Unusable(why));
    }
    let is_empty = |rel: &Relation| manifest::current(rel).components.is_empty();
    if is_empty(table) || is_empty(&dimension) {
        return Ok(None);
    }
    let _kept = match waits {
        true => MaintenanceLock::take(&dimension),
        false => MaintenanceLock::try_take(&dimension).ok_or(Left::Locked)?,
    };
    // One after the other: what is made for one lives as long as its executor state.
    let found = EState::with_new(dimension.id(), |estate, rel| Dimension::read(rel, estate, &keys))?;
    EState::with_new(table.id(), |estate, table| {
        let reader = KeyReader::of(table, estate, &keys.own).ok_or(Left::Unusable(Unusable::NotComputed))?;
        Ok(Some(f(Sides {
            table,
            index,
            other: &dimension,
            reader,
            dimension: found,
            keys,
        })))
    })
}

/// Brings an index up to date: leaves that it has nothing of, and those of which too much finds something else by now. The caller has
/// VACUUM's lock of the table, or a stronger one.
pub fn refresh(table: &Relation, index: &Relation, waits: bool) -> Result<(), Left> {
    let done = with_sides(table, index, waits, |sides| sides.refresh())?;
    if done.is_none() && !manifest::current(index).components.is_empty() {
        // There are no leaves any more.
        publish(
            index,
            &Sidecars::default(),
            FreeSpace::default(),
            RangeSet::default(),
            &[],
        );
    }
    Ok(())
}

/// Brings the join indexes of a table up to date, as far as nobody is in the way. The caller has VACUUM's lock of it.
pub fn keep_up(table: &Relation) {
    for id in of_table(table) {
        if lock::try_lock_by_id(id, pg_sys::RowExclusiveLock) {
            let index = Opened::with_lock(id, pg_sys::NoLock);
            // What is left is VACUUM's to do.
            let _ = refresh(table, &index, false);
        }
    }
}

impl Sides<'_> {
    fn about(&self) -> Option<u128> {
        self.keys.about(self.table, self.other)
    }

    fn refresh(mut self) {
        let (table, index) = (self.table, self.index);
        meta::give_incarnation(table);
        meta::give_incarnation(self.other);
        let about = self.about().expect("both have been given one");
        meta::ensure(index);
        find_lost(index);
        manifest::stamp(index);
        reclaim::reclaim(index);
        let found_in = self.dimension.hash();
        let before = sidecars(index).map(|(_, before)| before);
        let is_of_now = before.as_ref().is_some_and(|before| before.about == about);
        let open = || Stored::open(Opened::with_lock(index.id(), pg_sys::NoLock));
        let stored = is_of_now.then(open).flatten();
        let is_same = stored
            .as_ref()
            .is_some_and(|stored| stored.sidecars.found_in == found_in);
        let dimension = &self.dimension;
        // What has not been found may be among rows that have come since.
        let is_covered = stored
            .as_ref()
            .is_some_and(|stored| stored.sidecars.covered == dimension.covered);
        let (known, there) = (known(&dimension.numbers, is_covered), known(&dimension.there, true));
        let covers = |sidecar: &Sidecar| is_covered || sidecar.not_found == 0;
        let kept = |stored: &Stored, sidecar: &Sidecar| {
            if is_same {
                return Some(sidecar.clone());
            }
            let (_, values) = stored.read(sidecar).filter(|_| covers(sidecar))?;
            let count_unknown = |known: &Positions| known.count_unknown(values.words(), values.len());
            (count_unknown(&known) * STALE <= values.len()).then(|| Sidecar {
                whole: count_unknown(&there) == sidecar.unknown as usize,
                ..sidecar.clone()
            })
        };
        let mut carried = stored.as_ref().map(Carried::of);
        let manifest = manifest::current(table);
        let mut all = Sidecars {
            about,
            found_in,
            covered: dimension.covered.clone(),
            there: dimension.there.len() as u64,
            leaves: Vec::new(),
        };
        let mut covered = RangeSet::default();
        let mut free = None;
        let mut written = 0;
        for component in &manifest.components {
            covered.union(&component.blocks);
            for at in 0..component.leaves as usize {
                delay_point();
                let leaf = open_leaf(table, component, at).unwrap_or_else(|Replaced| cancel_replaced());
                let kept = stored.as_ref().and_then(|stored| kept(stored, stored.of_leaf(&leaf)?));
                let sidecar = kept.unwrap_or_else(|| {
                    written += 1;
                    let free = free.get_or_insert_with(|| manifest::take_free(index, |_| 0));
                    let mut of_rows = match &mut carried {
                        Some(carried) => carried.values(&leaf),
                        None => vec![UNKNOWN; leaf.rows()],
                    };
                    let unknown = known.unknown(&of_rows);
                    if !unknown.is_empty() {
                        let found = values(&mut self.reader, dimension, &leaf, &unknown);
                        unknown
                            .iter()
                            .zip(found)
                            .for_each(|(&row, value)| of_rows[row as usize] = value);
                    }
                    write(index, &leaf, &of_rows, free)
                });
                all.leaves.push(sidecar);
            }
        }
        all.leaves.sort_by_key(|leaf| leaf.first);
        let had = stored.as_ref().map_or(0, |stored| stored.sidecars.leaves.len());
        if written == 0 && is_same && had == all.leaves.len() {
            return;
        }
        let kept: HashSet<u32> = all.leaves.iter().filter_map(|leaf| leaf.image.page(0)).collect();
        let given_up: Vec<Extent> = before
            .iter()
            .flat_map(|before| &before.leaves)
            .filter(|leaf| leaf.image.page(0).is_some_and(|page| !kept.contains(&page)))
            .flat_map(|leaf| leaf.image.extents.iter().copied())
            .collect();
        publish(index, &all, free.unwrap_or_default(), covered, &given_up);
    }
}

/// Writes what the rows of a leaf find.
fn write(index: &Relation, leaf: &OpenLeaf, values: &[i64], free: &mut FreeSpace) -> Sidecar {
    let count = |of: i64| values.iter().filter(|&&value| value == of).count() as u32;
    Sidecar {
        first: leaf.entry.first,
        last: leaf.entry.last,
        rows: leaf.entry.rows,
        digest: leaf.digest().expect("nobody has replaced it"),
        unknown: count(UNKNOWN),
        not_found: count(NOT_FOUND),
        whole: true,
        image: blob::write(index, free, &image(leaf, values)),
    }
}

/// Has readers find this from now on; what has been given up is free once nobody reads it.
fn publish(index: &Relation, all: &Sidecars, mut free: FreeSpace, blocks: RangeSet, given_up: &[Extent]) {
    let directory = blob::write(index, &mut free, &all.encode());
    let pages: u64 = all.leaves.iter().map(|leaf| leaf.image.pages()).sum();
    let component = Component {
        id: 0,
        blocks,
        rows: all.leaves.iter().map(|leaf| u64::from(leaf.rows)).sum(),
        leaves: all.leaves.len() as u32,
        pages: pages + directory.pages(),
        directory,
        origin: None,
        oldest_xid: None,
        unswept: None,
    };
    crate::fault::fault("join_index_written");
    manifest::publish(index, |manifest| {
        manifest.free.give_all(&free);
        let mut pages = given_up.to_vec();
        for old in std::mem::take(&mut manifest.components) {
            pages.extend(old.directory.extents);
        }
        manifest.add(component);
        manifest.retire(RetiredPages::Columnar(pages));
    });
}

/// Frees what nothing refers to: pages that were written by somebody who failed. Nobody else writes to the index.
fn find_lost(index: &Relation) {
    let Some((_, sidecars)) = sidecars(index) else {
        return;
    };
    let manifest = manifest::current(index);
    let mut known = manifest.retired_columnar();
    let mut note = |extent: &Extent| known.insert(extent.start, extent.start + extent.len);
    sidecars.extents().for_each(&mut note);
    manifest
        .components
        .iter()
        .flat_map(|c| &c.directory.extents)
        .for_each(&mut note);
    manifest::stored(index).extents.iter().for_each(&mut note);
    known.insert(meta::BLOCK, meta::BLOCK + 1);
    known.union(manifest.free.ranges());
    let mut all = RangeSet::default();
    all.insert(0, index.physical_blocks());
    let lost = all.difference(&known);
    if !lost.is_empty() {
        manifest::publish(index, |manifest| {
            for &(start, end) in lost.ranges() {
                manifest.free.give(Extent {
                    start,
                    len: end - start,
                });
            }
        });
    }
}

/// What an index says that is not so: of rows that do not have the keys of those that they are said to find, or find some though they are said to find none.
pub fn check(table: &Relation, index: &Relation) -> Result<Vec<String>, Left> {
    let problems = with_sides(table, index, true, |mut sides| {
        let stored = Stored::open(Opened::with_lock(index.id(), pg_sys::AccessShareLock));
        let stored = stored.filter(|stored| Some(stored.sidecars.about) == sides.about());
        let mut problems = Vec::new();
        let Some(stored) = stored else { return problems };
        let live: HashSet<i64> = sides.dimension.numbers.iter().map(|&number| value_of(number)).collect();
        let manifest = manifest::current(sides.table);
        for component in &manifest.components {
            for at in 0..component.leaves as usize {
                crate::memory::check_for_interrupts();
                let leaf = open_leaf(sides.table, component, at).ok();
                let Some(leaf) = leaf else { continue };
                if let Some((_, values)) = stored.values(&leaf) {
                    problems.extend(sides.wrong(&leaf, &values, &stored.sidecars.covered, &live));
                }
            }
        }
        problems
    })?;
    Ok(problems.unwrap_or_default())
}

impl Sides<'_> {
    /// Of the rows of a leaf those of which it says what is not so.
    fn wrong(&mut self, leaf: &Rc<OpenLeaf>, values: &Dense, covered: &RangeSet, live: &HashSet<i64>) -> Vec<String> {
        let dimension = &self.dimension;
        let rows: Vec<u32> = (0..leaf.rows() as u32).collect();
        self.reader.read((leaf, None), &rows, |read| {
            let found = dimension.lookup.find(&read.keys, rows.len());
            let found = || {
                found
                    .asked
                    .iter()
                    .zip(&found.found)
                    .map(|(&row, &at)| (row, dimension.numbers[at as usize]))
            };
            let right: HashSet<(u32, i64)> = found().map(|(row, number)| (row, value_of(number))).collect();
            let find_some: HashSet<u32> = found()
                .filter(|found| is_within(covered, found.1))
                .map(|found| found.0)
                .collect();
            let is_wrong = |&row: &u32| match values.word(row as usize) {
                UNKNOWN => false,
                NO_KEY => !read.is_null(row as usize) && !read.is_unsure(row as usize),
                NOT_FOUND => find_some.contains(&row),
                // Of rows that are gone nothing is known any more.
                value => live.contains(&value) && !right.contains(&(row, value)),
            };
            let tell = |&row: &u32| {
                let key = leaf.keys().get(row as usize);
                let at = (tid::block(key), tid::offset(key));
                format!("row {at:?} does not find the row that it is said to find")
            };
            rows.iter().filter(|row| is_wrong(row)).map(tell).collect()
        })
    }
}
