//! What heap's tuples say of themselves (htup_details.h), with TIDs translated.

use crate::pg::tuple::Header;
use crate::pg::{PageMut, Relation, Tuple, xid};
use crate::storage::map;
use crate::storage::rowpage::{heap_tuple_of, new_tid, tid_block};
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

/// Puts such a tuple on a copy of row page `block`, which has room for it (heap_prepare_insert(), RelationPutHeapTuple()); its offset. None if the page has
/// no line pointer left.
pub fn put_frozen(rel: &Relation, page: &mut PageMut, block: u32, tuple: &mut Tuple) -> Option<u16> {
    const FROZEN: u32 = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID | pg_sys::HEAP_XMAX_INVALID;
    let header = tuple.header_mut();
    header.t_infomask = header.t_infomask & !(pg_sys::HEAP_XACT_MASK as u16) | FROZEN as u16;
    header.t_infomask2 &= !(pg_sys::HEAP2_XACT_MASK as u16);
    header.t_choice.t_heap = pg_sys::HeapTupleFields {
        t_xmin: pg_sys::FrozenTransactionId,
        t_xmax: pg_sys::InvalidTransactionId,
        ..Default::default()
    };
    let offset = tuple.put_on(page)?;
    let mut put = heap_tuple_of(rel, **page, block, offset).expect("it has just been put there");
    put.header_mut().t_ctid = new_tid(block, offset);
    Some(offset)
}
