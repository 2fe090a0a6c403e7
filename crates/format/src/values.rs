//! The values of one column in memory, for writing and for random access after reading.

use crate::blocks::Lazy;
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
        let end = u32::try_from(self.data.len())
            .map_err(|_| Error::Limit("4 GiB of values in one column"))?;
        self.ends.push(end);
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

/// The values of a leaf column, in order.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Null, empty object, empty array: nothing but the number of them.
    None,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Decimal {
        mantissa: Vec<i64>,
        scale: Vec<u16>,
    },
    Bytes(ByteVec),
    /// `codes` are below `entries.len()`.
    Dictionary {
        entries: ByteVec,
        codes: Vec<u32>,
    },
    /// Raw bits, so that NaN payloads and -0 survive.
    Float4(Vec<u32>),
    Float8(Vec<u64>),
    /// Overflow: keys in jsonb's order, and a token stream per object.
    Rest {
        keys: ByteVec,
        records: ByteVec,
    },
    /// Read a block at a time, by [`crate::Leaf::lazy_column`] only.
    Lazy(Lazy),
}

impl Values {
    /// The byte string `i` of a `Bytes` or `Dictionary` column.
    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.get(i),
            Self::Dictionary { entries, codes } => entries.get(codes[i] as usize),
            _ => &[],
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bool(v) => v.len(),
            Self::Int(v) => v.len() * 8,
            Self::Decimal { mantissa, scale } => mantissa.len() * 8 + scale.len() * 2,
            Self::Bytes(v) => v.heap_bytes(),
            Self::Dictionary { entries, codes } => entries.heap_bytes() + codes.len() * 4,
            Self::Float4(v) => v.len() * 4,
            Self::Float8(v) => v.len() * 8,
            Self::Rest { keys, records } => keys.heap_bytes() + records.heap_bytes(),
            Self::Lazy(lazy) => lazy.heap_bytes(),
        }
    }
}
