//! Long columns in blocks, each encoded, compressed and checked by itself, so that reading one row does not decode the
//! column.
//!
//! A column whose values have a dictionary stays whole: the dictionary is what the values have in common, and its codes
//! are small.

use crate::blob::Blob;
use crate::encode::compress::Codec;
use crate::error::{Error, Result};

/// Where the blocks of a column are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// Values of each block but the last, which may have fewer.
    pub(crate) values: u32,
    /// The blocks; offsets are from the column's megapage.
    pub(crate) list: Vec<Blob>,
}

impl Blocks {
    /// The megapage that holds them.
    pub(crate) fn blob(&self) -> Result<Blob> {
        let len = self.list.iter().map(|b| u64::from(b.stored_len)).sum::<u64>();
        let len = u32::try_from(len).map_err(|_| Error::Limit("4 GiB in one megapage"))?;
        Ok(Blob {
            codec: Codec::Plain,
            stored_len: len,
            raw_len: len,
            crc: 0,
            offset: 0,
        })
    }

    /// Bytes decompressed.
    pub(crate) fn raw_len(&self) -> u64 {
        self.list.iter().map(|b| u64::from(b.raw_len)).sum()
    }

    /// How many values block `at` of a column of `count` has.
    pub(crate) fn count(&self, at: usize, count: usize) -> usize {
        let per = self.values as usize;
        count.saturating_sub(at.saturating_mul(per)).min(per)
    }
}
