//! What goes wrong within parquet's readers, as an error of ours.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

use super::input::ReadAt;
use super::pages::Chunks;
use crate::error::{Error, caught};

/// What parquet's readers make of damage is an error, mostly.
pub(super) fn checked<T, R: ReadAt>(chunks: &Chunks<R>, read: impl FnOnce() -> Result<T, Failure>) -> Result<T, Error> {
    caught(read)?.map_err(|failure| match failure {
        Failure::Own(error) => error,
        Failure::Theirs(error) => explained(chunks, error),
    })
}

/// An error of ours, or of parquet's and arrow-rs.
pub(super) enum Failure {
    Own(Error),
    Theirs(ParquetError),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Own(error)
    }
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Self {
        Self::Theirs(error)
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Theirs(ParquetError::ArrowError(match error {
            ArrowError::ParquetError(text) => text,
            other => other.to_string(),
        }))
    }
}

/// The error of a file, unless it was one of ours, on its way through parquet.
pub(super) fn explained<R: ReadAt>(chunks: &Chunks<R>, error: ParquetError) -> Error {
    if let Some(failed) = chunks.take_failed() {
        return failed;
    }
    match error {
        ParquetError::NYI(text) => Error::Unsupported(format!("{}.", text.trim_end_matches('.'))),
        other => Error::Damaged(format!("{}.", text_of(other))),
    }
}

/// What an error says, without its kinds in front or a period behind.
pub(super) fn text_of(error: ParquetError) -> String {
    let text = match error {
        ParquetError::General(text)
        | ParquetError::EOF(text)
        | ParquetError::NYI(text)
        | ParquetError::ArrowError(text) => text,
        other => other.to_string(),
    };
    let mut text = text.as_str();
    for prefix in ["Parquet error: ", "External: ", "EOF: ", "Arrow: "] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    text.trim_end_matches('.').to_owned()
}
