//! Scans that are wrong on purpose (`amax.mutant`): tests/core/mutants shows that the core suites notice.

use crate::guc::{Mutant, mutant};
use pgrx::pg_sys;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Leaves out one row in a thousand of those a scan is about to look at.
pub fn drop_rows(mut rows: Rc<Vec<u32>>) -> Rc<Vec<u32>> {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    if mutant() == Mutant::drops_rows {
        Rc::make_mut(&mut rows).retain(|_| !(SEEN.fetch_add(1, Relaxed) + 1).is_multiple_of(1000));
    }
    rows
}

/// Says that a path has the order that the query asks for: nobody sorts its rows then.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn claim_order(root: *mut pg_sys::PlannerInfo, path: &mut pg_sys::Path) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let alone = pg_sys::bms_membership((*root).all_baserels) == pg_sys::BMS_Membership::BMS_SINGLETON;
        if mutant() == Mutant::ignores_order && alone {
            path.pathkeys = (*root).query_pathkeys;
        }
    }
}

/// Makes the last entry of a row NULL.
///
/// # Safety
/// A node of ours, begun and not ended.
pub unsafe fn lose_column(slot: *mut pg_sys::TupleTableSlot) {
    // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
    unsafe {
        let columns = (*(*slot).tts_tupleDescriptor).natts as usize;
        if mutant() == Mutant::loses_column && columns > 0 {
            *(*slot).tts_isnull.add(columns - 1) = true;
        }
    }
}
