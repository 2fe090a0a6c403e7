//! Visibility of a component that was loaded in bulk: that of a row inserted by its transaction.

use crate::pg::tuple::new_header;
use crate::pg::{Pin, Relation, Snapshot, Tuple};
use crate::storage::meta;
use crate::storage::rowpage::set_tid;
use amax_lsm::Origin;
use pgrx::pg_sys;

/// Runs `f` on a heap tuple that the origin's transaction inserted, with a locked page for its hint bits to be written
/// for: the metapage. So every kind of snapshot is judged by PostgreSQL's own code.
fn as_tuple<R>(rel: &Relation, origin: &Origin, f: impl FnOnce(&mut Tuple, pg_sys::Buffer) -> R) -> R {
    let mut header: pg_sys::HeapTupleHeaderData = new_header();
    header.t_choice.t_heap.t_xmin = pg_sys::TransactionId::from(origin.xid);
    header.t_choice.t_heap.t_field3.t_cid = origin.cmin;
    header.t_infomask = pg_sys::HEAP_XMAX_INVALID as u16;
    set_tid(&mut header.t_ctid, 0, 1);
    let mut tuple = Tuple::of_header(&mut header, rel.id());
    let pin = Pin::read(rel, meta::BLOCK);
    let _lock = pin.share();
    f(&mut tuple, pin.buffer())
}

pub fn visible(rel: &Relation, origin: &Option<Origin>, snapshot: &Snapshot) -> bool {
    let Some(origin) = origin else { return true };
    // Older than all that the snapshot may not see.
    if origin.settled && !snapshot.may_hide(origin.xid) {
        return true;
    }
    as_tuple(rel, origin, |tuple, buffer| tuple.is_visible(rel, buffer, snapshot))
}

/// State of the component's rows for VACUUM and index builds.
pub fn vacuum_state(
    rel: &Relation,
    origin: &Option<Origin>,
    oldest_xmin: pg_sys::TransactionId,
) -> pg_sys::HTSV_Result::Type {
    match origin {
        None | Some(Origin { settled: true, .. }) => pg_sys::HTSV_Result::HEAPTUPLE_LIVE,
        Some(origin) => as_tuple(rel, origin, |tuple, buffer| tuple.fate(oldest_xmin, buffer)),
    }
}
