//! The memory that reading may take.

use crate::error::{Error, Result};

/// Memory that one call may still use, in bytes.
#[derive(Debug)]
pub(crate) struct Budget(pub(crate) usize);

impl Budget {
    pub(crate) fn take(&mut self, bytes: usize) -> Result<()> {
        self.0 = self
            .0
            .checked_sub(bytes)
            .ok_or(Error::Limit("memory to decode a column"))?;
        Ok(amax_memory::ask(bytes, "decoding a column")?)
    }
}
