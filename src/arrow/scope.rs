//! How long a query lives, and what is made of it.

use std::ffi::CStr;

use pgrx::pg_sys;

/// The text of a query, and a promise: whoever has it may keep what PostgreSQL allocates for as long as `'a`.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    source: &'a CStr,
    environment: *mut pg_sys::QueryEnvironment,
}

impl<'a> Scope<'a> {
    /// # Safety
    /// The functions that take it are called with an active snapshot, and in a CurrentMemoryContext that lives for `'a`;
    /// so does the environment, if there is one. What they return is not used in a transaction that has failed.
    pub unsafe fn of(source: &'a CStr, environment: *mut pg_sys::QueryEnvironment) -> Self {
        Self { source, environment }
    }

    pub fn source(self) -> &'a CStr {
        self.source
    }

    /// For PostgreSQL's functions.
    pub fn environment(self) -> *mut pg_sys::QueryEnvironment {
        self.environment
    }
}
