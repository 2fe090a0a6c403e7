//! The paths by which our nodes read relations, whatever PostgreSQL thinks of them: add_path() frees a path that
//! another one beats, such as a scan of columns beside an index. A node above that takes its batches makes it cheaper
//! than either, and finds it here.

use crate::query::expr::tree::make;
use pgrx::pg_sys;
use std::cell::RefCell;

/// A path of a relation; one for all rows and one that workers share.
struct Kept {
    rel: *mut pg_sys::RelOptInfo,
    partial: bool,
    path: *mut pg_sys::CustomPath,
    /// What the conditions of the table cost, all of them.
    conditions: f64,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// While one of these lives a query is planned, perhaps within the planning of another; what is kept for it goes with it.
pub struct Planning(usize);

impl Planning {
    pub fn begin() -> Planning {
        Planning(KEPT.with_borrow(Vec::len))
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        KEPT.with_borrow_mut(|kept| kept.truncate(self.0));
    }
}

/// Keeps a copy of a path, in place of a more expensive one. add_path() or add_partial_path() is called afterwards.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn keep(root: *mut pg_sys::PlannerInfo, partial: bool, path: *mut pg_sys::CustomPath, conditions: f64) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let rel = (*path).path.parent;
        // GEQO tries joins in memory that it empties meanwhile (geqo_eval.c).
        if (*rel).reloptkind == pg_sys::RelOptKind::RELOPT_JOINREL && !(*root).join_search_private.is_null() {
            return;
        }
        let copy = make::<pg_sys::CustomPath>(pg_sys::NodeTag::T_CustomPath);
        *copy = *path;
        KEPT.with_borrow_mut(
            |kept| match kept.iter_mut().find(|k| k.rel == rel && k.partial == partial) {
                Some(known) if (*known.path).path.total_cost <= (*copy).path.total_cost => {}
                Some(known) => known.path = copy,
                None => kept.push(Kept {
                    rel,
                    partial,
                    path: copy,
                    conditions,
                }),
            },
        );
    }
}

/// The path of a relation, which is not known to be empty.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn kept(rel: *mut pg_sys::RelOptInfo, partial: bool) -> Option<*mut pg_sys::Path> {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        if pg_sys::is_dummy_rel(rel) {
            return None;
        }
        KEPT.with_borrow(|kept| {
            let found = kept.iter().find(|k| k.rel == rel && k.partial == partial)?;
            Some(found.path as *mut pg_sys::Path)
        })
    }
}

/// What the conditions of the tables among these relations cost that we have paths of.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn conditions(root: *mut pg_sys::PlannerInfo, relids: pg_sys::Relids) -> f64 {
    KEPT.with_borrow(|kept| {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans; so are the relations kept.
        let of_table = |k: &&Kept| unsafe {
            let relid = (*k.rel).relid;
            // Relations of another query have the same numbers.
            !k.partial
                && (*k.rel).reloptkind != pg_sys::RelOptKind::RELOPT_JOINREL
                && pg_sys::bms_is_member(relid as i32, relids)
                && *(*root).simple_rel_array.add(relid as usize) == k.rel
        };
        kept.iter().filter(of_table).map(|k| k.conditions).sum()
    })
}
