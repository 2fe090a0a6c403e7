//! Ranges of hash values, so that what does not fit memory is done in several passes.

/// The hashes whose first `bits` bits are those of `prefix`. Ranges are halved from their left and gone through
/// from left to right, so where they start is enough to know what has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    bits: u32,
    prefix: u64,
    /// Bits of the prefix at which hashes outside of the range were seen to differ first.
    seen: u64,
}

impl Range {
    /// All hashes.
    pub(crate) const ALL: Self = Self {
        bits: 0,
        prefix: 0,
        seen: 0,
    };

    /// Ranges are not halved further; hashes that agree in so many bits are taken for one.
    const MAX_BITS: u32 = 60;

    pub(crate) fn is_all(&self) -> bool {
        self.bits == 0
    }

    /// Whether a hash is in the range. One that is not makes its range worth a pass.
    #[inline]
    pub(crate) fn admit(&mut self, hash: u64) -> bool {
        let difference = hash ^ self.prefix;
        let outside = !(u64::MAX >> self.bits);
        if difference & outside == 0 {
            return true;
        }
        self.seen |= 1 << difference.ilog2();
        false
    }

    /// The left half, if there is one.
    pub(crate) fn halve(&self) -> Option<Self> {
        (self.bits < Self::MAX_BITS).then_some(Self {
            bits: self.bits + 1,
            ..*self
        })
    }

    /// The next range to the right that hashes were seen in: as large as it can be, it may be halved again.
    pub(crate) fn next(&self) -> Option<Self> {
        let left = !self.prefix & !(u64::MAX >> self.bits);
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
        })
    }

    /// The smaller of two ranges with one start, and all that was seen; `None` if they have not.
    pub(crate) fn join(&self, other: &Self) -> Option<Self> {
        (self.prefix == other.prefix).then_some(Self {
            bits: self.bits.max(other.bits),
            prefix: self.prefix,
            seen: self.seen | other.seen,
        })
    }
}
