//! Random draws that stay the same over platforms and releases.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Golden-ratio increment of SplitMix64, used to spread row numbers.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The generator of one row (or one order): independent of all other rows.
pub struct RowRng(Xoshiro256PlusPlus);

impl RowRng {
    /// `stream` tells tables apart; `row` is the row's (or order's) number.
    /// The seeding expands the 64-bit state through SplitMix64, so that
    /// neighbouring rows get unrelated states.
    pub fn new(seed: u64, stream: u64, row: u64) -> Self {
        let state = (seed ^ stream.rotate_left(56)).wrapping_add(row.wrapping_mul(SPREAD));
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// Uniform in `0..n`. A multiplication instead of a rejection loop: the
    /// bias is below n / 2^64, far under what any scale factor could show.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of `values`, uniformly.
    pub fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_row_draws_the_same_values_and_neighbours_do_not() {
        let draw = |seed, stream, row| {
            let mut rng = RowRng::new(seed, stream, row);
            [rng.below(1 << 40), rng.below(1 << 40)]
        };
        assert_eq!(draw(1, 2, 3), draw(1, 2, 3));
        assert_ne!(draw(1, 2, 3), draw(1, 2, 4));
        assert_ne!(draw(1, 2, 3), draw(1, 3, 3));
        assert_ne!(draw(1, 2, 3), draw(2, 2, 3));
    }

    #[test]
    fn draws_cover_their_range_evenly() {
        let mut counts = [0u32; 7];
        for row in 0..70_000 {
            counts[RowRng::new(42, 9, row).below(7) as usize] += 1;
        }
        // Binomial(70000, 1/7): standard deviation 92.6; five of them.
        for count in counts {
            assert!(count.abs_diff(10_000) < 463, "{counts:?}");
        }
        let mut rng = RowRng::new(42, 9, 0);
        assert!((0..1000).all(|_| (30..=90).contains(&rng.between(30, 90))));
    }
}
