//! Random numbers that nobody has twice.

use pgrx::pg_sys;
use pgrx::prelude::*;

/// One that is not 0.
pub fn number() -> u128 {
    let mut bytes = [0; 16];
    // SAFETY: so many bytes.
    if !unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) } {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            "could not generate random values"
        );
    }
    u128::from_ne_bytes(bytes).max(1)
}
