//! Errors of this module, raised as PostgreSQL errors.

use super::format::Format;
use arrow_schema::ArrowError;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// A value or a type that Arrow cannot hold; the caller knows the column and the row.
pub struct Unrepresentable {
    pub code: PgSqlErrorCode,
    /// A sentence: what is wrong.
    pub detail: String,
    /// A sentence: what to do about it.
    pub hint: &'static str,
}

impl Unrepresentable {
    pub fn new(code: PgSqlErrorCode, detail: impl Into<String>, hint: &'static str) -> Self {
        Self {
            code,
            detail: detail.into(),
            hint,
        }
    }

    /// Raises the error for a value. `row` counts the rows of the result from 1.
    pub fn raise_value(self, column: &str, row: u64, format: Format) -> ! {
        raise(
            self.code,
            format!(
                "value in column \"{column}\" of row {row} cannot be represented in {}",
                format.name()
            ),
            Some(self.detail),
            Some(self.hint.to_owned()),
        )
    }

    /// Raises the error for a whole column, before any row is read.
    pub fn raise_column(self, column: &str, format: Format) -> ! {
        raise(
            self.code,
            format!("column \"{column}\" cannot be represented in {}", format.name()),
            Some(self.detail),
            Some(self.hint.to_owned()),
        )
    }
}

/// `ereport(ERROR, …)`. The error travels as a Rust panic to the nearest guard, so destructors run.
pub fn raise(code: PgSqlErrorCode, message: impl Into<String>, detail: Option<String>, hint: Option<String>) -> ! {
    let mut report = ErrorReport::new(code, message.into(), "amax::arrow");
    if let Some(detail) = detail {
        report = report.set_detail(detail);
    }
    if let Some(hint) = hint {
        report = report.set_hint(hint);
    }
    report.report(PgLogLevel::ERROR);
    unreachable!("an error report at level ERROR does not return")
}

/// Raises a plain error without detail and hint.
pub fn fail(code: PgSqlErrorCode, message: impl Into<String>) -> ! {
    raise(code, message, None, None)
}

/// Raises what arrow-rs reports. Values were checked before, so this is a bug or a lack of memory.
pub fn raise_arrow(error: ArrowError) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        "could not encode an Arrow record batch",
        Some(format!("{error}.")),
        None,
    )
}
