//! Byte strings in memory.

use crate::error::{Error, Result};

/// Byte strings back to back.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteVec {
    /// Where each string ends in `data`.
    pub(crate) ends: Vec<u32>,
    pub(crate) data: Vec<u8>,
}

impl ByteVec {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// # Errors
    /// If the strings together would exceed 4 GiB.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        amax_memory::extend(&mut self.data, bytes, "strings of a column")?;
        self.end()
    }

    /// Ends the string that was appended to `data` directly.
    #[inline]
    pub(crate) fn end(&mut self) -> Result<()> {
        let end = u32::try_from(self.data.len()).map_err(|_| Error::Limit("4 GiB of values in one column"))?;
        self.ends.push(end);
        Ok(())
    }

    /// Appends some strings of others.
    ///
    /// # Errors
    /// As [`ByteVec::push`].
    pub(crate) fn extend(&mut self, from: &Self, range: std::ops::Range<u32>) -> Result<()> {
        let (first, end) = (range.start as usize, range.end as usize);
        let start = first.checked_sub(1).map_or(0, |before| from.ends[before]);
        let ends = &from.ends[first..end];
        let bytes = &from.data[start as usize..ends.last().map_or(start, |&end| end) as usize];
        let base = self.data.len();
        if u32::try_from(base + bytes.len()).is_err() {
            return Err(Error::Limit("4 GiB of values in one column"));
        }
        amax_memory::extend(&mut self.data, bytes, "strings of a column")?;
        amax_memory::reserve(&mut self.ends, ends.len(), "strings of a column")?;
        self.ends.extend(ends.iter().map(|end| end - start + base as u32));
        Ok(())
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.data[start as usize..self.ends[i] as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.data.len() + self.ends.len() * 4
    }
}
