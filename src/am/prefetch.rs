//! PostgreSQL's own prefetching, turned off for our tables.
//!
//! Until 17 the executor prefetches the block of a bitmap's next TIDs, until 16 ANALYZE that of its sample's next
//! block, from the main fork. With us these are logical blocks: what is prefetched is of no use, and beyond the file's
//! last segment there is only an error.

use crate::pg::Relation;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Of the plan of a query that begins.
///
/// # Safety
/// PostgreSQL's plan state is live, or none is needed.
pub unsafe fn of_plan(root: *mut pg_sys::PlanState) {
    // SAFETY: PostgreSQL's plan state, or its settings.
    unsafe {
        bitmap_scans(root, std::ptr::null_mut());
    }
}

/// Bitmap scans read no block ahead when their `prefetch_maximum` is 0 (nodeBitmapHeapscan.c).
///
/// # Safety
/// PostgreSQL's plan state is live, or none is needed.
#[pg_guard]
unsafe extern "C-unwind" fn bitmap_scans(node: *mut pg_sys::PlanState, context: *mut std::ffi::c_void) -> bool {
    // SAFETY: PostgreSQL's plan state, or its settings.
    unsafe {
        if node.is_null() {
            return false;
        }
        if (*node).type_ == pg_sys::NodeTag::T_BitmapHeapScanState {
            let scan = node as *mut pg_sys::BitmapHeapScanState;
            if Relation::of((*scan).ss.ss_currentRelation).is_ours() {
                (*scan).prefetch_maximum = 0;
            }
        }
        pg_sys::planstate_tree_walker(node, Some(bitmap_scans), context)
    }
}

/// ANALYZE asks for the relation's size, then for `maintenance_io_concurrency`, and offers no other place to say that
/// its prefetches would fail. So the setting is 0 from here to the end of the transaction or of the ANALYZE, if the
/// file has not as many segments.
///
/// # Safety
/// PostgreSQL's plan state is live, or none is needed.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub unsafe fn of_analyze(rel: &Relation, logical_blocks: u32) {
    // SAFETY: PostgreSQL's plan state, or its settings.
    unsafe {
        let segment = |blocks: u32| blocks.saturating_sub(1) / pg_sys::RELSEG_SIZE;
        if segment(logical_blocks) == 0
            || pg_sys::maintenance_io_concurrency == 0
            || pg_sys::IsInParallelMode()
            || segment(logical_blocks) <= segment(rel.physical_blocks())
        {
            return;
        }
        pg_sys::set_config_option(
            c"maintenance_io_concurrency".as_ptr(),
            c"0".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_LOCAL,
            true,
            0,
            false,
        );
    }
}
