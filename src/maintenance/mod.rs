//! VACUUM, flush, reclaim: everything that moves rows or pages without changing what anyone sees. See README.md.

mod attempt;
mod compact;
pub mod flush;
mod freeze_component;
pub mod inline;
mod lost;
pub mod merge;
mod now;
pub mod reclaim;
mod requests;
mod standby;
mod truncate;
pub mod vacuum;
mod worker;

pub use crate::fault::fault;
pub use now::flush_for_owner;

use crate::pg::lock::PageNumber;
use crate::pg::{Pin, Relation};
use crate::storage::buffer::Change;
use crate::storage::rowpage;
use std::sync::OnceLock;

/// Brings up to date what is kept of a table's leaves beside it; the caller has VACUUM's lock.
pub type KeepUp = fn(&Relation);

/// Called when leaves have changed but by VACUUM, which has indexes see to it. Set by who knows join indexes.
pub static KEEP_UP: OnceLock<KeepUp> = OnceLock::new();

fn keep_up(rel: &Relation) {
    if let Some(keep_up) = KEEP_UP.get() {
        keep_up(rel);
    }
}

/// One maintenance operation per table: a page lock on block 0, which nothing else takes (as GIN does for its pending
/// list). Released at the end of the transaction if an error intervenes.
pub struct MaintenanceLock<'a>(#[expect(dead_code, reason = "held until dropped")] PageNumber<'a>);

impl MaintenanceLock<'_> {
    pub fn take(rel: &Relation) -> MaintenanceLock<'_> {
        MaintenanceLock(PageNumber::take(rel, 0))
    }

    pub fn try_take(rel: &Relation) -> Option<MaintenanceLock<'_>> {
        PageNumber::try_take(rel, 0).map(MaintenanceLock)
    }
}

/// Called by a writer that met the sealed page `p`: returns when the flush that sealed it has published or given up.
pub fn wait_for_flush(rel: &Relation, p: u32) {
    if flushed(rel, p) {
        // Published meanwhile. Whoever holds the lock may be at something longer.
        return;
    }
    let _lock = MaintenanceLock::take(rel);
    unseal(rel, p);
}

/// Unseals a page that a flush left behind: nobody is flushing now (the caller holds the maintenance lock), and the
/// page belongs to no component.
pub fn unseal(rel: &Relation, p: u32) {
    if flushed(rel, p) {
        return;
    }
    let mut change = Change::begin(rel);
    let handle = change.locked(Pin::read(rel, p).lock());
    let mut page = change.whole(handle);
    if rowpage::is_sealed(*page) {
        rowpage::unseal(&mut page);
        change.commit();
    }
}

fn flushed(rel: &Relation, p: u32) -> bool {
    match crate::storage::map::logical(rel, p) {
        Some(v) => crate::storage::manifest::current(rel).component_of(v).is_some(),
        None => true,
    }
}
