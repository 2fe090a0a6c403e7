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
/// If `width` exceeds 64 or `bytes` is too short.
#[inline]
pub(crate) fn unpack(bytes: &[u8], n: usize, width: u32, mut f: impl FnMut(u64)) -> Result<()> {
    if width > 64 {
        return corrupt("bit width exceeds 64");
    }
    if width == 0 {
        for _ in 0..n {
            f(0);
        }
        return Ok(());
    }
    if n.checked_mul(width as usize).is_none() || packed_len(n, width) > bytes.len() {
        return corrupt("bit-packed values are truncated");
    }
    match width {
        8 => bytes[..n].iter().for_each(|&b| f(u64::from(b))),
        16 => bytes[..2 * n]
            .as_chunks()
            .0
            .iter()
            .for_each(|&b| f(u64::from(u16::from_le_bytes(b)))),
        1..=56 => {
            let mask = (1u64 << width) - 1;
            let width = width as usize;
            // Eight bytes from the value's first byte always hold it.
            let fast = if bytes.len() < 8 {
                0
            } else {
                n.min(((bytes.len() - 8) * 8 + 7) / width)
            };
            let mut bit = 0;
            for _ in 0..fast {
                let at = bit / 8;
                let word = match bytes[at..].first_chunk() {
                    Some(word) => u64::from_le_bytes(*word),
                    None => 0,
                };
                f((word >> (bit % 8)) & mask);
                bit += width;
            }
            for _ in fast..n {
                f(slow(bytes, bit, width) & mask);
                bit += width;
            }
        }
        _ => {
            let mask = u64::MAX >> (64 - width);
            for i in 0..n {
                f(slow(bytes, i * width as usize, width as usize) & mask);
            }
        }
    }
    Ok(())
}

fn slow(bytes: &[u8], bit: usize, width: usize) -> u64 {
    let last = (bit + width).div_ceil(8).min(bytes.len());
    let mut word = 0u128;
    for (i, &byte) in bytes[bit / 8..last].iter().enumerate() {
        word |= u128::from(byte) << (8 * i);
    }
    (word >> (bit % 8)) as u64
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
