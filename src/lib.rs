//! amax: a PostgreSQL table access method that stores documents as AMAX columnar components.
//!
//! This crate is the PostgreSQL edge: callbacks, pages, locks, WAL, hooks. Algorithms live in `crates/`.

// PostgreSQL's callbacks have as many arguments as they have.
#![allow(clippy::too_many_arguments)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks, ffi_unwind_calls)]

use pgrx::prelude::*;

mod am;
mod arrow;
mod columnar;
mod counters;
mod disguise;
mod encoding;
mod fault;
mod guc;
mod hash;
mod heap;
mod hints;
mod hooks;
mod inspect;
mod maintenance;
mod memory;
mod options;
mod pg;
mod query;
mod schema;
mod stats;
mod storage;
mod subtransaction;
mod table;
mod verify;

pgrx::pg_module_magic!();

/// Runs once per backend, when the library is first needed: it is never required in shared_preload_libraries.
#[pg_guard]
#[allow(non_snake_case)]
pub unsafe extern "C-unwind" fn _PG_init() {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: a setting.
    if unsafe { pg_sys::old_snapshot_threshold } >= 0 {
        // Heap notices that an old snapshot's rows are gone; nobody would here.
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "amax does not support old_snapshot_threshold",
            "Set it to -1 and restart the server."
        );
    }
    memory::init();
    guc::init();
    options::init();
    crate::arrow::init();
    query::init();
    hooks::init();
    // All settings are known now: a misspelt one is an error, not a setting without effect.
    // SAFETY: a name that lasts.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"amax".as_ptr()) };
}
