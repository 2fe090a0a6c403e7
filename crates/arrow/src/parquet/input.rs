//! What a file is read from.

use std::io;

/// What memory is asked for.
pub(super) const WHAT: &str = "reading a Parquet file";

/// A file that is read here and there.
pub trait ReadAt: Send + Sync + 'static {
    /// In bytes.
    fn size(&self) -> u64;

    /// Fills all of `to` with what the file has from there on, all of which is before its end.
    ///
    /// # Errors
    /// Those of the system's, or fewer bytes.
    fn read_at(&self, from: u64, to: &mut [u8]) -> io::Result<()>;

    /// Called between pieces of work that may take long.
    fn pause(&self) {}
}
