//! heap_insert() and its like, at physical TIDs, with the table's size physical to them.

use crate::disguise::size::Physical;
use crate::pg::{Pin, Relation, Slot, Snapshot, Tuple};
use pgrx::pg_sys;
use std::ptr::null_mut;

/// How rows are inserted: the command, its options, and what a bulk insertion keeps between rows.
#[derive(Clone, Copy)]
pub struct Insertion {
    pub cid: pg_sys::CommandId,
    pub options: i32,
    state: *mut pg_sys::BulkInsertStateData,
}

impl Insertion {
    /// # Safety
    /// The state is PostgreSQL's, or null, and stays for as long as this is used.
    pub unsafe fn of(cid: pg_sys::CommandId, options: i32, state: *mut pg_sys::BulkInsertStateData) -> Insertion {
        Insertion { cid, options, state }
    }

    pub fn has(self, option: u32) -> bool {
        self.options & option as i32 != 0
    }

    pub fn with(self, option: u32) -> Insertion {
        Insertion {
            options: self.options | option as i32,
            ..self
        }
    }

    pub fn without(self, option: u32) -> Insertion {
        Insertion {
            options: self.options & !(option as i32),
            ..self
        }
    }
}

/// Sets the tuple's TID.
pub fn insert(rel: &Relation, tuple: &mut Tuple, how: Insertion) {
    let _size = Physical::enter();
    // SAFETY: a whole tuple.
    unsafe { pg_sys::heap_insert(rel.raw(), tuple.raw(), how.cid, how.options, how.state) }
}

/// Sets the slots' TIDs.
pub fn multi_insert(rel: &Relation, slots: &[&Slot], how: Insertion) {
    let _size = Physical::enter();
    // A handle is a pointer to the slot.
    let list = slots.as_ptr().cast_mut().cast::<*mut pg_sys::TupleTableSlot>();
    // SAFETY: so many slots with rows of the table.
    unsafe { pg_sys::heap_multi_insert(rel.raw(), list, slots.len() as i32, how.cid, how.options, how.state) }
}

pub fn finish_speculative(rel: &Relation, mut tid: pg_sys::ItemPointerData) {
    let _size = Physical::enter();
    // SAFETY: of a tuple that this transaction has inserted.
    unsafe { pg_sys::heap_finish_speculative(rel.raw(), &mut tid) }
}

pub fn abort_speculative(rel: &Relation, mut tid: pg_sys::ItemPointerData) {
    let _size = Physical::enter();
    // SAFETY: of a tuple that this transaction has inserted.
    unsafe { pg_sys::heap_abort_speculative(rel.raw(), &mut tid) }
}

/// What the change of a row goes by.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    pub cid: pg_sys::CommandId,
    pub crosscheck: Option<&'a Snapshot>,
    pub wait: bool,
}

impl Change<'_> {
    fn crosscheck(self) -> pg_sys::Snapshot {
        self.crosscheck.map_or(null_mut(), Snapshot::raw)
    }
}

pub fn delete(
    rel: &Relation,
    mut tid: pg_sys::ItemPointerData,
    how: Change,
    failure: &mut pg_sys::TM_FailureData,
    changing_partition: bool,
) -> pg_sys::TM_Result::Type {
    let _size = Physical::enter();
    let crosscheck = how.crosscheck();
    // SAFETY: heap looks the TID up.
    unsafe {
        pg_sys::heap_delete(
            rel.raw(),
            &mut tid,
            how.cid,
            crosscheck,
            how.wait,
            failure,
            changing_partition,
        )
    }
}

#[cfg(feature = "pg15")]
pub type UpdateIndexes = bool;
#[cfg(not(feature = "pg15"))]
pub type UpdateIndexes = pg_sys::TU_UpdateIndexes::Type;

