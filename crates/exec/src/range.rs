//! Ranges of hash values, so that what does not fit memory is done in several passes.

use crate::store::hash_row;
use crate::vector::View;

/// The hashes whose first `bits` bits are those of `prefix`. Ranges are halved from their left and gone through
/// from left to right, so where they start is enough to know what has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    bits: u32,
    prefix: u64,
    /// Bits of the prefix at which hashes outside of the range were seen to differ first.
    seen: u64,
    /// Of words, in place of hashes.
    order: Option<Order>,
}

/// How far words are from this one, up or down, so that ranges are of words next to each other. Behind the last comes the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Up(i64),
    Down(i64),
}

impl Order {
    fn distance(self, word: i64) -> u64 {
        match self {
            Self::Up(first) => word.wrapping_sub(first) as u64,
            Self::Down(first) => first.wrapping_sub(word) as u64,
        }
    }

    /// The words at two distances, the lesser first, if none comes behind the last of all.
    fn between(self, near: u64, far: u64) -> Option<(i64, i64)> {
        let (least, most) = match self {
            Self::Up(first) => (first.wrapping_add(near as i64), first.wrapping_add(far as i64)),
            Self::Down(first) => (first.wrapping_sub(far as i64), first.wrapping_sub(near as i64)),
        };
        (least <= most).then_some((least, most))
    }
}

impl Range {
    /// All hashes.
    pub(crate) const ALL: Self = Self {
        bits: 0,
        prefix: 0,
        seen: 0,
        order: None,
    };

    /// Ranges are not halved further; hashes that agree in so many bits are taken for one. Words are never.
    fn most_bits(&self) -> u32 {
        match self.order {
            None => 60,
            Some(_) => u64::BITS,
        }
    }

    /// Those behind the prefix, all set.
    fn behind(&self) -> u64 {
        u64::MAX.checked_shr(self.bits).unwrap_or(0)
    }

    pub(crate) fn is_all(&self) -> bool {
        self.bits == 0
    }

    /// All words, in an order.
    pub(crate) fn of_words(order: Order) -> Self {
        Self {
            order: Some(order),
            ..Self::ALL
        }
    }

    /// Whether it is of words in their order.
    pub(crate) fn is_ordered(&self) -> bool {
        self.order.is_some()
    }

    /// What stands for a hash: of a word, where ranges are of these, its distance; NULL is at no distance.
    #[inline]
    pub(crate) fn distance(&self, word: Option<i64>) -> Option<u64> {
        let order = self.order?;
        Some(word.map_or(0, |word| order.distance(word)))
    }

    /// Whether a row's value is in the range.
    #[inline]
    pub(crate) fn admit_row(&mut self, view: &View<'_>, row: usize) -> bool {
        let word = view.is_valid(row).then(|| view.words[row]);
        let place = self.distance(word).unwrap_or_else(|| hash_row(view, row));
        self.admit(place)
    }

    /// The words of the range, from the first to the last; None if they are not next to each other, of the first range, which NULL is in, and
    /// of hashes.
    pub(crate) fn words(&self) -> Option<(i64, i64)> {
        let order = self.order.filter(|_| self.prefix > 0)?;
        order.between(self.prefix, self.prefix | self.behind())
    }

    /// Whether a hash is in the range. One that is not makes its range worth a pass.
    #[inline]
    pub(crate) fn admit(&mut self, hash: u64) -> bool {
        let difference = hash ^ self.prefix;
        let outside = !self.behind();
        if difference & outside == 0 {
            return true;
        }
        self.seen |= 1 << difference.ilog2();
        false
    }

    /// Words from one to another have been passed over: those outside make their ranges worth a pass, as far as words are next to each other.
    pub(crate) fn pass_over(&mut self, least: i64, most: i64) {
        let (near, far) = match self.order {
            None => return,
            Some(order @ Order::Up(_)) => (order.distance(least), order.distance(most)),
            Some(order @ Order::Down(_)) => (order.distance(most), order.distance(least)),
        };
        if near <= far {
            self.see_all(near, far);
        } else {
            // The last word is between them.
            self.see_all(0, far);
            self.see_all(near, u64::MAX);
        }
    }

