//! Freezing the tuples of row pages, before relfrozenxid passes them.

use crate::storage::buffer::{Change, Pin};
use crate::storage::rowpage;
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
pub unsafe fn limits(rel: pg_sys::Relation, params: *mut pg_sys::VacuumParams) -> Limits {
    let form = &*(*rel).rd_rel;
    #[cfg(feature = "pg15")]
    {
        let (mut oldest_xmin, mut xid) = (pg_sys::InvalidTransactionId, pg_sys::InvalidTransactionId);
        let (mut oldest_multi, mut multi) = Default::default();
        let aggressive = pg_sys::vacuum_set_xid_limits(
            rel,
            (*params).freeze_min_age,
            (*params).freeze_table_age,
            (*params).multixact_freeze_min_age,
            (*params).multixact_freeze_table_age,
            &mut oldest_xmin,
            &mut oldest_multi,
            &mut xid,
            &mut multi,
        );
        let (relfrozenxid, relminmxid) = (form.relfrozenxid, form.relminmxid);
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
    {
        let mut cutoffs: pg_sys::VacuumCutoffs = std::mem::zeroed();
        let aggressive = pg_sys::vacuum_get_cutoffs(rel, params, &mut cutoffs);
        Limits {
            relfrozenxid: form.relfrozenxid,
            relminmxid: form.relminmxid,
            xid: cutoffs.FreezeLimit,
            multi: cutoffs.MultiXactCutoff,
            oldest_xmin: cutoffs.OldestXmin,
            aggressive,
        }
    }
}

/// Whether anything on the page has to be frozen.
pub unsafe fn due(pin: &Pin, limits: &Limits) -> bool {
    rowpage::offsets(pin.page()).any(|o| rowpage::tuple_at(pin.page(), o).is_some_and(|(t, _)| is_due(t, limits)))
}

/// Freezes what is due on a page that the caller holds the cleanup lock of and has just pruned; logged as a generic
/// change. The caller has made sure that no standby snapshot older than the limit is left (see `conflict`).
pub unsafe fn page(rel: pg_sys::Relation, pin: &Pin, limits: &Limits) -> bool {
    if !due(pin, limits) {
        return false;
    }
    let mut change = Change::begin(rel);
    let handle = change.borrowed(pin.buffer());
    let image = change.raw(handle);
    let mut changed = false;
    for offset in rowpage::offsets(image) {
        if let Some((tuple, _)) = rowpage::tuple_at(image, offset) {
            changed |=
                pg_sys::heap_freeze_tuple(tuple, limits.relfrozenxid, limits.relminmxid, limits.xid, limits.multi);
        }
    }
    if changed {
        change.commit();
    }
    changed
}

unsafe fn is_due(tuple: pg_sys::HeapTupleHeader, limits: &Limits) -> bool {
    let mask = u32::from((*tuple).t_infomask);
    let old = |xid: pg_sys::TransactionId| {
        pg_sys::TransactionIdIsNormal(xid) && pg_sys::TransactionIdPrecedes(xid, limits.xid)
    };
    const FROZEN: u32 = pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID;
    if mask & FROZEN != FROZEN && old((*tuple).t_choice.t_heap.t_xmin) {
        return true;
    }
    let xmax = (*tuple).t_choice.t_heap.t_xmax;
    if mask & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
        // heap_freeze_tuple() minds an old one also where a hint says that it is over.
        let over = mask & pg_sys::HEAP_XMAX_INVALID != 0;
        return !over || pg_sys::MultiXactIdPrecedes(xmax, limits.multi);
    }
    old(xmax)
}
