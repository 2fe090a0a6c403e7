//! `width_bucket` with constant bounds, as float.c and numeric.c have it.

use crate::arith::map;
use crate::decimal::power;
use crate::evaluated::Evaluated;
use crate::vector::{LARGE, Type};

/// Buckets of one width between two bounds; those outside are the first and the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    bounds: Bounds,
    /// Above 0, and one more is an integer, too.
    count: i32,
}

#[derive(Clone, Debug, PartialEq)]
enum Bounds {
    Floats(f64, f64),
    /// Mantissas and scales.
    Decimals((i64, u16), (i64, u16)),
}

/// Majors of PostgreSQL round a quotient to some digits before they cut it off, or do not: so near below a bound it is theirs.
const NEAR: i128 = 10_000_000;

impl Buckets {
    /// None if it is an error, or if the bounds are too far from each other.
    pub fn of_floats(low: f64, high: f64, count: i32) -> Option<Self> {
        let fits = (high - low).is_finite() && low != high;
        Self::new(Bounds::Floats(low, high), count).filter(|_| fits)
    }

    /// Of mantissas and scales; None if it is an error.
    pub fn of_decimals(low: (i64, u16), high: (i64, u16), count: i32) -> Option<Self> {
        let buckets = Self::new(Bounds::Decimals(low, high), count)?;
        let differ = crate::decimal::compare_small(low.0, low.1, high.0, high.1).is_ne();
        differ.then_some(buckets)
    }

    fn new(bounds: Bounds, count: i32) -> Option<Self> {
        (count > 0 && count < i32::MAX).then_some(Self { bounds, count })
    }

    /// The number of a float's bucket.
    fn of_float(&self, low: f64, high: f64, operand: f64) -> Option<i64> {
        if operand.is_nan() {
            return None;
        }
        // From the bound that the buckets begin at.
        let (from, width) = match low < high {
            true => (operand - low, high - low),
            false => (low - operand, low - high),
        };
        let (is_before, is_behind) = match low < high {
            true => (operand < low, operand >= high),
            false => (operand > low, operand <= high),
        };
        let count = f64::from(self.count);
        match (is_before, is_behind) {
            (true, _) => Some(0),
            (_, true) => Some(i64::from(self.count) + 1),
            _ => {
                // As PostgreSQL 15 rounds, and as 16 and later ones.
                let (first, second) = ((count * from / width + 1.0) as i64, (count * (from / width)) as i64 + 1);
                Some(first).filter(|&first| first == second && first <= i64::from(self.count))
            }
        }
    }

    /// The number of a numeric's bucket.
    fn of_decimal(&self, low: (i64, u16), high: (i64, u16), operand: (i64, u16)) -> Option<i64> {
        let scale = low.1.max(high.1).max(operand.1);
        let at = |(mantissa, of): (i64, u16)| i128::from(mantissa).checked_mul(power(u32::from(scale - of))?);
        let (low, high, operand) = (at(low)?, at(high)?, at(operand)?);
        let (from, width) = match low < high {
            true => (operand.checked_sub(low)?, high.checked_sub(low)?),
            false => (low.checked_sub(operand)?, low.checked_sub(high)?),
        };
        if from < 0 {
            return Some(0);
        }
        if from >= width {
            return Some(i64::from(self.count) + 1);
        }
        let product = from.checked_mul(self.count.into())?;
        let (bucket, rest) = (product / width, product % width);
        (width - rest > width / NEAR).then_some(bucket as i64 + 1)
    }

    /// Of each value.
    pub(crate) fn find<'a>(&self, arg: Evaluated<'a>) -> Evaluated<'a> {
        match self.bounds {
            Bounds::Floats(low, high) => map(arg, Type::Int, |_, word| {
                self.of_float(low, high, f64::from_bits(word as u64))
            }),
            Bounds::Decimals(low, high) => {
                let scales = arg.vector.scales.clone();
                map(arg, Type::Int, |i, word| {
                    let scale = scales.as_ref().map_or(0, |scales| scales[i]);
                    (scale != LARGE).then(|| self.of_decimal(low, high, (word, scale)))?
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_floats() {
        let find = |low, high, count, operand| Buckets::of_floats(low, high, count)?.of_float(low, high, operand);
        for (operand, expected) in [
            (-0.1, Some(0)),
            (0.0, Some(1)),
            (-0.0, Some(1)),
            (9.99, Some(1)),
            (10.0, Some(2)),
            (99.99, Some(10)),
            (100.0, Some(11)),
            (f64::INFINITY, Some(11)),
            (f64::NEG_INFINITY, Some(0)),
            (f64::NAN, None),
        ] {
            assert_eq!(find(0.0, 100.0, 10, operand), expected, "{operand}");
        }
        assert_eq!(find(100.0, 0.0, 10, 95.0), Some(1));
        assert_eq!(find(100.0, 0.0, 10, 0.0), Some(11));
        // 15 says 2, 16 says 1.
        assert_eq!(find(0.0, 1.0, 1, 1.0f64.next_down()), None);
        for (low, high, count) in [
            (1.0, 1.0, 5),
            (0.0, 1.0, 0),
            (0.0, 1.0, i32::MAX),
            (f64::NAN, 1.0, 5),
            (0.0, f64::INFINITY, 5),
            (-1e308, 1e308, 5),
        ] {
            assert_eq!(Buckets::of_floats(low, high, count), None);
        }
    }

    #[test]
    fn buckets_of_numerics() {
        let find = |low, high, count, operand| Buckets::of_decimals(low, high, count)?.of_decimal(low, high, operand);
        for (operand, expected) in [
            ((-1, 1), Some(0)),
            ((0, 0), Some(1)),
            ((999, 2), Some(1)),
            ((100, 1), Some(2)),
            ((10, 0), Some(2)),
            ((9999, 2), Some(10)),
            ((100, 0), Some(11)),
            ((9_999_999_999, 9), None),
            ((1, 60), None),
        ] {
            assert_eq!(find((0, 0), (1000, 1), 10, operand), expected, "{operand:?}");
        }
        assert_eq!(find((100, 0), (0, 0), 10, (95, 0)), Some(1));
        assert_eq!(find((100, 0), (0, 0), 10, (0, 0)), Some(11));
        assert_eq!(find((1, 0), (10, 1), 3, (1, 0)), None);
        assert_eq!(find((i64::MIN, 0), (i64::MAX, 0), 3, (0, 0)), Some(2));
    }
}
