//! Pruning a row page.

use crate::pg::{Lock, Pin, Relation};
use crate::storage::rowpage;
use pgrx::pg_sys;

/// Prunes a page by VACUUM's horizon: removes what is dead to all, and what ended before `oldest_xmin` in any case, so
/// that freezing finds none of it. The lock is the cleanup lock.
pub fn by_horizon(rel: &Relation, lock: &Lock, oldest_xmin: pg_sys::TransactionId) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: a row page under its cleanup lock.
    unsafe {
        let mut new_dead = 0;
        pg_sys::heap_page_prune(
            rel.raw(),
            lock.buffer(),
            oldest_xmin,
            pg_sys::GlobalVisTestFor(rel.raw()),
            pg_sys::InvalidTransactionId,
            0,
            &mut new_dead,
            std::ptr::null_mut(),
        );
    }
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    // SAFETY: a row page under its cleanup lock; structs of numbers. Without HEAP_PAGE_PRUNE_FREEZE only the horizon of
    // the cutoffs is looked at.
    unsafe {
        let mut cutoffs: pg_sys::VacuumCutoffs = std::mem::zeroed();
        cutoffs.OldestXmin = oldest_xmin;
        let mut result: pg_sys::PruneFreezeResult = std::mem::zeroed();
        let mut offset = 0;
        pg_sys::heap_page_prune_and_freeze(
            rel.raw(),
            lock.buffer(),
            pg_sys::GlobalVisTestFor(rel.raw()),
            0,
            &mut cutoffs,
            &mut result,
            pg_sys::PruneReason::PRUNE_VACUUM_SCAN,
            &mut offset,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
    }
}

/// heap_page_prune_opt(): if it is worth it, and the cleanup lock can be had at once.
fn opportunistic(rel: &Relation, pin: &Pin) {
    // SAFETY: a row page that is pinned and not locked.
    unsafe { pg_sys::heap_page_prune_opt(rel.raw(), pin.buffer()) }
}

/// Prunes a row page if it is worth it (pruneheap.c). Sealed pages stay as they are: pruning would unseal them. A flush
/// that has the cleanup lock when we pin the page seals it all the same, so the lock is waited for.
pub fn if_worth(rel: &Relation, pin: &Pin) {
    if !rowpage::is_prunable(pin.page()) {
        return;
    }
    let sealed = {
        let _lock = pin.share();
        rowpage::check_rows(rel, pin);
        rowpage::is_sealed(pin.page())
    };
    if !sealed {
        crate::fault::fault("prune_chosen");
        opportunistic(rel, pin);
    }
}
