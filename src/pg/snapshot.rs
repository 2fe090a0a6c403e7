//! What kind of snapshot one is, what it may hide, and the locks with which a serializable transaction reads (SSI).

use amax_lsm::xids::precedes;
use pgrx::pg_sys;

pub unsafe fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType::*;
    matches!((*snapshot).snapshot_type, SNAPSHOT_MVCC | SNAPSHOT_HISTORIC_MVCC)
}

/// Whether the snapshot may be too old to see what a committed transaction did.
pub unsafe fn may_hide(snapshot: pg_sys::Snapshot, xid: u32) -> bool {
    (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC && !precedes(xid, (*snapshot).xmin.into_inner())
}

/// IsolationIsSerializable() (xact.h).
pub fn is_serializable() -> bool {
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// SSI: a lock on the whole relation (invariant T3). Rows of components have no other.
pub unsafe fn predicate_lock(rel: pg_sys::Relation, snapshot: pg_sys::Snapshot) {
    if !snapshot.is_null() && is_mvcc(snapshot) {
        pg_sys::PredicateLockRelation(rel, snapshot);
    }
}

/// For SSI: whoever has put rows where readers of the table did not find them calls this once they do. Those who have
/// looked before have a lock on the relation.
pub unsafe fn check_readers(rel: pg_sys::Relation) {
    pg_sys::CheckForSerializableConflictIn(rel, std::ptr::null_mut(), pg_sys::InvalidBlockNumber);
}
