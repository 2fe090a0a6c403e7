//! Heavyweight locks (lmgr.c), released on drop, and whether there are lightweight ones.

use super::relation::Relation;
use pgrx::pg_sys;

/// Whether we hold a lightweight lock, of a page or of shared memory: each holds interrupts off (LWLockAcquire()).
pub fn holds_any() -> bool {
    // SAFETY: a counter of this process.
    unsafe { pg_sys::InterruptHoldoffCount > 0 }
}

/// The relation extension lock.
pub struct Extension<'a>(&'a Relation);

impl Extension<'_> {
    pub fn take(rel: &Relation) -> Extension<'_> {
        // SAFETY: an open relation.
        unsafe { pg_sys::LockRelationForExtension(rel.raw(), pg_sys::ExclusiveLock as i32) };
        Extension(rel)
    }
}

impl Drop for Extension<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: our lock.
            unsafe { pg_sys::UnlockRelationForExtension(self.0.raw(), pg_sys::ExclusiveLock as i32) }
        }
    }
}

/// An exclusive lock on a page's number. Released at the end of the transaction if an error intervenes.
pub struct PageNumber<'a>(&'a Relation, u32);

impl PageNumber<'_> {
    pub fn take(rel: &Relation, block: u32) -> PageNumber<'_> {
        // SAFETY: an open relation.
        unsafe { pg_sys::LockPage(rel.raw(), block, pg_sys::ExclusiveLock as i32) };
        PageNumber(rel, block)
    }

    pub fn try_take(rel: &Relation, block: u32) -> Option<PageNumber<'_>> {
        // SAFETY: an open relation.
        let taken = unsafe { pg_sys::ConditionalLockPage(rel.raw(), block, pg_sys::ExclusiveLock as i32) };
        taken.then(|| PageNumber(rel, block))
    }
}

impl Drop for PageNumber<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: our lock.
            unsafe { pg_sys::UnlockPage(self.0.raw(), self.1, pg_sys::ExclusiveLock as i32) }
        }
    }
}

/// A lock on a relation, which need not be open, released on drop.
pub struct RelationLock(pg_sys::Oid, i32);

impl RelationLock {
    /// If it can be had at once.
    pub fn try_take(relid: pg_sys::Oid, lock: u32) -> Option<RelationLock> {
        try_lock_by_id(relid, lock).then(|| RelationLock(relid, lock as i32))
    }
}

impl Drop for RelationLock {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: our lock.
            unsafe { pg_sys::UnlockRelationOid(self.0, self.1) }
        }
    }
}

/// Whether we have this lock on the relation, or a stronger one.
pub fn is_locked_by_us(rel: &Relation, lock: u32) -> bool {
    // SAFETY: an open relation.
    unsafe { pg_sys::CheckRelationLockedByMe(rel.raw(), lock as i32, true) }
}

/// A lock on the relation to the end of the transaction, if it can be had at once.
pub fn try_lock(rel: &Relation, lock: u32) -> bool {
    // SAFETY: an open relation.
    unsafe { pg_sys::ConditionalLockRelation(rel.raw(), lock as i32) }
}

/// The same of one that is not open.
pub fn try_lock_by_id(relid: pg_sys::Oid, lock: u32) -> bool {
    // SAFETY: a lock is about a number.
    unsafe { pg_sys::ConditionalLockRelationOid(relid, lock as i32) }
}

/// Whether somebody waits for a lock on the relation that this one of ours is in the way of.
pub fn is_waited_for(rel: &Relation, lock: u32) -> bool {
    // SAFETY: an open relation.
    unsafe { pg_sys::LockHasWaitersRelation(rel.raw(), lock as i32) }
}
