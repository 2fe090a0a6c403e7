//! The table access method: PostgreSQL's callbacks, a file per group. See README.md.

mod analyze;
mod bitmap;
pub mod build;
mod cluster;
pub mod copy;
mod ddl;
mod descriptor;
pub mod fetch;
mod in_order;
pub mod index_feed;
pub mod modify;
#[cfg(not(feature = "pg18"))]
pub mod prefetch;
mod rewrite;
pub mod scan;
mod spool;
mod stand_in;
mod thinning;

use crate::maintenance;
use crate::pg::relation::{ROUTINE, Routine};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// The callbacks. What is about files only is heap's own: a file of ours is a file.
pub fn routine() -> &'static pg_sys::TableAmRoutine {
    &ROUTINE
        .get_or_init(|| {
            // SAFETY: heap's callbacks, which are always there.
            let heap = unsafe { *pg_sys::GetHeapamTableAmRoutine() };
            Routine(pg_sys::TableAmRoutine {
                type_: pg_sys::NodeTag::T_TableAmRoutine,
                slot_callbacks: Some(scan::slot_callbacks),
                scan_begin: Some(scan::begin),
                scan_end: Some(scan::end),
                scan_rescan: Some(scan::rescan),
                scan_getnextslot: Some(scan::getnextslot),
                scan_set_tidrange: Some(scan::set_tidrange),
                scan_getnextslot_tidrange: Some(scan::getnextslot_tidrange),
                parallelscan_estimate: heap.parallelscan_estimate,
                parallelscan_initialize: heap.parallelscan_initialize,
                parallelscan_reinitialize: heap.parallelscan_reinitialize,
                index_fetch_begin: Some(fetch::begin),
                index_fetch_reset: Some(fetch::reset),
                index_fetch_end: Some(fetch::end),
                index_fetch_tuple: Some(fetch::tuple),
                tuple_fetch_row_version: Some(fetch::row_version),
                tuple_tid_valid: Some(scan::tid_valid),
                tuple_get_latest_tid: Some(fetch::latest_tid),
                tuple_satisfies_snapshot: Some(fetch::satisfies_snapshot),
                index_delete_tuples: Some(fetch::index_delete_tuples),
                tuple_insert: Some(modify::insert),
                tuple_insert_speculative: Some(modify::insert_speculative),
                tuple_complete_speculative: Some(modify::complete_speculative),
                multi_insert: Some(modify::multi_insert),
                tuple_delete: Some(modify::delete),
                tuple_update: Some(modify::update),
                tuple_lock: Some(modify::lock),
                finish_bulk_insert: Some(modify::finish_bulk_insert),
                #[cfg(feature = "pg15")]
                relation_set_new_filenode: heap.relation_set_new_filenode,
                #[cfg(not(feature = "pg15"))]
                relation_set_new_filelocator: heap.relation_set_new_filelocator,
                relation_nontransactional_truncate: Some(ddl::nontransactional_truncate),
                relation_copy_data: Some(ddl::copy_data),
                relation_copy_for_cluster: Some(cluster::copy_for_cluster),
                relation_vacuum: Some(maintenance::vacuum::relation_vacuum),
                scan_analyze_next_block: Some(analyze::next_block),
                scan_analyze_next_tuple: Some(analyze::next_tuple),
                index_build_range_scan: Some(build::range_scan),
                index_validate_scan: Some(build::validate_scan),
                relation_size: Some(ddl::size),
                relation_needs_toast_table: heap.relation_needs_toast_table,
                relation_toast_am: Some(ddl::toast_am),
                relation_fetch_toast_slice: heap.relation_fetch_toast_slice,
                relation_estimate_size: Some(ddl::estimate_size),
                #[cfg(not(feature = "pg18"))]
                scan_bitmap_next_block: Some(bitmap::next_block),
                scan_bitmap_next_tuple: Some(bitmap::next_tuple),
                scan_sample_next_block: Some(scan::sample_next_block),
                scan_sample_next_tuple: Some(scan::sample_next_tuple),
            })
        })
        .0
}

/// `CREATE ACCESS METHOD amax TYPE TABLE HANDLER amax.handler`.
///
/// # Safety
/// As PostgreSQL calls it.
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn amax_handler(_fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    pg_sys::Datum::from(routine() as *const _)
}

// Unguarded: it returns a constant.
#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_amax_handler() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}
