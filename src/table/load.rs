//! Bulk load: a statement that inserts many rows writes them to a component of its own, not to row pages.
//!
//! The component carries the statement's (sub)transaction and command; it is published when the statement ends, or
//! before when the transaction itself may look at the rows. Until then nobody can see them. A check of a unique key, which
//! an index entry leads to such a row, needs to know only whose it is: the manifest says that for the load's blocks
//! (`fetch::sees_load_of`). Checks of exclusion constraints compare the row itself, BRIN's summaries read it: tables
//! with such indexes load through row pages. So do all tables of a database of which a logical slot asks for rows: components are not in the WAL's row changes.

use super::slot;
use crate::columnar::Width;
use crate::columnar::write::ComponentWriter;
use crate::fault::fault;
use crate::guc;
use crate::memory;
use crate::options::Options;
use crate::pg::horizon::full_xid;
use crate::pg::relation::{Borrowed, FileId};
use crate::pg::replication::has_logical_slot;
use crate::pg::snapshot::check_readers;
use crate::pg::stats::count_inserts;
use crate::pg::{Relation, Slot, Snapshot, xid};
use crate::storage::rowpage::new_tid;
use crate::storage::{manifest, meta};
use amax_format::{Error, Rows};
use amax_lsm::Origin;
use amax_lsm::tid::{MAX_OFFSET, key};
use amax_lsm::xids::FROZEN;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// Logical blocks reserved at a time, at most: about a leaf's worth.
const MOST_BLOCKS: u32 = 52;
/// A statement whose rows had to be published early this often goes on in row pages: each time makes a component.
const MOST_EARLY: u32 = 3;

/// What a load is of: a command of a subtransaction that inserts into a file.
#[derive(Clone, Copy, PartialEq)]
struct Statement {
    file: FileId,
    subxact: pg_sys::SubTransactionId,
    cid: u32,
}

impl Statement {
    fn is_beside(self, other: Statement) -> bool {
        (self.file, self.subxact) == (other.file, other.subxact)
    }
}

struct Load {
    relid: pg_sys::Oid,
    of: Statement,
    /// Of that subtransaction, as long as there is a writer: publishing may happen in one below it, which may come to
    /// nothing.
    xid: pg_sys::TransactionId,
    /// Rows that went to row pages, and the bytes of their values, as long as they may be few.
    rows_before: u64,
    bytes_before: usize,
    writer: Option<ComponentWriter>,
    /// Made with the writer.
    width: Option<Width>,
    /// Whether the table has unique keys.
    has_keys: bool,
    /// Blocks reserved: the next to use and the end.
    next_block: u32,
    end_block: u32,
    next_offset: u16,
    last_reserved: u32,
    early: u32,
    /// Rows of it were lost with an error, which a subtransaction of the statement may have caught: the statement must
    /// fail, too.
    lost: bool,
}

thread_local! {
    static LOADS: RefCell<Vec<Load>> = const { RefCell::new(Vec::new()) };
}

/// Takes the rows if the statement is (now) a bulk load, and gives the slots their TIDs; false when they belong in row
/// pages. Single rows that do are passed to `into_row_page`.
pub fn insert(rel: &Relation, slots: &[&Slot], cid: u32, into_row_page: impl Fn(&Slot)) -> bool {
    let mut load = Load::take(rel, cid);
    let taken = load.takes(rel, 0);
    if taken {
        let mut loaded = 0;
        for &slot in slots {
            if load.is_too_wide(slot) {
                into_row_page(slot);
            } else {
                load.push(rel, slot);
                loaded += 1;
            }
        }
        count_inserts(rel, loaded);
    } else {
        load.count_before(rel, slots);
    }
    load.put_back();
    taken
}

