//! Settled tuples: those that a flush may write to a component.

use super::tuple::raw_xmin;
use crate::storage::buffer::Pin;
use pgrx::pg_sys;

/// Everyone sees the tuple, and no transaction that has not ended has to do with it.
pub unsafe fn settled(tuple: &mut pg_sys::HeapTupleData, pin: &Pin, oldest_xmin: pg_sys::TransactionId) -> bool {
    let state = pg_sys::HeapTupleSatisfiesVacuum(tuple, oldest_xmin, pin.buffer());
    state == pg_sys::HTSV_Result::HEAPTUPLE_LIVE && is_settled(tuple.t_data, oldest_xmin)
}

/// The same, of a tuple that HeapTupleSatisfiesVacuum() has looked at: it says so in the header when a deletion or
/// locks came to nothing.
pub unsafe fn is_settled(header: pg_sys::HeapTupleHeader, oldest_xmin: pg_sys::TransactionId) -> bool {
    let xmin = raw_xmin(header);
    let everyone_sees = !pg_sys::TransactionIdIsNormal(xmin) || pg_sys::TransactionIdPrecedes(xmin, oldest_xmin);
    everyone_sees && (*header).t_infomask & pg_sys::HEAP_XMAX_INVALID as u16 != 0
}