    /// Something is everywhere from one distance to another.
    fn see_all(&mut self, near: u64, far: u64) {
        let end = self.prefix | self.behind();
        if far > end {
            // The further right, the higher the bit at which it differs first.
            let from = (near.max(end + 1) ^ self.prefix).ilog2();
            let to = (far ^ self.prefix).ilog2();
            self.seen |= u64::MAX >> (63 - to) & u64::MAX << from;
        }
    }

    /// The left half that something up to `most` is outside of, if there is one.
    pub(crate) fn halve_below(&self, most: u64) -> Option<Self> {
        let mut half = self.halve()?;
        while half.prefix | half.behind() >= most {
            half = half.halve()?;
        }
        Some(half)
    }

    /// The left half, if there is one.
    pub(crate) fn halve(&self) -> Option<Self> {
        (self.bits < self.most_bits()).then_some(Self {
            bits: self.bits + 1,
            ..*self
        })
    }

    /// The next range to the right that hashes were seen in: as large as it can be, it may be halved again.
    pub(crate) fn next(&self) -> Option<Self> {
        let left = !self.prefix & !self.behind();
        let candidates = self.seen & left;
        if candidates == 0 {
            return None;
        }
        let bit = candidates.trailing_zeros();
        let below = (1 << bit) - 1;
        Some(Self {
            bits: u64::BITS - bit,
            prefix: (self.prefix | 1 << bit) & !below,
            seen: self.seen & !below & !(1 << bit),
            order: self.order,
        })
    }

    /// The smaller of two ranges with one start, and all that was seen; `None` if they have not.
    pub(crate) fn join(&self, other: &Self) -> Option<Self> {
        (self.prefix == other.prefix).then_some(Self {
            bits: self.bits.max(other.bits),
            prefix: self.prefix,
            seen: self.seen | other.seen,
            order: self.order,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Range};

    #[test]
    fn words_next_to_each_other_are_told_apart() {
        let mut range = Range::of_words(Order::Up(0));
        let mut passes = Vec::new();
        while let Some(half) = range.halve_below(1) {
            range = half;
        }
        loop {
            let admitted: Vec<i64> = (0..20)
                .filter(|&word| range.admit(range.distance(Some(word)).unwrap()))
                .collect();
            passes.push(admitted);
            match range.next() {
                Some(next) => range = next,
                None => break,
            }
            while let Some(half) = range.halve() {
                range = half;
            }
        }
        assert_eq!(passes, (0..20).map(|word| vec![word]).collect::<Vec<_>>());
    }

    #[test]
    fn ranges_of_words_are_next_to_each_other() {
        let mut range = Range::of_words(Order::Up(-3));
        assert_eq!(range.words(), None);
        let words = [-3_i64, 5, 100, 4000, -4];
        let place = |range: &Range, word: i64| range.distance(Some(word)).unwrap();
        let mut passes = Vec::new();
        // As many as two of them fit.
        let half = range.halve_below(place(&range, 4000)).unwrap();
        range = half.halve_below(place(&half, 100)).unwrap();
        assert_eq!(range.words(), None);
        loop {
            let at = range;
            let inside = |range: &mut Range| words.map(|word| range.admit(place(&at, word)));
            passes.push((range.words(), inside(&mut range)));
            match range.next() {
                Some(next) => range = next,
                None => break,
            }
        }
        let all: Vec<i64> = passes
            .iter()
            .flat_map(|(_, inside)| words.iter().zip(inside).filter(|(_, inside)| **inside))
            .map(|(word, _)| *word)
            .collect();
        assert_eq!(all, words);
        assert_eq!(passes[1].0, Some((61, 124)));
    }
}
