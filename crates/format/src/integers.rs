//! Sets of integers that are close together, for looking up many at once.

use std::cell::OnceCell;

/// Sets with so many places are bytes, too: those still fit the processor's nearer memory.
const MOST_BYTES: u64 = 1 << 16;
/// Zeros before the bytes and behind them: as many as there are offsets of two bytes.
const MARGIN: usize = 1 << 16;
/// So many that are looked up make up for writing the bytes.
const MANY: usize = 1 << 12;

/// A bit for each integer from the first to the last, and at least one zero behind them.
#[derive(Clone, Debug)]
pub struct Integers {
    first: i64,
    places: u64,
    bits: Vec<u64>,
    /// The same as bytes, once they are asked for, with a margin on both sides: what is looked up by offsets from anywhere near needs no test
    /// whether it is within the set.
    bytes: OnceCell<Vec<bool>>,
}

impl Integers {
    /// With none of so many from the first on.
    pub fn new(first: i64, places: usize) -> Self {
        Self {
            first,
            places: places as u64,
            bits: vec![0; places / 64 + 1],
            bytes: OnceCell::new(),
        }
    }

    /// Adds one of them.
    ///
    /// # Panics
    /// If it is none.
    pub fn add(&mut self, word: i64) {
        let at = self.place(word);
        assert!((at as u64) < self.places, "it is one of them");
        self.bits[at / 64] |= 1 << (at % 64);
        self.bytes.take();
    }

    /// Which of them an integer is that is one of them.
    #[inline]
    pub fn place(&self, word: i64) -> usize {
        word.wrapping_sub(self.first) as usize
    }

    /// Whether it has an integer, any one, without a branch. The test has all it reads by itself, so that a loop that writes reads nothing again.
    #[inline]
    pub fn has(&self) -> impl Fn(i64) -> bool + Copy + '_ {
        let (first, places, bits) = (self.first, self.places, &self.bits[..]);
        move |word| {
            let at = (word.wrapping_sub(first) as u64).min(places) as usize;
            bits[at / 64] >> (at % 64) & 1 == 1
        }
    }

    /// For each of `N` offsets from a base, whether it has that integer; None if `n` of them are better looked up another way.
    pub(crate) fn table<const N: usize>(&self, base: i64, n: usize) -> Option<&[bool; N]> {
        if n < MANY || self.places > MOST_BYTES {
            return None;
        }
        let at = usize::try_from(i128::from(base) - i128::from(self.first) + MARGIN as i128).ok()?;
        self.bytes.get_or_init(|| self.to_bytes()).get(at..)?.first_chunk()
    }

    fn to_bytes(&self) -> Vec<bool> {
        let places = self.places as usize;
        let mut bytes = vec![false; MARGIN + places + MARGIN];
        for (at, byte) in bytes[MARGIN..].iter_mut().take(places).enumerate() {
            *byte = self.bits[at / 64] >> (at % 64) & 1 == 1;
        }
        bytes
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.bits.len() * 8 + self.bytes.get().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_of_bases_near_them() {
        let mut set = Integers::new(1000, 11);
        [1000, 1003, 1010].into_iter().for_each(|word| set.add(word));
        let margin = MARGIN as i64;
        for base in [1000 - margin, 0, 999, 1000, 1003, 1010, 1011] {
            let table = set.table::<MARGIN>(base, MANY).expect("it is near");
            let there = |offset: usize| [1000, 1003, 1010].contains(&(base + offset as i64));
            assert!((0..MARGIN).all(|offset| table[offset] == there(offset)), "{base}");
        }
        for base in [999 - margin, 1012, i64::MIN, i64::MAX] {
            assert!(set.table::<MARGIN>(base, MANY).is_none(), "{base}");
        }
        assert!(set.table::<1>(1000, MANY - 1).is_none());
        assert!(
            Integers::new(i64::MIN, (1 << 16) + 1)
                .table::<1>(i64::MIN, MANY)
                .is_none()
        );
        assert!(Integers::new(i64::MIN, 1 << 16).table::<1>(i64::MIN, MANY).is_some());
    }
}
