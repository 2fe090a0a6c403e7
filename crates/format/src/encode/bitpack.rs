//! Bit-packing, least significant bit first (Parquet's order).

use crate::error::{Result, corrupt};

/// Bits needed for `v`; 0 for 0.
#[inline]
pub(crate) fn width_of(v: u64) -> u32 {
    64 - v.leading_zeros()
}

/// Bytes that `n` values of `width` bits take.
#[inline]
pub(crate) fn packed_len(n: usize, width: u32) -> usize {
    (n * width as usize).div_ceil(8)
}

/// Appends `values`, each in the low `width` bits, padded to whole bytes.
pub(crate) fn pack(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u32) {
    if width == 0 {
        return;
    }
    let (mut word, mut bits) = (0u64, 0u32);
    for v in values {
        word |= v << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            bits -= 64;
            // What did not fit of the value.
            word = v.checked_shr(width - bits).unwrap_or(0);
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// The same of groups of eight, which begin and end with a byte.
pub(crate) fn pack_groups(out: &mut Vec<u8>, values: &[u32], width: u32) {
    if width == 0 || width > 8 {
        return pack(out, values.iter().map(|&v| u64::from(v)), width);
    }
    out.reserve(values.len() * width as usize / 8 + 8);
    for group in values.as_chunks::<8>().0 {
        let at = |i: usize| u64::from(group[i]) << (i as u32 * width);
        let word = (at(0) | at(1)) | (at(2) | at(3)) | ((at(4) | at(5)) | (at(6) | at(7)));
        out.extend_from_slice(&word.to_le_bytes());
        out.truncate(out.len() - 8 + width as usize);
    }
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
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let values: Vec<u64> = values.iter().map(|v| v & mask).collect();
            let mut out = Vec::new();
            pack(&mut out, values.iter().copied(), width);
            prop_assert_eq!(out.len(), packed_len(values.len(), width));
            let groups: Vec<u32> = values.chunks_exact(8).flatten().map(|&v| v as u32).collect();
            if width <= 32 {
                let (mut one_by_one, mut by_group) = (Vec::new(), Vec::new());
                pack(&mut one_by_one, groups.iter().map(|&v| u64::from(v)), width);
                pack_groups(&mut by_group, &groups, width);
                prop_assert_eq!(by_group, one_by_one);
            }
            let mut back = Vec::new();
            unpack(&out, values.len(), width, |v| back.push(v)).unwrap();
            prop_assert_eq!(back, values);
        }
    }
}
