//! Transaction ids that nobody looks behind any more: here, and on standbys, whose snapshots have to make way.

use super::relation::Relation;
use super::settings::wal_level;
use pgrx::pg_sys;

/// Has standbys cancel queries whose snapshots may need what is about to go: all those not past `xid`. nbtree's record
/// for reused pages says just that (nbtpage.c), and needs no code of ours on the standby.
fn conflict(rel: &Relation, full_xid: u64) {
    if !rel.is_permanent() || wal_level() < pg_sys::WalLevel::WAL_LEVEL_REPLICA {
        return;
    }
    let xid = pg_sys::FullTransactionId { value: full_xid };
    #[cfg(feature = "pg15")]
    let mut record = pg_sys::xl_btree_reuse_page {
        node: rel.locator(),
        block: 0,
        latestRemovedFullXid: xid,
    };
    #[cfg(not(feature = "pg15"))]
    let mut record = pg_sys::xl_btree_reuse_page {
        locator: rel.locator(),
        block: 0,
        snapshotConflictHorizon: xid,
        isCatalogRel: false,
    };
    // nbtxlog.h: SizeOfBtreeReusePage leaves out trailing padding.
    #[cfg(feature = "pg15")]
    let size = std::mem::size_of_val(&record);
    #[cfg(not(feature = "pg15"))]
    let size = std::mem::offset_of!(pg_sys::xl_btree_reuse_page, isCatalogRel) + 1;
    const XLOG_BTREE_REUSE_PAGE: u8 = 0xD0;
    // SAFETY: a record of the form that nbtree's replay expects; it names no buffer.
    unsafe {
        pg_sys::XLogBeginInsert();
        pg_sys::XLogRegisterData(&raw mut record as *mut _, size.try_into().expect("a small record"));
        pg_sys::XLogInsert(pg_sys::RmgrIds::RM_BTREE_ID as u8, XLOG_BTREE_REUSE_PAGE);
    }
}

/// [`conflict`] with the snapshots whose xmin is older than `xmin`. The one that is as old has no conflict: with
/// hot_standby_feedback it is often the standby's own that our horizon waits for (heap_xlog_freeze_page() steps back by
/// one as well).
pub fn conflict_older(rel: &Relation, xmin: pg_sys::TransactionId) {
    conflict(rel, full_xid(before(xmin)));
}

/// Whether all transactions that were under way when `safexid` was the next id have ended, and no snapshot is as old.
pub fn removable(rel: &Relation, safexid: u64) -> bool {
    let xid = pg_sys::FullTransactionId { value: safexid };
    // SAFETY: an open relation.
    unsafe { pg_sys::GlobalVisTestIsRemovableFullXid(pg_sys::GlobalVisTestFor(rel.raw()), xid) }
}

/// TransactionIdRetreat() (transam.h).
pub fn before(xid: pg_sys::TransactionId) -> pg_sys::TransactionId {
    let mut xid = xid.into_inner().wrapping_sub(1);
    while xid < pg_sys::FirstNormalTransactionId.into_inner() {
        xid = xid.wrapping_sub(1);
    }
    pg_sys::TransactionId::from(xid)
}

/// The 64-bit form of a transaction id that is not in the future.
pub fn full_xid(xid: pg_sys::TransactionId) -> u64 {
    let next = super::xid::next_full();
    let low = u64::from(xid.into_inner());
    let full = next & !0xffff_ffff | low;
    if full > next { full.wrapping_sub(1 << 32) } else { full }
}
