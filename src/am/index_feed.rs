//! Feeding rows to an index build: columnar ones (the columnar half of heapam_index_build_range_scan()), and those that
//! heap's half picks.

pub use super::in_order::Value;

use super::in_order::InOrder;
use crate::columnar::stub::{self, State};
use crate::columnar::{Need, Needs, OpenLeaf, Pick, Row, origin, rows_of_block};
use crate::pg::btree::Btree;
use crate::pg::executor::{holds, per_tuple_context};
use crate::pg::guard::guarded;
use crate::pg::memory::Other;
use crate::pg::settings::own_maintenance_work_mem;
use crate::pg::snapshot::Own;
use crate::pg::state::EState;
use crate::pg::{Pin, Relation, Slot, Snapshot, Tuple, xid};
use crate::storage::manifest::{Replaced, cancel_replaced};
use crate::storage::rowpage::{set_tid, tid_block};
use crate::table::slot;
use amax_lsm::{Component, Origin};
use pgrx::pg_sys;
use std::rc::Rc;
use std::sync::OnceLock;

/// Tells what an index with this struct reads of each of so many attributes; None if that is all.
pub type FindNeeds = unsafe fn(&pg_sys::IndexInfo, usize) -> Option<Vec<Need>>;

/// Set by who knows expressions.
pub static FIND_NEEDS: OnceLock<FindNeeds> = OnceLock::new();

/// What is indexed of rows of a leaf, many at once.
pub trait Compute {
    /// Calls `take` with each of these rows of which the index's predicate is true, by its place among them, and the values
    /// of the index's attributes.
    fn rows(
        &mut self,
        leaf: &Rc<OpenLeaf>,
        origin: Option<Origin>,
        rows: &[u32],
        take: &mut dyn FnMut(usize, &[Value]),
    );
}

/// Makes one for an index of a table with this struct, in an executor state that outlives it; None if there is no such
/// way.
pub type MakeCompute = unsafe fn(&pg_sys::IndexInfo, &'static Relation, &'static EState) -> Option<Box<dyn Compute>>;

/// Set by who knows expressions.
pub static COMPUTE: OnceLock<MakeCompute> = OnceLock::new();

pub struct IndexFeed<'a> {
    rel: &'a Relation,
    index: &'a Relation,
    info: *mut pg_sys::IndexInfo,
    snapshot: &'a Snapshot,
    any_visible: bool,
    estate: *mut pg_sys::EState,
    econtext: *mut pg_sys::ExprContext,
    slot: *mut pg_sys::TupleTableSlot,
    predicate: *mut pg_sys::ExprState,
    /// What of a columnar row is read, if not all.
    needs: Option<Needs>,
    /// What computes columnar rows, if anything does.
    compute: Option<Box<dyn Compute>>,
    /// Rows that are to be handed on in the index's order.
    in_order: Option<InOrder>,
}

/// What becomes of a row.
enum Verdict {
    Skip,
    /// Indexed; `alive` false: it is not checked for uniqueness.
    Index {
        alive: bool,
    },
}

