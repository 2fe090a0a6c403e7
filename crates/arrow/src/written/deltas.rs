//! Numbers as what each is more than the one before. (Parquet, "Encodings": DELTA_BINARY_PACKED.)

use super::bits::{GROUP, pack, put_varint, width};
use super::whole::Whole;

/// Differences that have a least one in common, and those of them that have a width in common: as all who write Parquet have them.
const BLOCK: usize = 128;
const MINIS: usize = BLOCK / GROUP;

/// Appends numbers. Differences go around at the ends of their type, and so do sums of them.
pub(super) fn put<T: Whole>(numbers: &[T], to: &mut Vec<u8>) {
    let Some((&first, rest)) = numbers.split_first() else {
        [BLOCK, MINIS, 0, 0]
            .into_iter()
            .for_each(|number| put_varint(number as u64, to));
        return;
    };
    [BLOCK, MINIS, numbers.len()]
        .into_iter()
        .for_each(|number| put_varint(number as u64, to));
    put_signed(first.signed(), to);
    let before = numbers.chunks(BLOCK);
    let mut differences = [T::default(); BLOCK];
    for (block, before) in rest.chunks(BLOCK).zip(before) {
        for ((difference, &number), &before) in differences.iter_mut().zip(block).zip(before) {
            *difference = number.less(before);
        }
        put_block(&differences[..block.len()], to);
    }
}

/// Parts of the last block that have no numbers have no bits.
fn put_block<T: Whole>(differences: &[T], to: &mut Vec<u8>) {
    let least = differences.iter().copied().fold(differences[0], T::min);
    put_signed(least.signed(), to);
    let widths = to.len();
    to.extend_from_slice(&[0; MINIS]);
    for (mini, differences) in differences.chunks(GROUP).enumerate() {
        let mut more = [0; GROUP];
        for (more, difference) in more.iter_mut().zip(differences) {
            *more = difference.less(least).unsigned();
        }
        let bits = width(more.iter().fold(0, |all, more| all | more));
        to[widths + mini] = bits as u8;
        pack(&more, bits, to);
    }
}

/// Small numbers of either sign are few bytes.
fn put_signed(number: i64, to: &mut Vec<u8>) {
    put_varint(((number << 1) ^ (number >> 63)).cast_unsigned(), to);
}
