//! Errors of the format crate as PostgreSQL's.

use crate::storage::manifest;
use pgrx::prelude::*;

/// Raises what the format crate found as a PostgreSQL error.
pub fn raise(error: amax_format::Error) -> ! {
    use amax_format::Error::*;
    if let Replaced = error {
        manifest::cancel_replaced();
    }
    let code = match &error {
        OutOfMemory(error) => crate::memory::raise(*error),
        Limit(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        Version(_) => PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        Corrupt(_) | Jsonb(_) | Io(_) => PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        _ => PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    };
    ereport!(ERROR, code, error.to_string());
}
