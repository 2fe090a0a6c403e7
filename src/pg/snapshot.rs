//! What kind of snapshot one is, what it may hide, and the locks with which a serializable transaction reads (SSI).

use super::handle::handle;
use super::relation::Relation;
use amax_lsm::xids::precedes;
use pg_sys::SnapshotType::*;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ops::Deref;

handle! {
    /// A snapshot that somebody has registered or owns.
    Snapshot, pg_sys::SnapshotData
}

impl Snapshot {
    /// The same as [`Snapshot::of`], of one that may be null.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn of_any<'a>(raw: *mut pg_sys::SnapshotData) -> Option<&'a Snapshot> {
        // SAFETY: as the caller promises.
        (!raw.is_null()).then(|| unsafe { Snapshot::of(raw) })
    }

    pub fn kind(&self) -> pg_sys::SnapshotType::Type {
        // SAFETY: a field.
        unsafe { (*self.raw()).snapshot_type }
    }

    /// Whether it sees every version that there is.
    pub fn is_any(&self) -> bool {
        self.kind() == pg_sys::SnapshotType::SNAPSHOT_ANY
    }

    pub fn is_mvcc(&self) -> bool {
        matches!(self.kind(), SNAPSHOT_MVCC | SNAPSHOT_HISTORIC_MVCC)
    }

    /// Whether the snapshot may be too old to see what a committed transaction did.
    pub fn may_hide(&self, xid: u32) -> bool {
        // SAFETY: a field.
        self.kind() == SNAPSHOT_MVCC && !precedes(xid, unsafe { (*self.raw()).xmin }.into_inner())
    }

    /// XidInMVCCSnapshot(): whether the transaction was under way.
    pub fn has_under_way(&self, xid: u32) -> bool {
        // SAFETY: an MVCC snapshot's arrays are looked at.
        self.is_mvcc() && unsafe { pg_sys::XidInMVCCSnapshot(pg_sys::TransactionId::from(xid), self.raw()) }
    }

    /// The command that it is of: what later ones of the transaction do is hidden.
    pub fn command(&self) -> pg_sys::CommandId {
        // SAFETY: a field.
        unsafe { (*self.raw()).curcid }
    }

    /// What a dirty snapshot tells of the last tuple looked at: who is inserting it, who is deleting it.
    pub fn under_way(&self) -> (pg_sys::TransactionId, pg_sys::TransactionId) {
        // SAFETY: fields.
        unsafe { ((*self.raw()).xmin, (*self.raw()).xmax) }
    }

    /// A dirty snapshot tells of the last tuple looked at. That must not stand when the row looked at has none
    /// (HeapTupleSatisfiesDirty() clears it for every tuple).
    pub fn reset_dirty(&self) {
        self.set_inserting(pg_sys::InvalidTransactionId);
    }

    /// Whether it sees what transactions of others are inserting, but for whom it tells that ([`Self::set_inserting`]).
    pub fn sees_in_progress(&self) -> bool {
        matches!(self.kind(), SNAPSHOT_DIRTY | SNAPSHOT_NON_VACUUMABLE)
    }

    /// Tells a dirty snapshot that the last tuple looked at is being inserted by this transaction, for good, and deleted by
    /// nobody.
    pub fn set_inserting(&self, xid: pg_sys::TransactionId) {
        if self.kind() == SNAPSHOT_DIRTY {
            // SAFETY: fields, which are there to be written.
            unsafe {
                (*self.raw()).xmin = xid;
                (*self.raw()).xmax = pg_sys::InvalidTransactionId;
                (*self.raw()).speculativeToken = 0;
            }
        }
    }
}

/// A snapshot of our own, of another kind than MVCC.
pub struct Own(UnsafeCell<pg_sys::SnapshotData>);

impl Own {
    pub fn of_kind(kind: pg_sys::SnapshotType::Type) -> Own {
        // SAFETY: numbers and pointers, of which these kinds use none.
        let mut snapshot: pg_sys::SnapshotData = unsafe { std::mem::zeroed() };
        snapshot.snapshot_type = kind;
        Own(UnsafeCell::new(snapshot))
    }
}

