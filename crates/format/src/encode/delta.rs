//! Parquet's DELTA_BINARY_PACKED: blocks of 128 deltas in four miniblocks, each bit-packed above the block's smallest
//! delta. Leaves have 64-bit integers.

use super::bitpack::{PACKED as MINI, pack_32, packed_len, unpack, unpack_some, width_of};
use crate::bytes::{Reader, put_varint, put_zigzag};
use crate::error::{Result, corrupt};

/// Deltas of a block.
pub(crate) const BLOCK: usize = 128;

/// An integer that Parquet has: deltas of 32 bits go around at the ends of these, so they cannot be made of 64.
pub trait Integer: Copy + Default + Ord + Into<i64> {
    /// The difference, around the ends of the type.
    fn less(self, other: Self) -> Self;

    /// The same bits.
    fn unsigned(self) -> u64;
}

impl Integer for i32 {
    fn less(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn unsigned(self) -> u64 {
        self.cast_unsigned().into()
    }
}

impl Integer for i64 {
    fn less(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn unsigned(self) -> u64 {
        self.cast_unsigned()
    }
}

/// Appends the stream of `values`.
pub fn encode<T: Integer>(out: &mut Vec<u8>, values: &[T]) {
    for number in [BLOCK, BLOCK / MINI, values.len()] {
        put_varint(out, number as u64);
    }
    put_zigzag(out, values.first().copied().unwrap_or_default().into());
    let mut deltas = [T::default(); BLOCK];
    for (block, before) in values.get(1..).unwrap_or(&[]).chunks(BLOCK).zip(values.chunks(BLOCK)) {
        for ((delta, &value), &before) in deltas.iter_mut().zip(block).zip(before) {
            *delta = value.less(before);
        }
        encode_block(out, &deltas[..block.len()]);
    }
}

/// Miniblocks of the last block that have no deltas have no bits.
fn encode_block<T: Integer>(out: &mut Vec<u8>, deltas: &[T]) {
    let min = deltas.iter().copied().fold(deltas[0], T::min);
    put_zigzag(out, min.into());
    let widths = out.len();
    out.extend_from_slice(&[0; BLOCK / MINI]);
    for (i, mini) in deltas.chunks(MINI).enumerate() {
        // The last miniblock is padded to its full length, as Parquet wants.
        let mut above = [0; MINI];
        for (above, delta) in above.iter_mut().zip(mini) {
            *above = delta.less(min).unsigned();
        }
        let width = width_of(above.iter().fold(0, |all, above| all | above));
        out[widths + i] = width as u8;
        let from = out.len();
        out.resize(from + packed_len(MINI, width), 0);
        pack_32(&mut out[from..], &mut above, width);
    }
}

/// Decodes a stream that must hold exactly `n` values, and advances `reader` past it.
pub(crate) fn decode(reader: &mut Reader<'_>, n: usize) -> Result<Vec<i64>> {
    let first = begin(reader, n)?;
    let mut out = Vec::with_capacity(n);
    if n > 0 {
        out.push(first);
    }
    let mut previous = first;
    minis(reader, n, |min, width, bytes, take| {
        unpack_some(bytes, take, width, |some| {
            out.extend(some.iter().map(|&d| {
                previous = previous.wrapping_add(min).wrapping_add(d as i64);
                previous
            }));
        })
    })?;
    Ok(out)
}

/// Decodes value `i` of `n`, and advances `reader` past the stream.
pub(crate) fn decode_at(reader: &mut Reader<'_>, n: usize, i: usize) -> Result<i64> {
    let mut value = begin(reader, n)?;
    let mut left = i;
    minis(reader, n, |min, width, bytes, take| {
        let take = take.min(left);
        left -= take;
        value = value.wrapping_add(min.wrapping_mul(take as i64));
        if width > 0 {
            unpack(bytes, take, width, |d| value = value.wrapping_add(d as i64))?;
        }
        Ok(())
    })?;
    Ok(value)
}

/// The first value.
fn begin(reader: &mut Reader<'_>, n: usize) -> Result<i64> {
    if reader.varint()? != BLOCK as u64 || reader.varint()? != (BLOCK / MINI) as u64 {
        return corrupt("unexpected delta block size");
    }
    if reader.varint()? != n as u64 {
        return corrupt("delta stream has an unexpected count");
    }
    reader.zigzag()
}

/// Passes each miniblock of deltas: the smallest delta of its block, bits of what they are above it, those, and how
/// many there are.
fn minis(reader: &mut Reader<'_>, n: usize, mut f: impl FnMut(i64, u32, &[u8], usize) -> Result<()>) -> Result<()> {
    let mut left = n.saturating_sub(1);
    while left > 0 {
        let min = reader.zigzag()?;
        let widths: [u8; BLOCK / MINI] = reader.array()?;
        for width in widths.map(u32::from) {
            if left == 0 {
                break;
            }
            let take = MINI.min(left);
            f(min, width, reader.bytes(packed_len(MINI, width))?, take)?;
            left -= take;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The worked examples of Parquet's specification (Encodings.md), with blocks of 128 in 4 miniblocks.
    #[test]
    fn as_specified() {
        let mut out = Vec::new();
        encode(&mut out, &[1, 2, 3, 4, 5]);
        assert_eq!(out, [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
        out.clear();
        // Deltas -2, -2, -2, 1, 1, 1, 1 above the smallest: 0 0 0 3 3 3 3 in two bits.
        encode(&mut out, &[7, 5, 3, 1, 2, 3, 4, 5]);
        assert_eq!(out[..5], [0x80, 1, 4, 8, 14]);
        assert_eq!(out[5..12], [3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111]);
    }

    proptest! {
        #[test]
        fn roundtrip(values in prop::collection::vec(prop_oneof![any::<i64>(), -5i64..5], 0..400)) {
            let mut out = Vec::new();
            encode(&mut out, &values);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(decode(&mut reader, values.len()).unwrap(), values);
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn hostile(bytes in prop::collection::vec(any::<u8>(), 0..80), n in 0usize..300) {
            let _ = decode(&mut Reader::new(&bytes), n);
        }
    }
}
