//! The access method `amax_join`: PostgreSQL makes, drops, dumps and rebuilds join indexes as it does all others, and never scans
//! them. VACUUM of the table keeps them.

use super::build::{Left, refresh};
use super::definition::{Definition, Unusable};
use super::stored::forget;
use crate::pg::Relation;
use crate::pg::index;
use crate::pg::relation::Opened;
use crate::storage::manifest;
use pgrx::prelude::*;
use pgrx::{PgBox, pg_sys};

/// `CREATE ACCESS METHOD amax_join TYPE INDEX HANDLER amax.join_index_handler`.
///
/// # Safety
/// As PostgreSQL calls it.
#[unsafe(no_mangle)]
#[pg_guard]
pub unsafe extern "C-unwind" fn amax_join_index_handler(_fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: a node of that kind, all of which that is not set is no, none or 0.
    let mut routine = unsafe { PgBox::<pg_sys::IndexAmRoutine>::alloc_node(pg_sys::NodeTag::T_IndexAmRoutine) };
    #[cfg(not(feature = "pg15"))]
    {
        // A row that is changed keeps its TID where it may: of columnar rows alone something is said.
        routine.amsummarizing = true;
    }
    routine.amkeytype = pg_sys::InvalidOid;
    routine.ambuild = Some(build);
    routine.ambuildempty = Some(build_empty);
    routine.aminsert = Some(insert);
    routine.ambulkdelete = Some(bulk_delete);
    routine.amvacuumcleanup = Some(vacuum_cleanup);
    routine.amcostestimate = Some(cost);
    routine.amoptions = Some(options);
    routine.amvalidate = Some(validate);
    pg_sys::Datum::from(routine.into_pg())
}

// Unguarded: it returns a constant.
#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_amax_join_index_handler() -> &'static pg_sys::Pg_finfo_record {
    const V1_API: pg_sys::Pg_finfo_record = pg_sys::Pg_finfo_record { api_version: 1 };
    &V1_API
}

/// `amax.join_row(dimension, key, expressions…)`: what a join index is of. PostgreSQL evaluates it for each row that it inserts, to no use: it is NULL.
///
/// # Safety
/// As PostgreSQL calls it.
// Unguarded: it sets a field.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn amax_join_row(call: pg_sys::FunctionCallInfo) -> pg_sys::Datum {
    // SAFETY: PostgreSQL's struct for the call.
    unsafe { (*call).isnull = true };
    pg_sys::Datum::null()
}

// Unguarded: it returns a constant.
#[unsafe(no_mangle)]
pub extern "C" fn pg_finfo_amax_join_row() -> &'static pg_sys::Pg_finfo_record {
    pg_finfo_amax_join_index_handler()
}

fn refuse(index: &Relation, detail: &str) -> ! {
    ereport!(
        ERROR,
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("cannot make join index \"{}\"", index.name()),
        format!("{detail}.")
    );
}

fn warn(index: &Relation, why: &str) {
    pgrx::warning!("join index \"{}\" is of no use: {why}", index.name());
}

/// # Safety
/// As index_build() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn build(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: as the caller promises.
    let (table, index, is_partial) = unsafe {
        (
            Relation::of(table),
            Relation::of(index),
            !(*info).ii_Predicate.is_null(),
        )
    };
    // A file that has been truncated as it is, in the transaction that made it, is another one.
    forget(index);
    if is_partial {
        refuse(index, "A join index is of all rows of its table");
    }
    if Definition::of(index).is_none() {
        refuse(
            index,
            "Its expression has to be a call of amax.join_row(); see amax.create_join_index()",
        );
    }
    let found = match table.is_ours() {
        true => refresh(table, index, true),
        false => Err(Left::Unusable(Unusable::NotColumnar)),
    };
    match found {
        // A dump may make it before the other table's key.
        Ok(()) | Err(Left::Unusable(Unusable::NoKey) | Left::Locked) => {}
        // Tables that are given another access method, and dumps that leave it out, or give rights only later, have it made all the same.
        Err(Left::Unusable(why)) => warn(index, &why.to_string()),
        Err(Left::TooLarge) => warn(index, "the dimension's keys take more than maintenance_work_mem"),
    }
    let rows = manifest::current(index).rows();
    // SAFETY: a new struct.
    unsafe {
        let mut result = PgBox::<pg_sys::IndexBuildResult>::alloc0();
        // What is known of the table's rows stays known.
        result.heap_tuples = table.tuples().into();
        result.index_tuples = rows as f64;
        result.into_pg()
    }
}

/// An empty file is one of an index that holds nothing.
///
/// # Safety
/// As index_build() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn build_empty(_index: pg_sys::Relation) {}

/// Rows come to the index when VACUUM finds them in a leaf.
///
/// # Safety
/// As index_insert() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn insert(
    _index: pg_sys::Relation,
    _values: *mut pg_sys::Datum,
    _nulls: *mut bool,
    _tid: pg_sys::ItemPointer,
    _table: pg_sys::Relation,
    _unique: pg_sys::IndexUniqueCheck::Type,
    _unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    false
}

/// What is said of rows that are dead stays true, and nobody asks.
///
/// # Safety
/// As index_bulk_delete() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn bulk_delete(
    _info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    _is_dead: pg_sys::IndexBulkDeleteCallback,
    _state: *mut std::ffi::c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    stats
}

/// # Safety
/// As index_vacuum_cleanup() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn vacuum_cleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: as the caller promises.
    let (index, only_analyzes) = unsafe { (Relation::of((*info).index), (*info).analyze_only) };
    if only_analyzes {
        return stats;
    }
    let table = Opened::with_lock(index::table_of(index), pg_sys::NoLock);
    let found = match table.is_ours() {
        true => refresh(&table, index, false),
        false => Err(Left::Unusable(Unusable::NotColumnar)),
    };
    if let Err(left) = found {
        pgrx::debug1!("join index \"{}\" is left as it is: {left:?}", index.name());
    }
    // SAFETY: a new struct, unless there is one.
    unsafe {
        let stats = match stats.is_null() {
            true => PgBox::<pg_sys::IndexBulkDeleteResult>::alloc0().into_pg(),
            false => stats,
        };
        (*stats).num_pages = index.physical_blocks();
        (*stats).num_index_tuples = manifest::current(index).rows() as f64;
        stats
    }
}

/// Nobody has a use for a scan of one, and there are none; the planner wants to be able to ask.
///
/// # Safety
/// As cost_index() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn cost(
    _root: *mut pg_sys::PlannerInfo,
    _path: *mut pg_sys::IndexPath,
    _loops: f64,
    startup: *mut pg_sys::Cost,
    total: *mut pg_sys::Cost,
    selectivity: *mut pg_sys::Selectivity,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: as the caller promises.
    unsafe {
        (*startup, *total) = (f64::INFINITY, f64::INFINITY);
        (*selectivity, *correlation, *pages) = (1.0, 0.0, 0.0);
    }
}

/// # Safety
/// As index_reloptions() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn options(_options: pg_sys::Datum, validates: bool) -> *mut pg_sys::bytea {
    if validates {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "join indexes have no storage parameters"
        );
    }
    std::ptr::null_mut()
}

/// Its operator class has neither operators nor functions.
///
/// # Safety
/// As amvalidate() calls it.
#[pg_guard]
unsafe extern "C-unwind" fn validate(_class: pg_sys::Oid) -> bool {
    true
}
