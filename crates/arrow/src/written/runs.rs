//! Levels, and which value of a dictionary each is: runs of one number, and numbers of a few bits each in between.
//! (Parquet, "Encodings": RLE, the hybrid of run lengths and bit packing.)

use super::bits::{GROUP, pack, put_varint};

/// So many of one number are a run; fewer are packed. A multiple of eight, as that many are packed together.
const LONG: usize = 64;

/// Appends numbers of so many bits at most.
pub(super) fn put(numbers: &[u32], width: usize, to: &mut Vec<u8>) {
    let (mut packed, mut at) = (0, 0);
    while at + LONG <= numbers.len() {
        let first = numbers[at];
        if numbers[at..at + LONG].iter().any(|&number| number != first) {
            at += LONG;
            continue;
        }
        let is_other = |&number: &u32| number != first;
        let more = numbers[at + LONG..].iter().position(is_other);
        let end = more.map_or(numbers.len(), |more| at + LONG + more);
        put_packed(&numbers[packed..at], width, to);
        put_run(first, end - at, width, to);
        (packed, at) = (end, end);
    }
    put_packed(&numbers[packed..], width, to);
}

/// Appends one number many times.
pub(super) fn put_run(number: u32, count: usize, width: usize, to: &mut Vec<u8>) {
    put_varint((count as u64) << 1, to);
    to.extend_from_slice(&number.to_le_bytes()[..width.div_ceil(8)]);
}

/// What is missing of the last eight is zeros, which nobody reads.
fn put_packed(numbers: &[u32], width: usize, to: &mut Vec<u8>) {
    if numbers.is_empty() {
        return;
    }
    let eights = numbers.len().div_ceil(8);
    put_varint((eights as u64) << 1 | 1, to);
    let end = to.len() + eights * width;
    to.reserve(eights * width + 4 * width);
    let mut group = [0; GROUP];
    for part in numbers.chunks(GROUP) {
        group[part.len()..].fill(0);
        for (place, &number) in group.iter_mut().zip(part) {
            *place = number.into();
        }
        pack(&group, width, to);
    }
    to.truncate(end);
}
