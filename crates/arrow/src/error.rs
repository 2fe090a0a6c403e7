//! What can be wrong with what comes in.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use amax_memory::OutOfMemory;
use arrow_schema::{ArrowError, DataType};

/// A stream or a file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not what it says; a sentence.
    #[error("{0}")]
    Damaged(String),
    /// It has something that is not read; a sentence.
    #[error("{0}")]
    Unsupported(String),
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        let text = match error {
            ArrowError::IpcError(text)
            | ArrowError::ParseError(text)
            | ArrowError::SchemaError(text)
            | ArrowError::InvalidArgumentError(text) => text,
            other => other.to_string(),
        };
        Self::Damaged(format!("{}.", text.trim_end_matches('.')))
    }
}

/// Runs a library on what is not trusted: a panic of its is damage, too. Panics that are no texts are somebody else's.
pub(crate) fn caught<T>(read: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let Some(text) = text.or_else(|| panic.downcast_ref::<&str>().copied()) else {
            resume_unwind(panic)
        };
        Error::Damaged(format!("It contradicts itself: {}.", text.trim_end_matches('.')))
    })
}

/// A column whose values a target cannot take, whatever they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsuited {
    /// Of the column or, within nested ones, of its part.
    pub data_type: DataType,
    /// What to do about it; a sentence.
    pub hint: &'static str,
}

/// A value that its target cannot hold; a sentence, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    pub detail: &'static str,
    pub hint: &'static str,
}

/// Why a value is not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unwritten {
    Unfit(Unfit),
    /// More than PostgreSQL's COPY takes.
    TooLong,
    OutOfMemory(OutOfMemory),
}

impl From<Unfit> for Unwritten {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

impl From<OutOfMemory> for Unwritten {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}
