//! What can go wrong.

/// An error of writing or reading a leaf; the messages follow PostgreSQL's style.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a sound leaf (`ERRCODE_DATA_CORRUPTED`).
    #[error("columnar leaf is corrupted: {0}")]
    Corrupt(String),
    /// A leaf of a version this code does not read (`ERRCODE_FEATURE_NOT_SUPPORTED`).
    #[error("columnar leaf has unsupported format version {0}")]
    Version(u16),
    /// A limit of the format or of the memory granted (`ERRCODE_PROGRAM_LIMIT_EXCEEDED`).
    #[error("columnar leaf exceeds a limit: {0}")]
    Limit(&'static str),
    /// A jsonb or numeric value could not be read or built.
    #[error(transparent)]
    Jsonb(amax_jsonb::Error),
    /// The storage below could not be read.
    #[error("could not read columnar leaf: {0}")]
    Io(String),
    /// The storage below has given the leaf's place to something else: its rows are in another leaf now
    /// (`ERRCODE_T_R_SERIALIZATION_FAILURE`).
    #[error("columnar leaf has been replaced")]
    Replaced,
    /// Memory was refused (`ERRCODE_OUT_OF_MEMORY`).
    #[error(transparent)]
    OutOfMemory(#[from] amax_memory::OutOfMemory),
    /// Calls that break the contract of the interface (`ERRCODE_INTERNAL_ERROR`).
    #[error("columnar leaf interface misused: {0}")]
    Misuse(&'static str),
}

impl Error {
    /// Whether it is that a document's text is longer than asked for.
    pub fn is_of_long_text(&self) -> bool {
        matches!(self, Self::Jsonb(amax_jsonb::Error::TextTooLong))
    }
}

impl From<amax_jsonb::Error> for Error {
    fn from(error: amax_jsonb::Error) -> Self {
        match error {
            amax_jsonb::Error::OutOfMemory(error) => Self::OutOfMemory(error),
            error => Self::Jsonb(error),
        }
    }
}

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Shorthand for [`Error::Corrupt`].
pub(crate) fn corrupt<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Corrupt(what.into()))
}