/// Takes rows column by column, as [`insert`] does, if they are enough for a component and none may need a slot: `fill` pushes the values of
/// some of them, all of one column. `bytes` are those of all their values.
pub fn insert_columns(
    rel: &Relation,
    rows: usize,
    bytes: usize,
    mut fill: impl FnMut(usize, Range<usize>, &mut Rows<'_>) -> Result<(), Error>,
) -> bool {
    let mut load = Load::take(rel, xid::current_command());
    let taken = load.takes(rel, rows.max(bytes / ROW_BYTES) as u64)
        && load.width.as_ref().is_some_and(|width| width.fits_any(bytes));
    if taken {
        let leaf = Options::of(rel).leaf_bytes;
        let most = (rows * leaf / PARTS / bytes.max(1)).max(1);
        let mut done = 0;
        while done < rows {
            let count = most.min(rows - done);
            memory::check_for_interrupts();
            done += load.push_columns(rel, count, |at, count, to| fill(at, done..done + count, to));
        }
        count_inserts(rel, rows as i64);
    }
    load.put_back();
    taken
}

/// A part of a leaf that may be added after its bound is reached.
const PARTS: usize = 8;

impl Load {
    /// The load of a command of this subtransaction. While it is being worked on it is in nobody's hands: an error drops it, and with it the
    /// rows of a lost statement.
    fn take(rel: &Relation, cid: u32) -> Load {
        let of = Statement {
            file: rel.file(),
            subxact: xid::current_subtransaction(),
            cid,
        };
        let load = take_one(|load| load.of == of).unwrap_or_else(|| {
            // Who inserts without the executor, as logical replication does, ends no command: those that came to nothing
            // would be many.
            take(|load| load.of.is_beside(of) && load.is_idle());
            Load {
                relid: rel.id(),
                of,
                xid: pg_sys::InvalidTransactionId,
                rows_before: 0,
                bytes_before: 0,
                writer: None,
                width: None,
                has_keys: false,
                next_block: 0,
                end_block: 0,
                next_offset: 1,
                last_reserved: 0,
                early: 0,
                lost: false,
            }
        });
        load.check(rel);
        load
    }

    fn put_back(self) {
        LOADS.with(|loads| loads.borrow_mut().push(self));
    }

    /// Whether it is (now) one of many rows, of which so many more have come.
    fn takes(&mut self, rel: &Relation, more: u64) -> bool {
        if self.writer.is_some() {
            return true;
        }
        if !self.is_large(more) || self.early >= MOST_EARLY {
            return false;
        }
        // Before slots are looked for: one that is made later waits for the transaction. And before anything is taken for the load: VACUUM tells a load in
        // progress from one that failed by it.
        self.xid = xid::assign();
        let takes = hindrance(rel).is_none();
        if takes {
            self.writer = Some(ComponentWriter::new(rel, Options::of(rel), None));
            self.width = Some(Width::of(rel));
            self.has_keys = !rel.all_indexes(|index| !index.is_unique);
        }
        takes
    }
}

/// Why statements of many rows go through row pages, if they do: rows may not be invisible to everyone until they end.
pub fn hindrance(rel: &Relation) -> Option<&'static str> {
    if rel.is_logically_logged() {
        if has_logical_slot() {
            return Some("a logical replication slot of the database may ask for them");
        }
        if guc::standbys_decode() {
            return Some("wal_level is logical, and a standby may have logical replication slots");
        }
    }
    if !rel.all_indexes(|index| !index.is_exclusion) {
        return Some("the table has an exclusion constraint");
    }
    // It may be summarizing a range whose rows it cannot see yet.
    (!rel.all_indexes(|index| index.method != pg_sys::BRIN_AM_OID)).then_some("the table has a BRIN index")
}

/// What a row has, in the mean, that `amax.bulk_threshold` counts: fewer are as many if they are larger.
const ROW_BYTES: usize = 512;

impl Load {
    /// Whether so much came before that what follows is worth a component, or comes now.
    fn is_large(&self, more: u64) -> bool {
        let threshold = guc::bulk_threshold();
        self.rows_before + more >= threshold || self.bytes_before >= threshold as usize * ROW_BYTES
    }

    fn count_before(&mut self, rel: &Relation, slots: &[&Slot]) {
        self.rows_before += slots.len() as u64;
        if !self.is_large(0) {
            let bytes = slots.iter().map(|slot| slot.values().varying_bytes(rel.desc()));
            self.bytes_before += bytes.sum::<usize>();
        }
    }

    /// Whether the row is left to heap, which may refuse it. Makes the slot's attributes valid.
    fn is_too_wide(&self, slot: &Slot) -> bool {
        let width = self.width.as_ref();
        width.is_some_and(|width| width.is_for_heap(slot.values()))
    }

    /// Writes the row of a slot whose attributes are valid.
    fn push(&mut self, rel: &Relation, slot: &Slot) {
        self.place(rel);
        let (v, offset) = (self.next_block, self.next_offset);
        // The component's origin says whose they are.
        self.writer().push(rel, key(v, offset), FROZEN, slot.values());
        self.next_offset += 1;
        slot.set_tid(new_tid(v, offset));
        slot.set_table(rel.id());
        slot::set_loaded(slot, self.origin());
    }

