//! Errors of crates/exec as PostgreSQL's.

use amax_exec::Error;
use pgrx::prelude::*;

/// Raises what it found as PostgreSQL's error.
pub fn raise(error: Error) -> ! {
    let code = match error {
        Error::OutOfMemory(error) => crate::memory::raise(error),
        Error::FloatOverflow | Error::NumericOverflow => PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
        Error::Limit(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        _ => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    };
    ereport!(ERROR, code, error.to_string());
}
