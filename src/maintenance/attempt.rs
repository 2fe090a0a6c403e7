//! Maintenance that may fail, for want of space or memory, and then has changed nothing.

use crate::storage::space::{self, DISK_FULL};
use crate::storage::{hand, manifest};
use crate::subtransaction::{catch, Caught};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Runs `f`. If it fails with one of these errors, pages that it has taken and not published are free again. The caller holds the maintenance
/// lock. See [`catch`] for what `f` may do.
pub unsafe fn attempt<R>(
    rel: pg_sys::Relation,
    codes: &'static [PgSqlErrorCode],
    f: impl FnOnce() -> R,
) -> Result<R, Caught> {
    hand::begin();
    let result = catch(codes, f);
    let left = hand::end();
    if result.is_err() && left.pages() > 0 {
        manifest::publish(rel, |manifest| manifest.free.give_all(&left));
    }
    result
}

/// Appends what the reserve lacks, if the file can grow. The caller holds the maintenance lock.
pub unsafe fn fill_reserve(rel: pg_sys::Relation) {
    let current = manifest::current(rel);
    if current.components.is_empty() || current.free.pages() >= space::kept(&current) {
        return;
    }
    let filled = attempt(rel, &[DISK_FULL], || {
        let appended = space::reserve_for(rel, 0);
        manifest::publish(rel, |manifest| manifest.free.give_all(&appended));
    });
    if let Err(full) = filled {
        ereport!(DEBUG1, DISK_FULL, full.message);
    }
}
