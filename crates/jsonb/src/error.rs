//! What can go wrong.

/// An error of reading, building or parsing; the messages follow PostgreSQL's style.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes end before the structure they announce (`ERRCODE_DATA_CORRUPTED`).
    #[error("jsonb value is truncated")]
    Truncated,
    /// The bytes are not a jsonb or numeric value (`ERRCODE_DATA_CORRUPTED`).
    #[error("invalid jsonb value: {0}")]
    Corrupt(&'static str),
    /// A container or string exceeds `JENTRY_OFFLENMASK`, 268435455 bytes
    /// (`ERRCODE_PROGRAM_LIMIT_EXCEEDED`).
    #[error("total size of jsonb container elements exceeds the maximum of 268435455 bytes")]
    TooLarge,
    /// A number does not fit numeric's weight or display scale
    /// (`ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE`).
    #[error("value overflows numeric format")]
    NumericOverflow,
    /// Text that is not a number (`ERRCODE_INVALID_TEXT_REPRESENTATION`).
    #[error("invalid input syntax for type numeric")]
    NumericSyntax,
    /// Text that is not JSON, or holds what jsonb cannot (`ERRCODE_INVALID_TEXT_REPRESENTATION`,
    /// for `\u0000` `ERRCODE_UNTRANSLATABLE_CHARACTER`).
    #[error("invalid input syntax for type json: {message} at byte {offset}")]
    Syntax {
        /// Bytes from the start of the text.
        offset: usize,
        /// What is wrong there.
        message: String,
    },
    /// Text longer than [`crate::TextWriter`] may write (`ERRCODE_PROGRAM_LIMIT_EXCEEDED`).
    #[error("text of a jsonb value is too long")]
    TextTooLong,
    /// Memory was refused (`ERRCODE_OUT_OF_MEMORY`).
    #[error(transparent)]
    OutOfMemory(#[from] amax_memory::OutOfMemory),
    /// Calls on a [`crate::Builder`] that do not form one value.
    #[error("jsonb builder misused: {0}")]
    Misuse(&'static str),
}
