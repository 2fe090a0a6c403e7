//! Maintenance that may fail, for want of space or memory, and then has changed nothing.

use crate::pg::Relation;
use crate::storage::space::{self, DISK_FULL};
use crate::storage::{hand, manifest};
use crate::subtransaction::{Caught, catch};
use pgrx::prelude::*;

/// What maintenance may be refused: it is left undone then.
pub const REFUSED: &[PgSqlErrorCode] = &[PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, DISK_FULL];

/// Runs `f`. If it is refused space or memory, pages that it has taken and not published are free again. The caller
/// holds the maintenance lock. See [`catch`] for what `f` may do.
pub fn attempt<R>(rel: &Relation, f: impl FnOnce() -> R) -> Result<R, Caught> {
    hand::begin();
    let result = catch(REFUSED, f);
    let left = hand::end();
    if result.is_err() && left.pages() > 0 {
        // That needs a page in its turn; without, the search for lost pages finds them.
        let give_back = || manifest::publish(rel, |manifest| manifest.free.give_all(&left));
        if let Err(refused) = catch(REFUSED, give_back) {
            ereport!(DEBUG1, refused.code, refused.message);
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
    let filled = attempt(rel, || {
        let appended = space::reserve_for(rel, 0);
        if appended.pages() > 0 {
            manifest::publish(rel, |manifest| manifest.free.give_all(&appended));
        }
    });
    if let Err(refused) = filled {
        ereport!(DEBUG1, refused.code, refused.message);
    }
}
