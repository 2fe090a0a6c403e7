//! Freezing the tuples of row pages, before relfrozenxid passes them.

use crate::pg::tuple::Header;
use crate::pg::{Lock, Pin, Relation, xid};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, heap_tuple, heap_tuple_of};
use pgrx::pg_sys;

/// What must not be older after a VACUUM.
#[derive(Clone, Copy)]
pub struct Limits {
    pub relfrozenxid: pg_sys::TransactionId,
    pub relminmxid: pg_sys::MultiXactId,
    /// Tuples older than this are frozen.
    pub xid: pg_sys::TransactionId,
    pub multi: pg_sys::MultiXactId,
    /// VACUUM's horizon: what ended before it is over for everyone.
    pub oldest_xmin: pg_sys::TransactionId,
    /// Whether relfrozenxid is so old that every page must be seen to.
    pub aggressive: bool,
}

/// VACUUM's cutoffs for the relation.
pub fn limits(rel: &Relation, params: &mut pg_sys::VacuumParams) -> Limits {
    let (relfrozenxid, relminmxid) = rel.frozen();
    #[cfg(feature = "pg15")]
    // SAFETY: an open relation.
    unsafe {
        let (mut oldest_xmin, mut xid) = (pg_sys::InvalidTransactionId, pg_sys::InvalidTransactionId);
        let (mut oldest_multi, mut multi) = Default::default();
        let aggressive = pg_sys::vacuum_set_xid_limits(
            rel.raw(),
            params.freeze_min_age,
            params.freeze_table_age,
            params.multixact_freeze_min_age,
            params.multixact_freeze_table_age,
            &mut oldest_xmin,
            &mut oldest_multi,
            &mut xid,
            &mut multi,
        );
        Limits {
            relfrozenxid,
            relminmxid,
            xid,
            multi,
            oldest_xmin,
            aggressive,
        }
    }
    #[cfg(not(feature = "pg15"))]
    // SAFETY: an open relation; a struct of numbers.
    unsafe {
        let mut cutoffs: pg_sys::VacuumCutoffs = std::mem::zeroed();
        let aggressive = pg_sys::vacuum_get_cutoffs(rel.raw(), params, &mut cutoffs);
        let (xid, multi) = (cutoffs.FreezeLimit, cutoffs.MultiXactCutoff);
        Limits {
            relfrozenxid,
            relminmxid,
            xid,
            multi,
            oldest_xmin: cutoffs.OldestXmin,
            aggressive,
        }
    }
}

/// Whether anything on the page has to be frozen. The caller has locked it.
pub fn due(rel: &Relation, pin: &Pin, limits: &Limits) -> bool {
    let is_due = |o| heap_tuple(rel, pin, o).is_some_and(|tuple| is_due(tuple.header(), limits));
    rowpage::offsets(pin.page()).any(is_due)
}

/// Freezes what is due on a page that the caller holds the cleanup lock of and has just pruned; logged as a generic
/// change. The caller has made sure that no standby snapshot older than the limit is left (see `conflict`).
pub fn page(rel: &Relation, pin: &Pin, lock: &Lock, limits: &Limits) -> bool {
    if !due(rel, pin, limits) {
        return false;
    }
    let mut change = Change::begin(rel);
    let handle = change.borrowed(lock);
    let image = change.whole(handle);
    let mut changed = false;
    for offset in rowpage::offsets(*image) {
        if let Some(tuple) = heap_tuple_of(rel, *image, pin.block(), offset) {
            let Limits {
                relfrozenxid,
                relminmxid,
                xid,
                multi,
                ..
            } = *limits;
            // SAFETY: a tuple of our copy of the page.
            changed |= unsafe { pg_sys::heap_freeze_tuple(tuple.header().raw(), relfrozenxid, relminmxid, xid, multi) };
        }
    }
    if changed {
        change.commit();
    }
    changed
}

fn is_due(tuple: Header, limits: &Limits) -> bool {
    let mask = u32::from(tuple.infomask());
    let old = |xid: pg_sys::TransactionId| pg_sys::TransactionIdIsNormal(xid) && xid::precedes(xid, limits.xid);
    const FROZEN: u32 = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID;
    if mask & FROZEN != FROZEN && old(tuple.stored_xmin()) {
        return true;
    }
    let xmax = tuple.stored_xmax();
    if mask & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
        // heap_freeze_tuple() minds an old one also where a hint says that it is over.
        let over = mask & pg_sys::HEAP_XMAX_INVALID != 0;
        return !over || xid::multi_precedes(xmax, limits.multi);
    }
    old(xmax)
}