impl Deref for Own {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        // SAFETY: it lives as long as it is borrowed.
        unsafe { Snapshot::of(self.0.get()) }
    }
}

/// SnapshotAny.
pub fn any() -> &'static Snapshot {
    // SAFETY: a global, which is never changed.
    unsafe { Snapshot::of(&raw mut pg_sys::SnapshotAnyData) }
}

/// The active snapshot, as long as it is.
pub fn active<'a>() -> &'a Snapshot {
    // SAFETY: a query that runs has one.
    unsafe { Snapshot::of(pg_sys::GetActiveSnapshot()) }
}

/// Gives up the snapshot that the catalogs were last read with, which holds back what others may give up. For what takes long.
pub fn forget_catalog() {
    // SAFETY: the next look at a catalog takes another.
    unsafe { pg_sys::InvalidateCatalogSnapshot() }
}

/// A snapshot that we have made active; no longer active once dropped.
pub struct Active(());

impl Active {
    pub fn of_transaction() -> Active {
        // SAFETY: in a transaction.
        unsafe { pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot()) };
        Active(())
    }

    /// One that sees what the transaction's commands before this one did, and otherwise what the active one does.
    pub fn of_command() -> Active {
        // SAFETY: there is one to copy.
        unsafe {
            assert!(pg_sys::ActiveSnapshotSet());
            pg_sys::PushCopiedSnapshot(pg_sys::GetActiveSnapshot());
            pg_sys::UpdateActiveSnapshotCommandId();
        }
        Active(())
    }

    pub fn of(snapshot: &Snapshot) -> Active {
        // SAFETY: a live snapshot, which snapmgr.c counts or copies.
        unsafe { pg_sys::PushActiveSnapshot(snapshot.raw()) };
        Active(())
    }

    /// The snapshot that is active now.
    pub fn get(&self) -> &Snapshot {
        active()
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the one that we have pushed. After an error the abort does it.
            unsafe { pg_sys::PopActiveSnapshot() }
        }
    }
}

/// IsolationIsSerializable() (xact.h).
pub fn is_serializable() -> bool {
    // SAFETY: a setting.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// SSI: a lock on the whole relation (invariant T3). Rows of components have no other.
pub fn predicate_lock(rel: &Relation, snapshot: &Snapshot) {
    if snapshot.is_mvcc() {
        // SAFETY: both are live.
        unsafe { pg_sys::PredicateLockRelation(rel.raw(), snapshot.raw()) }
    }
}

/// SSI: a lock on the TID of a row.
pub fn predicate_lock_tid(rel: &Relation, mut tid: pg_sys::ItemPointerData, snapshot: &Snapshot) {
    if !is_serializable() {
        return;
    }
    // SAFETY: both are live; the last argument is nobody's id.
    unsafe { pg_sys::PredicateLockTID(rel.raw(), &mut tid, snapshot.raw(), pg_sys::FrozenTransactionId) }
}

/// SSI: predicate locks on TIDs and pages become one on the relation, which writers of columnar rows run into.
pub fn widen_predicate_locks(rel: &Relation) {
    // SAFETY: an open relation.
    unsafe { pg_sys::TransferPredicateLocksToHeapRelation(rel.raw()) }
}

/// SSI, for who has changed the row with this TID: readers have locked it.
pub fn check_readers_of(rel: &Relation, mut tid: pg_sys::ItemPointerData) {
    let block = u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo);
    // SAFETY: an open relation.
    unsafe { pg_sys::CheckForSerializableConflictIn(rel.raw(), &mut tid, block) }
}

/// For SSI: whoever has put rows where readers of the table did not find them calls this once they do. Those who have
/// looked before have a lock on the relation.
pub fn check_readers(rel: &Relation) {
    // SAFETY: an open relation.
    unsafe {
        pg_sys::CheckForSerializableConflictIn(rel.raw(), std::ptr::null_mut(), pg_sys::InvalidBlockNumber);
    }
}
