//! General compression of one megapage.

use std::borrow::Cow;
use std::cell::RefCell;
use std::thread::LocalKey;

use zstd_safe::{CCtx, DCtx, SafeResult, zstd_sys::ZSTD_ErrorCode};

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
pub enum Codec {
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
    static COMPRESSOR: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// What memory is asked for.
const WHAT: &str = "compressed bytes";

/// Bytes that a context of zstd's takes at most, at its default level. It takes them from the system itself, and does
/// not say how many it was refused.
const CONTEXT: usize = 2 << 20;

/// Runs zstd with a context that is made once and kept. `wrong` says what its errors mean, but for want of memory.
fn zstd<C>(
    kept: &'static LocalKey<RefCell<Option<C>>>,
    create: fn() -> Option<C>,
    run: impl FnOnce(&mut C) -> SafeResult,
    wrong: fn(String) -> Error,
) -> Result<usize> {
    const REFUSED: usize = (ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();
    kept.with_borrow_mut(|context| {
        if context.is_none() {
            *context = create();
        }
        context.as_mut().map_or(Err(REFUSED), run)
    })
    .map_err(|code| match code {
        REFUSED => amax_memory::OutOfMemory {
            bytes: CONTEXT,
            what: "zstd's state",
        }
        .into(),
        _ => wrong(zstd_safe::get_error_name(code).to_string()),
    })
}

/// Compresses `raw`; keeps it plain if that does not save at least a sixteenth.
pub(crate) fn compress(raw: &[u8], compression: Compression) -> Result<(Codec, Vec<u8>)> {
    // Block headers eat what such a small block could save.
    if raw.len() < 24 {
        return Ok((Codec::Plain, raw.to_vec()));
    }
    let codec = match compression {
        Compression::None => Codec::Plain,
        Compression::Snappy => Codec::Snappy,
        Compression::Zstd(_) => Codec::Zstd,
        Compression::Lz4 => Codec::Lz4,
    };
    let mut stored = compressed(raw, compression)?;
    if codec != Codec::Plain && stored.len() + raw.len() / 16 >= raw.len() {
        drop(stored);
        return Ok((Codec::Plain, amax_memory::copy(raw, WHAT)?));
    }
    if stored.capacity() >= amax_memory::SMALL {
        // Much of it may be left.
        stored.shrink_to_fit();
    }
    Ok((codec, stored))
}

/// Compresses, whether that saves anything or not.
///
/// # Errors
/// Memory was refused.
pub fn compressed(raw: &[u8], compression: Compression) -> Result<Vec<u8>> {
    let io = |error: &dyn std::fmt::Display| Error::Io(error.to_string());
    let mut stored = Vec::new();
    let len = match compression {
        Compression::None => return Ok(amax_memory::copy(raw, WHAT)?),
        Compression::Snappy => {
            amax_memory::zero(&mut stored, snap::raw::max_compress_len(raw.len()), WHAT)?;
            let compress = |encoder: &mut snap::raw::Encoder| encoder.compress(raw, &mut stored[..]);
            SNAPPY.with_borrow_mut(compress).map_err(|e| io(&e))?
        }
        Compression::Zstd(level) => {
            amax_memory::zero(&mut stored, zstd_safe::compress_bound(raw.len()), WHAT)?;
            let compress = |context: &mut CCtx| context.compress(&mut stored[..], raw, level);
            zstd(&COMPRESSOR, CCtx::try_create, compress, Error::Io)?
        }
        Compression::Lz4 => {
            let most = lz4_flex::block::get_maximum_output_size(raw.len());
            amax_memory::zero(&mut stored, most, WHAT)?;
            lz4_flex::block::compress_into(raw, &mut stored).map_err(|e| io(&e))?
        }
    };
    stored.truncate(len);
    Ok(stored)
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
    decompress_exact(stored, codec, raw)
}

/// Decompresses into exactly as many bytes as there is room for.
///
/// # Errors
/// They are fewer or more, or not what the codec makes; or zstd's state was refused memory.
pub fn decompress_exact(stored: &[u8], codec: Codec, raw: &mut [u8]) -> Result<()> {
    let raw_len = raw.len();
    let n = match codec {
        Codec::Plain if stored.len() == raw_len => {
            raw.copy_from_slice(stored);
            raw_len
        }
        Codec::Plain => return corrupt("stored length differs from raw length"),
        Codec::Snappy => {
            if snap::raw::decompress_len(stored).ok() != Some(raw_len) {
                return corrupt("snappy length is not the one that is expected");
            }
            snap::raw::Decoder::new()
                .decompress(stored, raw)
                .map_err(|e| Error::Corrupt(e.to_string()))?
        }
        Codec::Zstd => {
            let decompress = |context: &mut DCtx| context.decompress(raw, stored);
            zstd(&DECOMPRESSOR, DCtx::try_create, decompress, Error::Corrupt)?
        }
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, raw).map_err(|e| Error::Corrupt(e.to_string()))?,
    };
    if n != raw_len {
        return corrupt("decompressed length is not the one that is expected");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As by the system, when it has no memory.
    #[test]
    fn zstd_without_memory_is_out_of_memory() {
        let refused = |error| matches!(error, Err(Error::OutOfMemory(_)));
        thread_local! { static NONE: RefCell<Option<CCtx<'static>>> = const { RefCell::new(None) } }
        assert!(refused(zstd(&NONE, || None, |_| Ok(0), Error::Io)));
        let code = |name: ZSTD_ErrorCode| Err((name as usize).wrapping_neg());
        let memory = code(ZSTD_ErrorCode::ZSTD_error_memory_allocation);
        assert!(refused(zstd(&NONE, CCtx::try_create, |_| memory, Error::Io)));
        let other = code(ZSTD_ErrorCode::ZSTD_error_corruption_detected);
        let found = zstd(&NONE, CCtx::try_create, |_| other, Error::Corrupt);
        assert!(matches!(found, Err(Error::Corrupt(_))));
    }

    #[test]
    fn contexts_of_zstd_stay_small() {
        let raw: Vec<u8> = (0..8u32 << 20).map(|i| (i.wrapping_mul(i) >> 13) as u8).collect();
        let (codec, stored) = compress(&raw, Compression::Zstd(3)).unwrap();
        assert_eq!(decompress(stored.into(), codec, raw.len()).unwrap(), raw);
        let sizes = [
            COMPRESSOR.with_borrow(|context| context.as_ref().map(CCtx::sizeof)),
            DECOMPRESSOR.with_borrow(|context| context.as_ref().map(DCtx::sizeof)),
        ];
        assert_eq!(codec, Codec::Zstd);
        assert!(
            sizes.iter().all(|size| size.is_some_and(|size| size <= CONTEXT)),
            "{sizes:?}"
        );
    }
}
