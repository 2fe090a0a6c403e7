//! What workers cost where they read a table of ours: starting them, and what each of them does again.
//!
//! PostgreSQL has a setting for starting them, `parallel_setup_cost`, which each Gather node pays once, however many of our scans
//! are below it: so it is that which is dearer while a query is planned in which one of our tables has been met.

use super::costs::{IN_EACH_PROCESS, WORKERS};
use crate::pg::planner::{HashPath, JoinPaths, Path, RelOptInfo};
use pgrx::pg_sys;
use pgrx::pg_sys::{JoinType, NodeTag};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The setting as it was, and as it is now.
    static CHARGED: Cell<Option<(f64, f64)>> = const { Cell::new(None) };
    /// How many [`Charging`] live.
    static PLANNED: Cell<usize> = const { Cell::new(0) };
}

/// Whether a query is planned that we have seen from the beginning. Not so if the library was loaded meanwhile, as the planner
/// opened a partition: nobody would tell us of the end.
pub fn is_planned() -> bool {
    PLANNED.get() > 0
}

/// Has workers cost what they do, until the query has been planned.
pub fn charge() {
    if is_planned() && CHARGED.get().is_none() {
        // SAFETY: a setting, which only this thread reads and writes.
        let before = unsafe { pg_sys::parallel_setup_cost };
        let now = before * WORKERS;
        // SAFETY: as above.
        unsafe { pg_sys::parallel_setup_cost = now };
        CHARGED.set(Some((before, now)));
    }
}

/// Has those of a join's parallel hash joins cost more in which each process reads all of the inner side, once PostgreSQL has made those of
/// two relations: of an inner one that is made unique first it makes others.
pub fn charge_sides(joinrel: &RelOptInfo, outer: &RelOptInfo, inner: &RelOptInfo, kind: JoinType::Type) {
    let read_by_each = |path: &Path| {
        let join = path.as_a::<HashPath>()?;
        let (from, to) = (join.outer(), join.inner());
        let of_these = ptr::eq(from.parent(), outer) && ptr::eq(to.parent(), inner);
        let is_unique = to.tag() == NodeTag::T_UniquePath;
        let in_each = path.parallel_workers() > 0 && !path.parallel_aware();
        let made_now = of_these && is_unique == (kind == JoinType::JOIN_UNIQUE_INNER);
        (in_each && made_now).then(|| to.total_cost())
    };
    let partial = joinrel.partial_paths();
    if CHARGED.get().is_some() && partial.iter().any(|path| read_by_each(path).is_some()) {
        joinrel.charge(|path| path.add_cost((IN_EACH_PROCESS - 1.0) * read_by_each(path).unwrap_or(0.0)));
    }
}

/// While the outermost of these that has met a table of ours lives, workers are charged.
pub struct Charging {
    before: bool,
}

impl Charging {
    pub fn begin() -> Charging {
        PLANNED.set(PLANNED.get() + 1);
        Charging {
            before: CHARGED.get().is_some(),
        }
    }
}

impl Drop for Charging {
    fn drop(&mut self) {
        PLANNED.set(PLANNED.get() - 1);
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
