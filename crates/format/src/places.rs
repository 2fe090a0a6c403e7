//! Places of values that pass a test, without a branch for each: what passes is hard to predict.

/// Values that are tested together.
const GROUP: usize = 8;

/// For each set of values in a group that pass: their places, the least first.
static PLACES: [[u32; GROUP]; 1 << GROUP] = places_of_sets();

const fn places_of_sets() -> [[u32; GROUP]; 1 << GROUP] {
    let mut all = [[0; GROUP]; 1 << GROUP];
    let mut set = 0;
    while set < all.len() {
        let (mut at, mut n) = (0, 0);
        while at < GROUP {
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

/// The numbers of the values that pass, ascending, where the first value has number `first`.
#[inline]
pub fn places_where<T: Copy>(values: &[T], first: u32, passes: impl Fn(T) -> bool) -> Vec<u32> {
    let mut found = vec![0; values.len() + GROUP];
    let (mut n, mut at) = (0, first);
    let (groups, rest) = values.as_chunks::<GROUP>();
    for group in groups {
        let bytes = group.map(|value| u8::from(passes(value)));
        // The last bit of each byte becomes one of the uppermost byte: no two meet below it.
        let set = (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
        let places = PLACES[usize::from(set)].map(|place| at + place);
        found[n..n + GROUP].copy_from_slice(&places);
        n += set.count_ones() as usize;
        at += GROUP as u32;
    }
    for &value in rest {
        found[n] = at;
        n += usize::from(passes(value));
        at += 1;
    }
    found.truncate(n);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_passes_is_found(values in proptest::collection::vec(any::<u8>(), 0..100), first in 0..1000u32, least in any::<u8>()) {
            let expected = (first..).zip(&values).filter(|&(_, &value)| value >= least).map(|(place, _)| place);
            prop_assert_eq!(places_where(&values, first, |value| value >= least), expected.collect::<Vec<_>>());
        }
    }
}
