//! Pages as they are stored, decompressed into as many bytes as their headers say, and no more.

use std::io::{self, Read};

use amax_format::{Codec, decompress_exact};
use flate2::read::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use parquet::basic::Compression;

use super::input::WHAT;
use crate::error::Error;

/// The two blocks that the decoder of LZ4 frames keeps, of the largest size that there is.
const FRAME: usize = 2 * (8 << 20);

/// Whether pages that are compressed so are read.
pub(super) fn is_known(codec: Compression) -> bool {
    !matches!(codec, Compression::LZO | Compression::BROTLI(_))
}

/// Fills all of `to`.
pub(super) fn decompress(codec: Compression, stored: &[u8], to: &mut [u8]) -> Result<(), Error> {
    match codec {
        Compression::UNCOMPRESSED => of_leaves(Codec::Plain, stored, to),
        Compression::SNAPPY => of_leaves(Codec::Snappy, stored, to),
        Compression::ZSTD(_) => of_leaves(Codec::Zstd, stored, to),
        Compression::LZ4_RAW => of_leaves(Codec::Lz4, stored, to),
        Compression::GZIP(_) => all_of(MultiGzDecoder::new(stored), to).map_err(|error| damaged(&error.to_string())),
        // What was written by this name: as Hadoop frames blocks, as LZ4 does, or not at all.
        Compression::LZ4 => match hadoop(stored, to) {
            Some(()) => Ok(()),
            None => {
                amax_memory::ask(FRAME, WHAT)?;
                all_of(FrameDecoder::new(stored), to).or_else(|_| of_leaves(Codec::Lz4, stored, to))
            }
        },
        Compression::LZO | Compression::BROTLI(_) => Err(Error::Unsupported(format!("It is compressed with {codec}."))),
    }
}

/// By a codec that leaves have, too.
fn of_leaves(codec: Codec, stored: &[u8], to: &mut [u8]) -> Result<(), Error> {
    decompress_exact(stored, codec, to).map_err(failed)
}

fn failed(error: amax_format::Error) -> Error {
    match error {
        amax_format::Error::OutOfMemory(error) => Error::OutOfMemory(error),
        amax_format::Error::Corrupt(text) => damaged(&text),
        other => damaged(&other.to_string()),
    }
}

fn all_of(mut from: impl Read, to: &mut [u8]) -> io::Result<()> {
    from.read_exact(to)?;
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => Err(io::Error::other("a page has more bytes than its header says")),
    }
}

/// Blocks of LZ4, each behind two numbers: its size when it is decompressed, and before.
fn hadoop(mut stored: &[u8], mut to: &mut [u8]) -> Option<()> {
    while !stored.is_empty() {
        let (head, rest) = stored.split_first_chunk::<8>()?;
        let [size, compressed] =
            [&head[..4], &head[4..]].map(|part| part.iter().fold(0, |n, &byte| (n << 8) | usize::from(byte)));
        let (block, behind) = rest.split_at_checked(compressed)?;
        let (place, left) = to.split_at_mut_checked(size)?;
        decompress_exact(block, Codec::Lz4, place).ok()?;
        (stored, to) = (behind, left);
    }
    to.is_empty().then_some(())
}

fn damaged(text: &str) -> Error {
    Error::Damaged(format!(
        "A page cannot be decompressed: {}.",
        text.trim_end_matches('.')
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use parquet::basic::{Compression, GzipLevel};

    use super::{decompress, failed};
    use crate::error::Error;

    const PAGE: &[u8] = b"a page, a page, a page, a page";

    fn block(raw: &[u8]) -> Vec<u8> {
        lz4_flex::block::compress(raw)
    }

    fn framed(parts: &[&[u8]]) -> Vec<u8> {
        let parts = parts.iter().flat_map(|raw| {
            let block = block(raw);
            let sizes = [raw.len(), block.len()].map(|size| (size as u32).to_be_bytes());
            [sizes.concat(), block]
        });
        parts.flatten().collect()
    }

    fn gzip(raw: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(raw).unwrap();
        encoder.finish().unwrap()
    }

    fn stored() -> Vec<(Compression, Vec<u8>)> {
        let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
        frame.write_all(PAGE).unwrap();
        vec![
            (Compression::UNCOMPRESSED, PAGE.to_vec()),
            (Compression::GZIP(GzipLevel::default()), gzip(PAGE)),
            (
                Compression::GZIP(GzipLevel::default()),
                [gzip(&PAGE[..9]), gzip(&PAGE[9..])].concat(),
            ),
            (Compression::LZ4, framed(&[PAGE])),
            (Compression::LZ4, framed(&[&PAGE[..7], &PAGE[7..]])),
            (Compression::LZ4, frame.finish().unwrap()),
            (Compression::LZ4, block(PAGE)),
            (Compression::LZ4_RAW, block(PAGE)),
        ]
    }

    #[test]
    fn pages_have_the_size_that_their_headers_say() {
        for (codec, stored) in stored() {
            let mut page = [0; PAGE.len()];
            decompress(codec, &stored, &mut page).unwrap_or_else(|error| panic!("{codec}: {error}"));
            assert_eq!(page, PAGE, "{codec}");
            for size in [0, PAGE.len() - 1, PAGE.len() + 1] {
                assert!(
                    decompress(codec, &stored, &mut vec![0; size]).is_err(),
                    "{codec}, {size}"
                );
            }
            for end in 0..stored.len() {
                let mut cut = [0; PAGE.len()];
                // The mark of a frame's end may be missing, but nothing else.
                if decompress(codec, &stored[..end], &mut cut).is_ok() {
                    assert!(cut == PAGE && stored.len() - end <= 4, "{codec}, {end}");
                }
            }
        }
    }

    /// What zstd keeps it takes from the system.
    #[test]
    fn a_lack_of_memory_is_no_damage() {
        let refused = amax_memory::OutOfMemory {
            bytes: 1,
            what: "zstd's state",
        };
        assert!(matches!(failed(refused.into()), Error::OutOfMemory(found) if found == refused));
        assert!(matches!(
            failed(amax_format::Error::Corrupt("x".into())),
            Error::Damaged(_)
        ));
    }

    /// A thousand times its bytes, where a few are announced: no more is made of it.
    #[test]
    fn what_is_not_announced_is_not_made() {
        let zeros = gzip(&vec![0; 64 << 20]);
        assert!(decompress(Compression::GZIP(GzipLevel::default()), &zeros, &mut [0; 100]).is_err());
    }
}
