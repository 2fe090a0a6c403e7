//! What can go wrong.

/// An error of executing; the messages are PostgreSQL's where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `float_overflow_error` (`ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE`).
    #[error("value out of range: overflow")]
    FloatOverflow,
    /// `make_result` of numeric.c (`ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE`).
    #[error("value overflows numeric format")]
    NumericOverflow,
    /// Bytes that are not what they should be (`ERRCODE_DATA_CORRUPTED`).
    #[error("{0}")]
    Corrupt(&'static str),
    /// Memory was refused (`ERRCODE_OUT_OF_MEMORY`).
    #[error(transparent)]
    OutOfMemory(#[from] amax_memory::OutOfMemory),
    /// More than the structures here can number (`ERRCODE_PROGRAM_LIMIT_EXCEEDED`).
    #[error("aggregation exceeds a limit: {0}")]
    Limit(&'static str),
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;
