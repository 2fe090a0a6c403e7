//! Bit-packing, least significant bit first (Parquet's order).

use crate::error::{Result, corrupt};

/// Bits needed for `v`; 0 for 0.
#[inline]
pub fn width_of(v: u64) -> u32 {
    64 - v.leading_zeros()
}

/// Bytes that `n` values of `width` bits take.
#[inline]
pub(crate) fn packed_len(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

/// Values that [`pack_32`] takes.
pub(crate) const PACKED: usize = 32;

/// Appends what `of` makes of the values, each in the low `width` bits, padded to whole bytes.
pub(crate) fn pack<T: Copy>(out: &mut Vec<u8>, values: &[T], width: u32, of: impl Fn(T) -> u64) {
    let (from, end) = (out.len(), out.len() + packed_len(values.len(), width));
    let size = packed_len(PACKED, width);
    out.resize(from + values.len().div_ceil(PACKED) * size, 0);
    let mut words = [0; PACKED];
    for (part, to) in values.chunks(PACKED).zip(out[from..].chunks_exact_mut(size.max(1))) {
        // What is missing of the last is zeros.
        words[part.len()..].fill(0);
        for (word, &value) in words.iter_mut().zip(part) {
            *word = of(value);
        }
        pack_32(to, &mut words, width);
    }
    out.truncate(end);
}

/// Writes values that have no more bits than `width`, which is 64 at most, to as many bytes as they take.
pub(crate) fn pack_32(to: &mut [u8], values: &mut [u64; PACKED], width: u32) {
    /// Where each bit goes is known when this is compiled.
    fn of<const WIDTH: usize>(to: &mut [u8], values: &mut [u64; PACKED]) {
        let (mut count, mut width) = (PACKED, WIDTH);
        // Neighbours become one while that fits, of all at once: the loop below has to do one after the other.
        while width <= 32 && count > 8 {
            count /= 2;
            for i in 0..count {
                values[i] = values[2 * i] | values[2 * i + 1] << width;
            }
            width *= 2;
        }
        let (mut word, (words, half)) = (0, to[..PACKED / 8 * WIDTH].as_chunks_mut());
        let mut words = words.iter_mut();
        for (i, &value) in values[..count].iter().enumerate() {
            let shift = i * width % 64;
            word |= value << shift;
            if shift + width >= 64 {
                if let Some(bytes) = words.next() {
                    *bytes = word.to_le_bytes();
                }
                word = if shift + width > 64 { value >> (64 - shift) } else { 0 };
            }
        }
        // Of an odd width half a word is left.
        half.copy_from_slice(&word.to_le_bytes()[..half.len()]);
    }
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                $($width => of::<$width>(to, values),)*
                _ => unreachable!("values of {width} bits"),
            }
        };
    }
    by_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37
        38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64);
}

/// Value `i` of those of `width` bits, at most 64, in `bytes`; `None` past their end.
pub(crate) fn unpack_at(bytes: &[u8], i: usize, width: u32) -> Option<u64> {
    let bit = i.checked_mul(width as usize)?;
    let end = bit.checked_add(width as usize)?.div_ceil(8);
    let mut word = [0; 16];
    let held = bytes.get(bit / 8..end)?;
    word[..held.len()].copy_from_slice(held);
    let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
    Some((u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask)
}

/// Calls `f` with each of the `n` values of `width` bits in `bytes`.
///
/// # Errors
/// As [`unpack_some`].
#[inline]
pub(crate) fn unpack(bytes: &[u8], n: usize, width: u32, mut f: impl FnMut(u64)) -> Result<()> {
    unpack_some(bytes, n, width, |values| values.iter().for_each(|&value| f(value)))
}

/// Calls `f` with some after some of the `n` values of `width` bits in `bytes`.
///
/// # Errors
/// If `width` exceeds 64 or `bytes` is too short.
#[inline]
pub(crate) fn unpack_some(bytes: &[u8], n: usize, width: u32, mut f: impl FnMut(&[u64])) -> Result<()> {
    const SOME: usize = 128;
    if width > 64 {
        return corrupt("bit width exceeds 64");
    }
    if n.checked_mul(width as usize).is_none() || packed_len(n, width) > bytes.len() {
        return corrupt("bit-packed values are truncated");
    }
    let mut values = [[0; GROUP]; SOME / GROUP];
    for first in (0..n).step_by(SOME) {
        let some = SOME.min(n - first);
        let groups = &mut values[..some.div_ceil(GROUP)];
        read_groups(&bytes[first / GROUP * width as usize..], width, groups);
        f(&groups.as_flattened()[..some]);
    }
    Ok(())
}

/// Values that together begin and end with a byte.
const GROUP: usize = 8;

/// Groups of values of `width` bits; what is not there is zero.
fn read_groups(bytes: &[u8], width: u32, groups: &mut [[u64; GROUP]]) {
    /// Where each bit is is known when this is compiled. Eight bytes from a value's first byte always hold it.
    #[inline(always)]
    fn group<const WIDTH: usize>(bytes: &[u8]) -> [u64; GROUP] {
        let bytes = &bytes[..WIDTH + 8];
        std::array::from_fn(|i| {
            let bit = i * WIDTH;
            let word = bytes[bit / 8..]
                .first_chunk()
                .map_or(0, |word| u64::from_le_bytes(*word));
            word >> (bit % 8) & ((1 << WIDTH) - 1)
        })
    }
    fn of<const WIDTH: usize>(bytes: &[u8], groups: &mut [[u64; GROUP]]) {
        for (i, values) in groups.iter_mut().enumerate() {
            let bytes = &bytes[i * WIDTH..];
            if bytes.len() >= WIDTH + 8 {
                *values = group::<WIDTH>(bytes);
                continue;
            }
            let mut padded = [0; 64];
            let held = bytes.len().min(WIDTH);
            padded[..held].copy_from_slice(&bytes[..held]);
            *values = group::<WIDTH>(&padded);
        }
    }
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                0 => groups.fill([0; GROUP]),
                $($width => of::<$width>(bytes, groups),)*
                _ => {
                    for (i, value) in groups.as_flattened_mut().iter_mut().enumerate() {
                        *value = unpack_at(bytes, i, width).unwrap_or(0);
                    }
                }
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn roundtrip(values in prop::collection::vec(any::<u64>(), 0..200), width in 0u32..=64) {
            let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let values: Vec<u64> = values.iter().map(|v| v & mask).collect();
            let mut out = Vec::new();
            pack(&mut out, &values, width, |v| v);
            prop_assert_eq!(out.len(), packed_len(values.len(), width));
            let bit = |at: usize| u64::from(out[at / 8] >> (at % 8) & 1);
            for (i, &value) in values.iter().enumerate() {
                let from = i * width as usize;
                let found = (0..width as usize).fold(0, |found, at| found | bit(from + at) << at);
                prop_assert_eq!(found, value);
            }
            let mut back = Vec::new();
            unpack(&out, values.len(), width, |v| back.push(v)).unwrap();
            prop_assert_eq!(back, values);
        }
    }
}
