//! General compression of one megapage.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::error::{corrupt, Error, Result};

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

/// Compresses `raw`; keeps it plain if that does not save at least a sixteenth.
pub(crate) fn compress(raw: &[u8], compression: Compression) -> Result<(Codec, Vec<u8>)> {
    // Block headers eat what such a small block could save.
    if raw.len() < 24 {
        return Ok((Codec::Plain, raw.to_vec()));
    }
    let (codec, stored) = match compression {
        Compression::None => return Ok((Codec::Plain, raw.to_vec())),
        Compression::Snappy => (
            Codec::Snappy,
            SNAPPY
                .with_borrow_mut(|encoder| encoder.compress_vec(raw))
                .map_err(|e| Error::Io(e.to_string()))?,
        ),
        Compression::Zstd(level) => (
            Codec::Zstd,
            zstd::bulk::compress(raw, level).map_err(|e| Error::Io(e.to_string()))?,
        ),
        Compression::Lz4 => (Codec::Lz4, lz4_flex::block::compress(raw)),
    };
    if stored.len() + raw.len() / 16 >= raw.len() {
        return Ok((Codec::Plain, raw.to_vec()));
    }
    Ok((codec, stored))
}

/// Decompresses into exactly `raw_len` bytes, which the caller has checked against its limits.
pub(crate) fn decompress(
    stored: Cow<'_, [u8]>,
    codec: Codec,
    raw_len: usize,
) -> Result<Cow<'_, [u8]>> {
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
pub(crate) fn decompress_into(
    stored: &[u8],
    codec: Codec,
    raw_len: usize,
    raw: &mut Vec<u8>,
) -> Result<()> {
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
        Codec::Zstd => zstd::bulk::decompress_to_buffer(stored, raw.as_mut_slice())
            .map_err(|e| Error::Corrupt(e.to_string()))?,
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, raw)
            .map_err(|e| Error::Corrupt(e.to_string()))?,
    };
    if n != raw_len {
        return corrupt("decompressed length differs from the directory's");
    }
    Ok(())
}
