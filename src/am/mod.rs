//! The table access method: PostgreSQL's callbacks, a file per group. See README.md.

mod analyze;
mod bitmap;
pub mod block;
pub mod build;
pub mod bulk;
mod cluster;
mod ddl;
pub mod fetch;
pub mod hooks;
pub mod modify;
#[cfg(not(feature = "pg18"))]
mod prefetch;
mod rewrite;
pub mod scan;
pub mod slot;
mod spool;

use crate::maintenance;
use crate::storage::buffer::rel_name;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::sync::OnceLock;

struct Routine(pg_sys::TableAmRoutine);
// SAFETY: a table of function pointers, never changed once made.
unsafe impl Sync for Routine {}
unsafe impl Send for Routine {}

static ROUTINE: OnceLock<Routine> = OnceLock::new();

/// The callbacks. What is about files only is heap's own: a file of ours is a file.
pub fn routine() -> &'static pg_sys::TableAmRoutine {
    &ROUTINE
        .get_or_init(|| {
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

/// Whether the relation is an amax table.
pub fn is_ours(rel: pg_sys::Relation) -> bool {
    std::ptr::eq(unsafe { (*rel).rd_tableam }, routine())
}

/// Raises an error unless the relation is an amax table.
pub fn require(rel: pg_sys::Relation) {
    if !is_ours(rel) {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is not an amax table", rel_name(rel))
        );
    }
}

/// An amax table opened for somebody who may read it; closed on drop, its lock kept to the end of the transaction.
pub struct Opened(pub pg_sys::Relation);

pub fn open_for_reading(table: pg_sys::Oid) -> Opened {
    unsafe {
        let opened = Opened(pg_sys::relation_open(table, pg_sys::AccessShareLock as i32));
        require(opened.0);
        let allowed = pg_sys::pg_class_aclcheck(
            table,
            pg_sys::GetUserId(),
            pg_sys::ACL_SELECT as pg_sys::AclMode,
        );
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let name = (*(*opened.0).rd_rel).relname.data.as_ptr();
            pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_TABLE, name);
        }
        opened
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) }
        }
    }
}

/// `CREATE ACCESS METHOD amax TYPE TABLE HANDLER amax.handler`.
#[no_mangle]
#[pg_guard]
pub unsafe extern "C-unwind" fn amax_handler(_fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    pg_sys::Datum::from(routine() as *const _)
}

#[no_mangle]
pub extern "C" fn pg_finfo_amax_handler() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}
