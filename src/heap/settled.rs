//! Settled tuples: those that a flush may write to a component.

use crate::pg::tuple::Header;
use crate::pg::{Lock, Tuple, xid};
use pgrx::pg_sys;

/// Everyone sees the tuple, and no transaction that has not ended has to do with it.
pub fn settled(tuple: &mut Tuple, lock: &Lock, oldest_xmin: pg_sys::TransactionId) -> bool {
    is_live(tuple, lock, oldest_xmin) && is_settled(tuple.header(), oldest_xmin)
}

fn is_live(tuple: &mut Tuple, lock: &Lock, oldest_xmin: pg_sys::TransactionId) -> bool {
    // What HeapTupleSatisfiesVacuumHorizon() looks at first: most rows have been judged before.
    const LIVE: u16 = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMAX_INVALID) as u16;
    tuple.header().infomask() & LIVE == LIVE
        || tuple.fate(oldest_xmin, lock.buffer()) == pg_sys::HTSV_Result::HEAPTUPLE_LIVE
}

/// The same, of a tuple that HeapTupleSatisfiesVacuum() has looked at: it says so in the header when a deletion or
/// locks came to nothing.
pub fn is_settled(header: Header, oldest_xmin: pg_sys::TransactionId) -> bool {
    xid::is_older(header.xmin(), oldest_xmin) && header.infomask() & pg_sys::HEAP_XMAX_INVALID as u16 != 0
}