/// Sets the new version's TID. `indexes` says since 16 which indexes need entries for it.
pub fn update(
    rel: &Relation,
    mut tid: pg_sys::ItemPointerData,
    new: &mut Tuple,
    how: Change,
    failure: &mut pg_sys::TM_FailureData,
    lock: &mut pg_sys::LockTupleMode::Type,
    indexes: &mut UpdateIndexes,
) -> pg_sys::TM_Result::Type {
    let _size = Physical::enter();
    #[cfg(feature = "pg15")]
    let _ = indexes;
    // SAFETY: heap looks the TID up; a whole tuple.
    unsafe {
        pg_sys::heap_update(
            rel.raw(),
            &mut tid,
            new.raw(),
            how.cid,
            how.crosscheck(),
            how.wait,
            failure,
            lock,
            #[cfg(not(feature = "pg15"))]
            indexes,
        )
    }
}

/// How a row is locked.
#[derive(Clone, Copy)]
pub struct Locking {
    pub cid: pg_sys::CommandId,
    pub mode: pg_sys::LockTupleMode::Type,
    pub policy: pg_sys::LockWaitPolicy::Type,
    pub follow_updates: bool,
}

/// The tuple is on the pinned page.
pub fn lock<'a>(
    rel: &Relation,
    tid: pg_sys::ItemPointerData,
    how: Locking,
    failure: &mut pg_sys::TM_FailureData,
) -> (pg_sys::TM_Result::Type, Tuple<'a>, Pin) {
    let mut tuple = pg_sys::HeapTupleData {
        t_self: tid,
        ..Default::default()
    };
    let mut buffer = 0;
    let _size = Physical::enter();
    // SAFETY: heap looks the TID up, and pins the page for us.
    unsafe {
        let (tuple_at, follow) = (&mut tuple, how.follow_updates);
        let result = pg_sys::heap_lock_tuple(
            rel.raw(),
            tuple_at,
            how.cid,
            how.mode,
            how.policy,
            follow,
            &mut buffer,
            failure,
        );
        tuple.t_tableOid = rel.id();
        (result, Tuple::of(tuple), Pin::adopt(buffer))
    }
}

/// heap_fetch(): the tuple if the snapshot sees it, with the pin of its page.
pub fn fetch<'a>(rel: &Relation, tid: pg_sys::ItemPointerData, snapshot: &Snapshot) -> Option<(Tuple<'a>, Pin)> {
    let mut tuple = pg_sys::HeapTupleData {
        t_self: tid,
        ..Default::default()
    };
    let mut buffer = 0;
    // SAFETY: heap looks the TID up, and pins the page for us if it finds the tuple.
    unsafe {
        let found = pg_sys::heap_fetch(rel.raw(), snapshot.raw(), &mut tuple, &mut buffer, false);
        found.then(|| (Tuple::of(tuple), Pin::adopt(buffer)))
    }
}

/// heap_hot_search_buffer(), under the page's lock: the member of the HOT chain at `tid` that the snapshot sees; sets the
/// offset to its own. `all_dead` is set if the whole chain is dead to everyone.
pub fn search_chain<'a>(
    rel: &Relation,
    pin: &'a Pin,
    tid: &mut pg_sys::ItemPointerData,
    snapshot: &Snapshot,
    all_dead: Option<&mut bool>,
    first: bool,
) -> Option<Tuple<'a>> {
    let mut tuple = pg_sys::HeapTupleData::default();
    let all_dead = all_dead.map_or(null_mut(), |all_dead| all_dead);
    // SAFETY: a page that the caller has pinned and locked.
    unsafe {
        let (buffer, snapshot) = (pin.buffer(), snapshot.raw());
        pg_sys::heap_hot_search_buffer(tid, rel.raw(), buffer, snapshot, &mut tuple, all_dead, first)
            .then(|| Tuple::of(tuple))
    }
}

/// heap_index_delete_tuples(), for entries with physical TIDs.
pub fn index_delete_tuples(rel: &Relation, op: &mut pg_sys::TM_IndexDeleteOp) -> pg_sys::TransactionId {
    let _size = Physical::enter();
    // SAFETY: PostgreSQL's struct, whose arrays have so many entries.
    unsafe { pg_sys::heap_index_delete_tuples(rel.raw(), op) }
}
