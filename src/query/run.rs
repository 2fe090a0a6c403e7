//! Whether the query that runs is read to its end in one go: not through a cursor, nor by a function that takes its first rows.

use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::Cell;

thread_local! {
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

pub fn is_whole() -> bool {
    WHOLE.get()
}

/// What was so before, for when a query within another has ended, be it by an error.
struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        WHOLE.set(self.0);
    }
}

static mut NEXT: pg_sys::ExecutorRun_hook_type = None;

pub fn init() {
    unsafe {
        NEXT = pg_sys::ExecutorRun_hook;
        pg_sys::ExecutorRun_hook = Some(executor_run);
    }
}

#[cfg(not(feature = "pg18"))]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
    once: bool,
) {
    let _before = Before(WHOLE.replace(count == 0 && once));
    // PostgreSQL's errors must not jump over our frames.
    match NEXT {
        Some(next) => pg_sys::ffi::pg_guard_ffi_boundary(|| next(query, direction, count, once)),
        None => pg_sys::standard_ExecutorRun(query, direction, count, once),
    }
}

#[cfg(feature = "pg18")]
#[pg_guard]
unsafe extern "C-unwind" fn executor_run(
    query: *mut pg_sys::QueryDesc,
    direction: pg_sys::ScanDirection::Type,
    count: u64,
) {
    let _before = Before(WHOLE.replace(count == 0));
    match NEXT {
        Some(next) => pg_sys::ffi::pg_guard_ffi_boundary(|| next(query, direction, count)),
        None => pg_sys::standard_ExecutorRun(query, direction, count),
    }
}