impl<'a> IndexFeed<'a> {
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    pub unsafe fn new(
        rel: &'a Relation,
        index: &'a Relation,
        info: *mut pg_sys::IndexInfo,
        snapshot: &'a Snapshot,
        any_visible: bool,
        participants: usize,
    ) -> IndexFeed<'a> {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            let estate = pg_sys::CreateExecutorState();
            let econtext = per_tuple_context(estate);
            let slot = pg_sys::MakeSingleTupleTableSlot(rel.desc().raw(), slot::ops());
            (*econtext).ecxt_scantuple = slot;
            let predicate = pg_sys::ExecPrepareQual((*info).ii_Predicate, estate);
            // Those made from here on belong to this feed's executor state.
            (*info).ii_ExpressionsState = std::ptr::null_mut();
            let needs = FIND_NEEDS.get().and_then(|find| find(&*info, rel.desc().natts()));
            IndexFeed {
                rel,
                index,
                info,
                snapshot,
                any_visible,
                estate,
                econtext,
                slot,
                predicate,
                needs: needs.map(Needs::new),
                compute: COMPUTE
                    .get()
                    .and_then(|make| make(&*info, Relation::of(rel.raw()), EState::of(estate))),
                // Which of several duplicates is reported goes by the order of rows.
                in_order: Btree::of(index)
                    .filter(|_| !(*info).ii_Unique)
                    .map(|btree| InOrder::new(btree, own_maintenance_work_mem() / participants)),
            }
        }
    }

    /// Indexes the rows of block `v`; returns how many are alive.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    pub unsafe fn block(
        &mut self,
        component: &Component,
        v: u32,
        callback: pg_sys::IndexBuildCallback,
        state: *mut std::ffi::c_void,
    ) -> f64 {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            let mvcc = self.snapshot.is_mvcc();
            let any = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_ANY);
            let snapshot = if mvcc { self.snapshot } else { &any };
            let rows = rows_of_block(self.rel, component, v, snapshot, &Pick::All);
            let rows = rows.unwrap_or_else(|Replaced| cancel_replaced());
            let aliases = rows.aliases();
            // Nothing goes on with rows that everybody sees and that have no stubs, as is usual.
            let plain = mvcc || component.is_settled() && stub::states_of_block(self.rel, v).is_none();
            let mut tuples = 0.0;
            let mut compute = self.compute.take();
            let mut computed = Vec::new();
            for i in 0..rows.len() {
                crate::memory::check_for_interrupts();
                let offset = rows.offset(i);
                let verdict = if plain {
                    Verdict::Index { alive: true }
                } else {
                    self.judge(component, v, offset)
                };
                let Verdict::Index { alive } = verdict else {
                    continue;
                };
                if alive {
                    tuples += 1.0;
                }
                // Entries hold the root of what was the row's HOT chain, in this index as in the others.
                let root = aliases.iter().find(|a| a.1 == offset).map_or(offset, |a| a.0);
                match compute {
                    Some(_) => computed.push((rows.number(i), root, alive)),
                    None => self.feed(rows.row(i), v, root, alive, callback, state),
                }
            }
            if let (Some(compute), Some((leaf, origin))) = (&mut compute, rows.of_leaf()) {
                let numbers: Vec<u32> = computed.iter().map(|row| row.0).collect();
                compute.rows(leaf, origin, &numbers, &mut |row, values| {
                    let (_, root, alive) = computed[row];
                    self.hand(values, (v, root), alive, callback, state);
                });
            }
            self.compute = compute;
            self.clear();
            tuples
        }
    }

    /// Lets go of the last row.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    pub unsafe fn clear(&mut self) {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            crate::pg::executor::clear_slot(self.slot);
        }
    }
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    unsafe fn feed(
        &mut self,
        row: Row,
        v: u32,
        offset: u16,
        alive: bool,
        callback: pg_sys::IndexBuildCallback,
        state: *mut std::ffi::c_void,
    ) {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            let mut tid = pg_sys::ItemPointerData::default();
            set_tid(&mut tid, v, offset);
            let slot = Slot::of(self.slot);
            match &mut self.needs {
                Some(needs) => slot::store_needed(slot, row, tid, self.rel.id(), needs),
                None => slot::store_columnar(slot, row, tid, self.rel.id()),
            }
            self.feed_stored(tid, alive, callback, state);
        }
    }

    /// Indexes a row of a row page, whose logical TID is `own`, as that at `root`.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    pub unsafe fn row_of_page(
        &mut self,
        tuple: Tuple,
        own: pg_sys::ItemPointerData,
        pin: &Pin,
        root: pg_sys::ItemPointerData,
        alive: bool,
        callback: pg_sys::IndexBuildCallback,
        state: *mut std::ffi::c_void,
    ) {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            slot::store_heap(Slot::of(self.slot), tuple, own, pin);
            self.feed_stored(root, alive, callback, state);
        }
    }
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    unsafe fn feed_stored(
        &mut self,
        mut tid: pg_sys::ItemPointerData,
        alive: bool,
        callback: pg_sys::IndexBuildCallback,
        state: *mut std::ffi::c_void,
    ) {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            pg_sys::MemoryContextReset((*self.econtext).ecxt_per_tuple_memory);
            if !holds(self.predicate, self.econtext) {
                return;
            }
            let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
            let mut isnull = [false; pg_sys::INDEX_MAX_KEYS as usize];
            let (values, isnull) = (values.as_mut_ptr(), isnull.as_mut_ptr());
            pg_sys::FormIndexDatum(self.info, self.slot, self.estate, values, isnull);
            if let Some(in_order) = &mut self.in_order {
                let value = match *isnull {
                    true => Value::Null,
                    false => in_order.value(*values, Other::of((*self.econtext).ecxt_per_tuple_memory)),
                };
                return self.hand(&[value], (tid_block(&tid), tid.ip_posid), alive, callback, state);
            }
            call(callback, self.index, &mut tid, values, isnull, alive, state);
        }
    }

    /// Indexes a row with these values.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    unsafe fn hand(
        &mut self,
        row: &[Value],
        (v, offset): (u32, u16),
        alive: bool,
        callback: pg_sys::IndexBuildCallback,
        state: *mut std::ffi::c_void,
    ) {
        // SAFETY: as for `feed_stored`; there are as many values as the index has attributes.
        unsafe {
            if let Some(in_order) = &mut self.in_order {
                if in_order.push(row[0], v, offset, alive) {
                    self.hand_on(callback, state);
                }
                return;
            }
            pg_sys::MemoryContextReset((*self.econtext).ecxt_per_tuple_memory);
            let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
            let mut isnull = [false; pg_sys::INDEX_MAX_KEYS as usize];
            Other::of((*self.econtext).ecxt_per_tuple_memory).within(|| {
                for (at, value) in row.iter().enumerate() {
                    (values[at], isnull[at]) = value.to_datum();
                }
            });
            let mut tid = pg_sys::ItemPointerData::default();
            set_tid(&mut tid, v, offset);
            let (values, isnull) = (values.as_mut_ptr(), isnull.as_mut_ptr());
            call(callback, self.index, &mut tid, values, isnull, alive, state);
        }
    }

    /// Hands on what has been kept for the index's order.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    pub unsafe fn hand_on(&mut self, callback: pg_sys::IndexBuildCallback, state: *mut std::ffi::c_void) {
        let index = self.index;
        let Some(in_order) = &mut self.in_order else { return };
        in_order.hand_on(&mut |mut value, mut null, (v, offset), alive| {
            let mut tid = pg_sys::ItemPointerData::default();
            set_tid(&mut tid, v, offset);
            // SAFETY: as for `feed_stored`; the index has one attribute.
            unsafe { call(callback, index, &mut tid, &mut value, &mut null, alive, state) };
        });
    }

    /// For a build under SnapshotAny, as heap's does for a tuple: waits for transactions whose outcome a uniqueness
    /// check needs.
    ///
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    unsafe fn judge(&self, component: &Component, v: u32, offset: u16) -> Verdict {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            use pg_sys::HTSV_Result::*;
            if self.any_visible {
                return Verdict::Index { alive: true };
            }
            let checks = (*self.info).ii_Unique || !(*self.info).ii_ExclusionOps.is_null();
            let oldest = xid::oldest_xmin(self.rel);
            loop {
                match origin::vacuum_state(self.rel, &component.origin, oldest) {
                    HEAPTUPLE_DEAD => return Verdict::Skip,
                    HEAPTUPLE_INSERT_IN_PROGRESS => {
                        let xid = pg_sys::TransactionId::from(component.origin.expect("in progress").xid);
                        if !xid::is_current(xid) && checks {
                            self.wait(xid, v, offset);
                            continue;
                        }
                    }
                    _ => {}
                }
                let State::At { block, offset: at } = stub::state(self.rel, v, offset) else {
                    // Marked dead rows are not among the rows fed.
                    return Verdict::Index { alive: true };
                };
                let judged = stub::with_tuple(self.rel, (v, offset), (block, at), |tuple, lock| {
                    let state = tuple.fate(oldest, lock.buffer());
                    (state, tuple.header().update_xid())
                });
                return match judged {
                    None | Some((HEAPTUPLE_DEAD, _)) => Verdict::Skip,
                    Some((HEAPTUPLE_RECENTLY_DEAD, _)) => Verdict::Index { alive: false },
                    Some((HEAPTUPLE_DELETE_IN_PROGRESS, xid)) => {
                        if xid::is_current(xid) {
                            Verdict::Index { alive: false }
                        } else if checks {
                            self.wait(xid, v, offset);
                            continue;
                        } else {
                            Verdict::Index { alive: true }
                        }
                    }
                    Some(_) => Verdict::Index { alive: true },
                };
            }
        }
    }
    /// # Safety
    /// PostgreSQL's struct for the build of this index, its callback and the callback's state.
    unsafe fn wait(&self, xid: pg_sys::TransactionId, v: u32, offset: u16) {
        // SAFETY: the executor state and the index's struct are this feed's; PostgreSQL's callback takes what it is given.
        unsafe {
            let mut tid = pg_sys::ItemPointerData::default();
            set_tid(&mut tid, v, offset);
            pg_sys::XactLockTableWait(xid, self.rel.raw(), &mut tid, pg_sys::XLTW_Oper::XLTW_InsertIndexUnique);
        }
    }
}

/// # Safety
/// An index, the callback of its build and the callback's state; a value and whether it is NULL of each of its attributes.
unsafe fn call(
    callback: pg_sys::IndexBuildCallback,
    index: &Relation,
    tid: &mut pg_sys::ItemPointerData,
    values: *mut pg_sys::Datum,
    isnull: *mut bool,
    alive: bool,
    state: *mut std::ffi::c_void,
) {
    let callback = callback.expect("an index build has a callback");
    // SAFETY: as the caller promises.
    unsafe { guarded!(callback(index.raw(), tid, values, isnull, alive, state)) };
}

impl Drop for IndexFeed<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.compute = None;
            // SAFETY: made by us.
            unsafe {
                pg_sys::ExecResetTupleTable((*self.estate).es_tupleTable, false);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::FreeExecutorState(self.estate);
            }
        }
    }
}
