//! What heap's tuples say of themselves (htup_details.h), with TIDs translated.

use crate::storage::map;
use crate::storage::rowpage::{set_tid, tid_block};
use pgrx::pg_sys;

/// The widest tuple that a page holds (MaxHeapTupleSize).
pub const MOST: usize = 8160;

/// HeapTupleHeaderGetXmin(): frozen tuples have no transaction id to match.
pub unsafe fn raw_xmin(tuple: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    const FROZEN: u16 = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
    if (*tuple).t_infomask & FROZEN == FROZEN {
        pg_sys::FrozenTransactionId
    } else {
        (*tuple).t_choice.t_heap.t_xmin
    }
}

/// HeapTupleHeaderGetUpdateXid().
pub unsafe fn update_xid(tuple: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    let mask = u32::from((*tuple).t_infomask);
    let is_multi = mask & pg_sys::HEAP_XMAX_IS_MULTI != 0;
    if mask & pg_sys::HEAP_XMAX_INVALID == 0 && is_multi && mask & pg_sys::HEAP_XMAX_LOCK_ONLY == 0 {
        pg_sys::HeapTupleGetUpdateXid(tuple)
    } else {
        (*tuple).t_choice.t_heap.t_xmax
    }
}

/// Where a tuple's next version is (logical TID), and the transaction that made it.
pub unsafe fn next_version(
    rel: pg_sys::Relation,
    tuple: pg_sys::HeapTupleHeader,
    own: &pg_sys::ItemPointerData,
) -> Option<(pg_sys::ItemPointerData, pg_sys::TransactionId)> {
    let link = (*tuple).t_ctid;
    let only_locked = (*tuple).t_infomask & pg_sys::HEAP_XMAX_LOCK_ONLY as u16 != 0
        || (*tuple).t_infomask & pg_sys::HEAP_XMAX_INVALID as u16 != 0;
    if only_locked || (link.ip_posid == own.ip_posid && tid_block(&link) == tid_block(own)) {
        return None;
    }
    if moved_partitions(&link) {
        return None;
    }
    let xmax = update_xid(tuple);
    let mut to = link;
    set_tid(&mut to, map::logical(rel, tid_block(&link))?, link.ip_posid);
    Some((to, xmax))
}

/// ItemPointerIndicatesMovedPartitions().
pub fn moved_partitions(tid: &pg_sys::ItemPointerData) -> bool {
    tid.ip_posid == 0xfffd && tid_block(tid) == pg_sys::InvalidBlockNumber
}
