//! VACUUM, flush, reclaim: everything that moves rows or pages without changing what anyone sees. See README.md.

mod attempt;
pub mod flush;
pub mod freeze;
mod freeze_component;
pub mod inline;
mod lost;
pub mod merge;
pub mod reclaim;
mod standby;
mod toast;
mod truncate;
pub mod vacuum;

pub use crate::fault::fault;

use crate::storage::buffer::{Change, Pin};
use crate::storage::rowpage;
use pgrx::pg_sys;

/// One maintenance operation per table: a page lock on block 0, which nothing else takes (as GIN does for its pending
/// list). Released at the end of the transaction if an error intervenes.
pub struct MaintenanceLock(pg_sys::Relation);

impl MaintenanceLock {
    pub fn take(rel: pg_sys::Relation) -> MaintenanceLock {
        unsafe { pg_sys::LockPage(rel, 0, pg_sys::ExclusiveLock as i32) };
        MaintenanceLock(rel)
    }

    pub fn try_take(rel: pg_sys::Relation) -> Option<MaintenanceLock> {
        unsafe { pg_sys::ConditionalLockPage(rel, 0, pg_sys::ExclusiveLock as i32) }.then(|| MaintenanceLock(rel))
    }
}

impl Drop for MaintenanceLock {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            unsafe { pg_sys::UnlockPage(self.0, 0, pg_sys::ExclusiveLock as i32) }
        }
    }
}

/// Called by a writer that met the sealed page `p`: returns when the flush that sealed it has published or given up.
pub fn wait_for_flush(rel: pg_sys::Relation, p: u32) {
    if flushed(rel, p) {
        // Published meanwhile. Whoever holds the lock may be at something longer.
        return;
    }
    let _lock = MaintenanceLock::take(rel);
    unseal(rel, p);
}

/// Unseals a page that a flush left behind: nobody is flushing now (the caller holds the maintenance lock), and the
/// page belongs to no component.
pub fn unseal(rel: pg_sys::Relation, p: u32) {
    if flushed(rel, p) {
        return;
    }
    let pin = Pin::read(rel, p);
    std::mem::forget(pin.exclusive());
    let mut change = Change::begin(rel);
    let handle = change.locked(pin.into_buffer());
    let page = change.raw(handle);
    if rowpage::is_sealed(page) {
        rowpage::unseal(page);
        change.commit();
    }
}

fn flushed(rel: pg_sys::Relation, p: u32) -> bool {
    match crate::storage::map::logical(rel, p) {
        Some(v) => crate::storage::manifest::current(rel).component_of(v).is_some(),
        None => true,
    }
}
