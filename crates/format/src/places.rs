//! Places of values that pass a test, without a branch for each: what passes is hard to predict.

use std::ops::Range;

/// Values whose bits are looked up together, and those that are tested together.
pub(crate) const BYTE: usize = 8;
pub(crate) const GROUP: usize = 64;

/// The range that ascending places are, of which none is there twice, if none is left out; None of none.
pub fn consecutive(places: &[u32]) -> Option<Range<usize>> {
    debug_assert!(places.is_sorted_by(|a, b| a < b), "places ascend");
    let (first, last) = (*places.first()? as usize, *places.last()? as usize);
    (last - first + 1 == places.len()).then_some(first..last + 1)
}

/// So few of a group's values are found one by one.
const FEW: u32 = 4;

/// For each set of values in a byte of bits: their places, the least first.
static PLACES: [[u32; BYTE]; 1 << BYTE] = places_of_sets();

const fn places_of_sets() -> [[u32; BYTE]; 1 << BYTE] {
    let mut all = [[0; BYTE]; 1 << BYTE];
    let mut set = 0;
    while set < all.len() {
        let (mut at, mut n) = (0, 0);
        while at < BYTE {
            if set >> at & 1 == 1 {
                all[set][n] = at as u32;
                n += 1;
            }
            at += 1;
        }
        set += 1;
    }
    all
}

/// A bit for each value that has passed, the first in the last bit.
#[inline]
pub(crate) fn set_of(passed: &[u8; GROUP]) -> u64 {
    let (bytes, _) = passed.as_chunks::<BYTE>();
    let mut set = 0;
    for (at, &bytes) in bytes.iter().enumerate() {
        // The last bit of each byte becomes one of the uppermost byte: no two meet below it.
        let bits = u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        set |= bits << (at * BYTE);
    }
    set
}

/// What a group's values give: a comparison or two for each, which are vector instructions together.
#[inline(always)]
pub(crate) fn tested<T: Copy>(group: &[T], passes: impl Fn(T) -> bool) -> [u8; GROUP] {
    let mut passed = [0; GROUP];
    for (passed, &value) in passed.iter_mut().zip(group) {
        *passed = u8::from(passes(value));
    }
    passed
}

/// A bit for each value of a group that passes. Bits stay in registers: bytes that are written one by one cannot be read together at once.
#[inline(always)]
pub(crate) fn set_found(passes: impl Fn(usize) -> bool) -> u64 {
    let mut set = 0;
    for byte in (0..GROUP).step_by(BYTE) {
        let bits = (0..BYTE).fold(0, |bits, at| bits | u64::from(passes(byte + at)) << at);
        set |= bits << byte;
    }
    set
}

/// The numbers of the values that pass, ascending, where the first value has number `first`.
#[inline]
pub fn places_where<T: Copy>(values: &[T], first: u32, passes: impl Fn(T) -> bool) -> Vec<u32> {
    let test = |at: usize| set_of(&tested(&values[at..at + GROUP], &passes));
    places(values.len(), first, test, |at| passes(values[at]))
}

/// The places of the values that pass, ascending. The test may look something up.
#[inline]
pub fn places_found<T: Copy>(values: &[T], passes: impl Fn(T) -> bool) -> Vec<u32> {
    let test = |at: usize| {
        let group: &[T; GROUP] = values[at..].first_chunk().expect("a group");
        set_found(|i| passes(group[i]))
    };
    places(values.len(), 0, test, |at| passes(values[at]))
}

/// The places below `n` that pass, ascending. The test may look something up.
#[inline]
pub fn places_that(n: usize, passes: impl Fn(usize) -> bool) -> Vec<u32> {
    let test = |at: usize| set_found(|i| passes(at + i));
    places(n, 0, test, &passes)
}

#[inline(always)]
fn places(n: usize, first: u32, test: impl Fn(usize) -> u64, passes: impl Fn(usize) -> bool) -> Vec<u32> {
    let mut found = vec![0; n + BYTE];
    let mut count = 0;
    let groups = n - n % GROUP;
    for start in (0..groups).step_by(GROUP) {
        count += put(test(start), first + start as u32, &mut found[count..]);
    }
    for at in groups..n {
        found[count] = first + at as u32;
        count += usize::from(passes(at));
    }
    found.truncate(count);
    found
}

/// Puts the numbers of a set's values behind one another, where the first of the group has number `at`; how many there are. There is room
/// for a byte's more.
#[inline(always)]
pub(crate) fn put(mut set: u64, at: u32, found: &mut [u32]) -> usize {
    let mut count = 0;
    if set.count_ones() <= FEW {
        while set != 0 {
            found[count] = at + set.trailing_zeros();
            count += 1;
            set &= set - 1;
        }
        return count;
    }
    for byte in (0..GROUP as u32).step_by(BYTE) {
        let bits = (set >> byte) as u8;
        let places = PLACES[usize::from(bits)].map(|place| at + byte + place);
        found[count..count + BYTE].copy_from_slice(&places);
        count += bits.count_ones() as usize;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_passes_is_found(values in proptest::collection::vec(any::<u8>(), 0..300), first in 0..1000u32, least in any::<u8>()) {
            let expected = (first..).zip(&values).filter(|&(_, &value)| value >= least).map(|(place, _)| place);
            let expected: Vec<u32> = expected.collect();
            prop_assert_eq!(&places_where(&values, first, |value| value >= least), &expected);
            prop_assert_eq!(&places_found(&values, |value| value >= least), &expected.iter().map(|place| place - first).collect::<Vec<_>>());
            prop_assert_eq!(&places_that(values.len(), |at| values[at] >= least), &expected.iter().map(|place| place - first).collect::<Vec<_>>());
        }
    }
}
