//! Bytes as they are stored: compressed, with a checksum.

use std::borrow::Cow;

use crate::budget::Budget;
use crate::bytes::{Reader, put_varint};
use crate::encode::compress::{Codec, Compression, compress, decompress};
use crate::error::{Error, Result, corrupt};

/// A megapage as stored. It is empty (and not there) if `raw_len` is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blob {
    pub(crate) codec: Codec,
    pub(crate) stored_len: u32,
    pub(crate) raw_len: u32,
    pub(crate) crc: u32,
    pub(crate) offset: u64,
}

impl Blob {
    pub(crate) fn of(raw: &[u8], compression: Compression) -> Result<(Self, Vec<u8>)> {
        let (codec, stored) = compress(raw, compression)?;
        let too_large = |_| Error::Limit("4 GiB in one megapage");
        let blob = Self {
            codec,
            stored_len: u32::try_from(stored.len()).map_err(too_large)?,
            raw_len: u32::try_from(raw.len()).map_err(too_large)?,
            crc: crc32c::crc32c(&stored),
            offset: 0,
        };
        Ok((blob, stored))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.raw_len));
        if self.raw_len == 0 {
            return;
        }
        out.push(self.codec as u8);
        if self.codec != Codec::Plain {
            put_varint(out, u64::from(self.stored_len));
        }
        out.extend_from_slice(&self.crc.to_le_bytes());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let raw_len = reader.count(u32::MAX as usize, "megapage length")? as u32;
        let mut blob = Self {
            codec: Codec::Plain,
            stored_len: raw_len,
            raw_len,
            crc: 0,
            offset: 0,
        };
        if raw_len > 0 {
            blob.codec = Codec::from_u8(reader.u8()?)?;
            if blob.codec != Codec::Plain {
                blob.stored_len = reader.count(raw_len as usize, "megapage length")? as u32;
            }
            blob.crc = reader.u32()?;
        }
        Ok(blob)
    }
}

/// The raw bytes of a stored megapage.
pub(crate) fn unpack<'a>(
    stored: Cow<'a, [u8]>,
    blob: &Blob,
    budget: &mut Budget,
    lenient: bool,
) -> Result<Cow<'a, [u8]>> {
    check(&stored, blob, lenient)?;
    budget.take(blob.raw_len as usize)?;
    decompress(stored, blob.codec, blob.raw_len as usize)
}

/// Whether stored bytes are those that were written.
pub(crate) fn check(stored: &[u8], blob: &Blob, lenient: bool) -> Result<()> {
    if crc32c::crc32c(stored) != blob.crc && !lenient {
        return corrupt("checksum of a megapage differs");
    }
    Ok(())
}
