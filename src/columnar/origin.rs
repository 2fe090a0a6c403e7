//! Visibility of a component that was loaded in bulk: that of a row inserted by its transaction.

use crate::pg::snapshot::may_hide;
use crate::storage::buffer::Pin;
use crate::storage::meta;
use crate::storage::rowpage::set_tid;
use amax_lsm::Origin;
use pgrx::pg_sys;

/// Runs `f` on a heap tuple that the origin's transaction inserted, with a locked page for its hint bits to be written
/// for: the metapage. So every kind of snapshot is judged by PostgreSQL's own code.
unsafe fn as_tuple<R>(
    rel: pg_sys::Relation,
    origin: &Origin,
    f: impl FnOnce(&mut pg_sys::HeapTupleData, pg_sys::Buffer) -> R,
) -> R {
    let mut header: pg_sys::HeapTupleHeaderData = std::mem::zeroed();
    header.t_choice.t_heap.t_xmin = pg_sys::TransactionId::from(origin.xid);
    header.t_choice.t_heap.t_field3.t_cid = origin.cmin;
    header.t_infomask = pg_sys::HEAP_XMAX_INVALID as u16;
    set_tid(&mut header.t_ctid, 0, 1);
    let mut tuple = pg_sys::HeapTupleData {
        t_len: std::mem::size_of_val(&header) as u32,
        t_self: header.t_ctid,
        t_tableOid: (*rel).rd_id,
        t_data: &mut header,
    };
    let pin = Pin::read(rel, meta::BLOCK);
    let _lock = pin.share();
    f(&mut tuple, pin.buffer())
}

pub fn visible(rel: pg_sys::Relation, origin: &Option<Origin>, snapshot: pg_sys::Snapshot) -> bool {
    let Some(origin) = origin else { return true };
    // Older than all that the snapshot may not see.
    if origin.settled && unsafe { !may_hide(snapshot, origin.xid) } {
        return true;
    }
    unsafe {
        as_tuple(rel, origin, |tuple, buffer| {
            let valid = pg_sys::HeapTupleSatisfiesVisibility(tuple, snapshot, buffer);
            pg_sys::HeapCheckForSerializableConflictOut(valid, rel, tuple, buffer, snapshot);
            valid
        })
    }
}

/// State of the component's rows for VACUUM and index builds.
pub fn vacuum_state(
    rel: pg_sys::Relation,
    origin: &Option<Origin>,
    oldest_xmin: pg_sys::TransactionId,
) -> pg_sys::HTSV_Result::Type {
    match origin {
        None | Some(Origin { settled: true, .. }) => pg_sys::HTSV_Result::HEAPTUPLE_LIVE,
        Some(origin) => unsafe {
            as_tuple(rel, origin, |tuple, buffer| {
                pg_sys::HeapTupleSatisfiesVacuum(tuple, oldest_xmin, buffer)
            })
        },
    }
}
