//! Paths of a relation that has columns: a scan beside the sequential one, and a fetch above each scan by an index.

use super::fetch::plan as fetch;
use super::scan::plan as scan;
use crate::guc;
use pgrx::pg_sys;

/// Adds paths to those that the planner has for a relation.
///
/// # Safety
/// A well-formed expression tree.
pub unsafe fn add_paths(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo, rte: *mut pg_sys::RangeTblEntry) {
    // SAFETY: a well-formed expression tree, as PostgreSQL makes it, which stays while we look at it.
    unsafe {
        let scannable = guc::custom_scan()
            && (*rte).rtekind == pg_sys::RTEKind::RTE_RELATION
            && matches!((*rte).relkind as u8, pg_sys::RELKIND_RELATION | pg_sys::RELKIND_MATVIEW)
            && !(*rte).inh
            && (*rte).tablesample.is_null()
            && (*rel).lateral_relids.is_null();
        if !scannable {
            return;
        }
        let Some(columnar) = scan::columnar_share((*rte).relid) else {
            return;
        };
        // All before one is added: that may free others.
        let fetches = fetch::paths(root, rel, columnar);
        let scans = scan::paths(root, rel, columnar);
        for fetch in fetches {
            pg_sys::add_path(rel, fetch as *mut pg_sys::Path);
        }
        if let Some((serial, parallel)) = scans {
            pg_sys::add_path(rel, serial as *mut pg_sys::Path);
            if let Some(parallel) = parallel {
                pg_sys::add_partial_path(rel, parallel as *mut pg_sys::Path);
            }
        }
    }
}
