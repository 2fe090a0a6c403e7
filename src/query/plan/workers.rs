//! What starting workers costs where they read a table of ours. PostgreSQL has a setting for it, `parallel_setup_cost`, which
//! each Gather node pays once, however many of our scans are below it: so it is that which is dearer while a query is planned
//! in which one of our tables has been met.

use super::costs::WORKERS;
use pgrx::pg_sys;
use std::cell::Cell;

thread_local! {
    /// The setting as it was, and as it is now.
    static CHARGED: Cell<Option<(f64, f64)>> = const { Cell::new(None) };
}

/// Has workers cost what they do, until the query has been planned.
pub fn charge() {
    if CHARGED.get().is_none() {
        // SAFETY: a setting, which only this thread reads and writes.
        let before = unsafe { pg_sys::parallel_setup_cost };
        let now = before * WORKERS;
        // SAFETY: as above.
        unsafe { pg_sys::parallel_setup_cost = now };
        CHARGED.set(Some((before, now)));
    }
}

/// While the outermost of these that has met a table of ours lives, workers are charged.
pub struct Charging {
    before: bool,
}

impl Charging {
    pub fn begin() -> Charging {
        Charging {
            before: CHARGED.get().is_some(),
        }
    }
}

impl Drop for Charging {
    fn drop(&mut self) {
        if self.before {
            return;
        }
        if let Some((before, now)) = CHARGED.take() {
            // SAFETY: as above.
            unsafe {
                // Unless a function that was evaluated in planning has set it.
                if pg_sys::parallel_setup_cost == now {
                    pg_sys::parallel_setup_cost = before;
                }
            }
        }
    }
}
