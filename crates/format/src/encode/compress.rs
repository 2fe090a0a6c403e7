//! General compression of one megapage.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::error::{Error, Result, corrupt};

/// The compressor of a leaf's megapages and Page 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// None.
    None,
    /// Snappy (block format), the paper's choice.
    #[default]
    Snappy,
    /// Zstandard at this level (1..=22; 0 means its default).
    Zstd(i32),
    /// LZ4 (block format).
    Lz4,
}

/// The codec of stored bytes, on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain = 0,
    Snappy = 1,
    Zstd = 2,
    Lz4 = 3,
}

impl Codec {
    pub(crate) fn from_u8(v: u8) -> Result<Self> {
        Ok(match v {
            0 => Self::Plain,
            1 => Self::Snappy,
            2 => Self::Zstd,
            3 => Self::Lz4,
            _ => return corrupt(format!("unknown compression {v}")),
        })
    }

    /// Its name, as the settings spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "none",
            Self::Snappy => "snappy",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        }
    }
}

thread_local! {
    /// Its table is worth keeping: most megapages are small.
    static SNAPPY: RefCell<snap::raw::Encoder> = RefCell::new(snap::raw::Encoder::new());
}

/// What memory is asked for.
const WHAT: &str = "compressed bytes";

/// Compresses `raw`; keeps it plain if that does not save at least a sixteenth.
pub(crate) fn compress(raw: &[u8], compression: Compression) -> Result<(Codec, Vec<u8>)> {
    // Block headers eat what such a small block could save.
    if raw.len() < 24 {
        return Ok((Codec::Plain, raw.to_vec()));
    }
    let io = |error: &dyn std::fmt::Display| Error::Io(error.to_string());
    let mut stored = Vec::new();
    let (codec, len) = match compression {
        Compression::None => return Ok((Codec::Plain, amax_memory::copy(raw, WHAT)?)),
        Compression::Snappy => {
            amax_memory::zero(&mut stored, snap::raw::max_compress_len(raw.len()), WHAT)?;
            let compress = |encoder: &mut snap::raw::Encoder| encoder.compress(raw, &mut stored[..]);
            let len = SNAPPY.with_borrow_mut(compress).map_err(|e| io(&e))?;
            (Codec::Snappy, len)
        }
        Compression::Zstd(level) => {
            amax_memory::zero(&mut stored, zstd::zstd_safe::compress_bound(raw.len()), WHAT)?;
            let len = zstd::bulk::compress_to_buffer(raw, &mut stored[..], level);
            (Codec::Zstd, len.map_err(|e| io(&e))?)
        }
        Compression::Lz4 => {
            let most = lz4_flex::block::get_maximum_output_size(raw.len());
            amax_memory::zero(&mut stored, most, WHAT)?;
            let len = lz4_flex::block::compress_into(raw, &mut stored);
            (Codec::Lz4, len.map_err(|e| io(&e))?)
        }
    };
    stored.truncate(len);
    if stored.len() + raw.len() / 16 >= raw.len() {
        drop(stored);
        return Ok((Codec::Plain, amax_memory::copy(raw, WHAT)?));
    }
    if stored.capacity() >= amax_memory::SMALL {
        // Much of it may be left.
        stored.shrink_to_fit();
    }
    Ok((codec, stored))
}

/// Decompresses into exactly `raw_len` bytes, which the caller has checked against its limits.
pub(crate) fn decompress(stored: Cow<'_, [u8]>, codec: Codec, raw_len: usize) -> Result<Cow<'_, [u8]>> {
    if codec == Codec::Plain {
        return if stored.len() == raw_len {
            Ok(stored)
        } else {
            corrupt("stored length differs from raw length")
        };
    }
    let mut raw = Vec::new();
    decompress_into(&stored, codec, raw_len, &mut raw)?;
    Ok(raw.into())
}

/// The same in place of what is in `raw`.
pub(crate) fn decompress_into(stored: &[u8], codec: Codec, raw_len: usize, raw: &mut Vec<u8>) -> Result<()> {
    raw.truncate(raw_len);
    amax_memory::reserve(raw, raw_len - raw.len(), "decompressed bytes")?;
    raw.resize(raw_len, 0);
    let n = match codec {
        Codec::Plain if stored.len() == raw_len => {
            raw.copy_from_slice(stored);
            raw_len
        }
        Codec::Plain => return corrupt("stored length differs from raw length"),
        Codec::Snappy => {
            if snap::raw::decompress_len(stored).ok() != Some(raw_len) {
                return corrupt("snappy length differs from the directory's");
            }
            snap::raw::Decoder::new()
                .decompress(stored, raw)
                .map_err(|e| Error::Corrupt(e.to_string()))?
        }
        Codec::Zstd => {
            zstd::bulk::decompress_to_buffer(stored, raw.as_mut_slice()).map_err(|e| Error::Corrupt(e.to_string()))?
        }
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, raw).map_err(|e| Error::Corrupt(e.to_string()))?,
    };
    if n != raw_len {
        return corrupt("decompressed length differs from the directory's");
    }
    Ok(())
}
