//! Sets of integers that are close together: a bit for each, and at least one zero behind them. Those of some thousand integers stay in the processor's
//! nearest memory.

#[derive(Clone, Debug)]
pub(crate) struct Bits {
    first: i64,
    places: u64,
    there: Vec<u64>,
}

impl Bits {
    /// With none of so many integers from the first on.
    pub(crate) fn new(first: i64, places: usize) -> Self {
        Self {
            first,
            places: places as u64,
            there: vec![0; places / 64 + 1],
        }
    }

    pub(crate) fn add(&mut self, word: i64) {
        let at = self.place(word);
        self.there[at / 64] |= 1 << (at % 64);
    }

    /// Which of them an integer is that is one of them.
    #[inline]
    pub(crate) fn place(&self, word: i64) -> usize {
        word.wrapping_sub(self.first) as usize
    }

    /// Whether it has an integer, any one, without a branch. The test has all it reads by itself, so that a loop that writes reads nothing again.
    #[inline]
    pub(crate) fn has(&self) -> impl Fn(i64) -> bool + Copy + '_ {
        let (first, places, there) = (self.first, self.places, &self.there[..]);
        move |word| {
            let at = (word.wrapping_sub(first) as u64).min(places) as usize;
            there[at / 64] >> (at % 64) & 1 == 1
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.there.len() * 8
    }
}
