//! Maintenance that may fail, for want of space or memory, and then has changed nothing.

use crate::pg::Relation;
use crate::storage::space::{self, DISK_FULL};
use crate::storage::{hand, manifest};
use crate::subtransaction::{Caught, catch};
use pgrx::prelude::*;

/// Runs `f`. If it fails with one of these errors, pages that it has taken and not published are free again. The caller
/// holds the maintenance lock. See [`catch`] for what `f` may do.
pub fn attempt<R>(rel: &Relation, codes: &'static [PgSqlErrorCode], f: impl FnOnce() -> R) -> Result<R, Caught> {
    hand::begin();
    let result = catch(codes, f);
    let left = hand::end();
    if result.is_err() && left.pages() > 0 {
        // That needs a page in its turn; without, the search for lost pages finds them.
        let give_back = || manifest::publish(rel, |manifest| manifest.free.give_all(&left));
        if let Err(full) = catch(&[DISK_FULL], give_back) {
            ereport!(DEBUG1, DISK_FULL, full.message);
        }
    }
    result
}

/// Appends what the reserve lacks, and what stubs need of the maps of free space and visibility, if files can grow. The
/// caller holds the maintenance lock.
pub fn fill_reserve(rel: &Relation) {
    if manifest::current(rel).components.is_empty() {
        return;
    }
    let filled = attempt(rel, &[DISK_FULL], || {
        let appended = space::reserve_for(rel, 0);
        if appended.pages() > 0 {
            manifest::publish(rel, |manifest| manifest.free.give_all(&appended));
        }
    });
    if let Err(full) = filled {
        ereport!(DEBUG1, DISK_FULL, full.message);
    }
}