    /// Writes the first of so many rows column by column; how many they were, one at least.
    fn push_columns(
        &mut self,
        rel: &Relation,
        rows: usize,
        mut fill: impl FnMut(usize, usize, &mut Rows<'_>) -> Result<(), Error>,
    ) -> usize {
        self.place(rel);
        let (v, offset) = (self.next_block, self.next_offset);
        let count = rows.min(usize::from(MAX_OFFSET + 1 - offset));
        let keys = key(v, offset)..=key(v, offset + count as u16 - 1);
        self.writer().push_rows(rel, keys, FROZEN, |at, to| fill(at, count, to));
        self.next_offset += count as u16;
        count
    }

    fn writer(&mut self) -> &mut ComponentWriter {
        self.writer.as_mut().expect("a load that takes rows has a writer")
    }

    /// There is a place for the next row.
    fn place(&mut self, rel: &Relation) {
        let rows = self.next_offset - 1;
        if self.writer().ends_block(rows) {
            self.next_block += 1;
            self.next_offset = 1;
        }
        if self.next_block >= self.end_block {
            let count = (self.last_reserved * 2).clamp(1, MOST_BLOCKS);
            self.next_block = match self.has_keys {
                true => manifest::reserve_for_load(rel, full_xid(self.xid), count),
                false => meta::reserve(rel, count),
            };
            self.end_block = self.next_block + count;
            self.last_reserved = count;
            self.next_offset = 1;
        }
        let v = self.next_block;
        self.writer().own(v);
    }

    fn origin(&self) -> Origin {
        Origin {
            xid: self.xid.into_inner(),
            cmin: self.of.cid,
            settled: false,
        }
    }

    /// Whether nothing was loaded so far.
    fn is_idle(&self) -> bool {
        self.writer.is_none() && self.early == 0 && !self.lost
    }

    /// Whether it has rows to publish that the snapshot may see.
    fn is_seen_by(&self, snapshot: Option<&Snapshot>) -> bool {
        self.writer.is_some() && snapshot.is_none_or(|s| !s.is_mvcc() || s.command() > self.of.cid)
    }

    /// Raises an error if rows of it were lost.
    fn check(&self, rel: &Relation) {
        if self.lost {
            ereport!(
                ERROR,
                PgSqlErrorCode::ERRCODE_INVALID_TRANSACTION_STATE,
                format!(
                    "rows that were to be loaded into relation \"{}\" have been lost with an error",
                    rel.name()
                )
            );
        }
    }

    /// Makes the rows written so far a component.
    fn publish(&mut self, rel: &Relation) {
        self.check(rel);
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        if writer.rows() == 0 {
            return;
        }
        // This stays behind if there is an error.
        let of = self.of;
        self.lost = true;
        LOADS.with(|loads| {
            loads.borrow_mut().push(Load {
                writer: None,
                width: None,
                ..*self
            })
        });
        // All blocks reserved are the component's; what follows starts in one of its own.
        (self.next_block..self.end_block).for_each(|v| writer.own(v));
        self.next_block = self.end_block;
        let (component, free, _) = writer.finish(rel, Some(self.origin()));
        fault("load_written");
        manifest::publish(rel, |manifest| {
            manifest.free.give_all(&free);
            manifest.loaded(&component.blocks);
            manifest.add(component);
        });
        fault("load_published");
        take(|load| load.of == of);
        self.lost = false;
        check_readers(rel);
    }
}

/// Publishes what the current transaction has loaded into the relation, if the snapshot may see it: before anything is read
/// with it.
#[inline]
pub fn publish_for(rel: &Relation, snapshot: Option<&Snapshot>) {
    if !idle() {
        publish_seen(rel, snapshot);
    }
}

fn publish_seen(rel: &Relation, snapshot: Option<&Snapshot>) {
    let file = rel.file();
    let sees = |load: &Load| load.of.file == file && load.is_seen_by(snapshot);
    while let Some(mut load) = take_one(sees) {
        load.publish(rel);
        load.early += 1;
        LOADS.with(|loads| loads.borrow_mut().push(load));
    }
}

/// Whether nothing has been loaded that is not published.
pub fn idle() -> bool {
    LOADS.with(|loads| loads.borrow().is_empty())
}

/// The statement's end for one relation (table_finish_bulk_insert()).
pub fn finish(rel: &Relation) {
    let file = rel.file();
    while let Some(mut load) = take_one(|load| load.of.file == file) {
        load.publish(rel);
    }
}

/// The relation's file is about to be emptied.
pub fn discard(rel: &Relation) {
    let file = rel.file();
    drop(take(|load| load.of.file == file));
}

/// Workers are about to read with a snapshot, and know nothing of what is not published.
pub fn finish_for_workers(snapshot: Option<&Snapshot>) {
    finish_all(|load| load.is_seen_by(snapshot));
}

/// The end of a command: its loads are published.
pub fn finish_command(cid: u32) {
    finish_all(|load| load.of.cid == cid);
}

/// The end of a transaction or, of its own loads only, a subtransaction.
pub fn finish_transaction(subxact: Option<pg_sys::SubTransactionId>) {
    finish_all(|load| subxact.is_none_or(|s| load.of.subxact >= s));
}

fn finish_all(wanted: impl Fn(&Load) -> bool) {
    while let Some(mut load) = take_one(&wanted) {
        if load.writer.is_none() && !load.lost {
            continue;
        }
        let Some(rel) = Borrowed::find(load.relid) else {
            continue;
        };
        // The relation may have been rewritten or truncated since: then the rows are gone with the old file.
        if rel.file() == load.of.file {
            load.publish(&rel);
        }
    }
}

/// Forgets the loads of an aborted subtransaction, or all.
pub fn forget(subxact: Option<pg_sys::SubTransactionId>) {
    drop(take(|load| subxact.is_none_or(|s| load.of.subxact >= s)));
}

/// The others stay in case that it cannot be published.
fn take_one(wanted: impl Fn(&Load) -> bool) -> Option<Load> {
    LOADS.with(|loads| {
        let mut loads = loads.borrow_mut();
        let at = loads.iter().position(wanted)?;
        Some(loads.swap_remove(at))
    })
}

fn take(wanted: impl Fn(&Load) -> bool) -> Vec<Load> {
    LOADS.with(|loads| {
        let mut loads = loads.borrow_mut();
        let (taken, left) = std::mem::take(&mut *loads).into_iter().partition(|load| wanted(load));
        *loads = left;
        taken
    })
}
