//! What heap's tuples say of themselves (htup_details.h), with TIDs translated.

use crate::pg::tuple::Header;
use crate::pg::{Relation, Tuple, xid};
use crate::storage::map;
use crate::storage::rowpage::{new_tid, tid_block};
use pgrx::pg_sys;

/// The widest tuple that a page holds (MaxHeapTupleSize).
pub const MOST: usize = 8160;

/// Where a tuple's next version is (logical TID), and the transaction that made it.
pub fn next_version(
    rel: &Relation,
    tuple: Header,
    own: &pg_sys::ItemPointerData,
) -> Option<(pg_sys::ItemPointerData, pg_sys::TransactionId)> {
    let link = tuple.next();
    const NONE: u32 = pg_sys::HEAP_XMAX_LOCK_ONLY | pg_sys::HEAP_XMAX_INVALID;
    let is_last =
        u32::from(tuple.infomask()) & NONE != 0 || link.ip_posid == own.ip_posid && tid_block(&link) == tid_block(own);
    if is_last || moved_partitions(&link) {
        return None;
    }
    let v = map::logical(rel, tid_block(&link))?;
    Some((new_tid(v, link.ip_posid), tuple.update_xid()))
}

/// ItemPointerIndicatesMovedPartitions().
pub fn moved_partitions(tid: &pg_sys::ItemPointerData) -> bool {
    tid.ip_posid == 0xfffd && tid_block(tid) == pg_sys::InvalidBlockNumber
}

/// Inserts a tuple that every snapshot sees, and that logical decoding leaves out; sets its (physical) TID.
pub fn insert_frozen(rel: &Relation, tuple: &mut Tuple) {
    let options = pg_sys::HEAP_INSERT_FROZEN | pg_sys::HEAP_INSERT_NO_LOGICAL;
    let cid = xid::current_command();
    // SAFETY: a whole tuple.
    unsafe { pg_sys::heap_insert(rel.raw(), tuple.raw(), cid, options as i32, std::ptr::null_mut()) }
}
