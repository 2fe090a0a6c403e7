//! Numerics of one display scale in all rows, as columns of numeric(p, s) have them: integers, in loops without a branch.

use crate::decimal::power;
use crate::operators::{Arithmetic, Comparison};
use crate::vector::{LARGE, Vector, View};

/// The one scale that there is; None if there are several, or none.
pub(crate) fn single(scales: &[u16]) -> Option<u16> {
    let &first = scales.first()?;
    // Without an end before the last: that is many at a time.
    let differ = scales.iter().fold(0, |differ, &scale| differ | (scale ^ first));
    (differ == 0).then_some(first)
}

/// The scale of all rows; None if they have different ones, or if some are no mantissas.
pub(crate) fn scale_of(view: &View<'_>) -> Option<u16> {
    match view.scales {
        None => Some(0),
        Some(scales) => single(scales).filter(|&scale| scale != LARGE),
    }
}

/// A power of two above the magnitudes of all words, less one.
pub(crate) fn magnitude(words: &[i64]) -> u64 {
    let bits = words.iter().fold(0, |bits, &word| bits | (word ^ (word >> 63))) as u64;
    // -2^63 is the only one whose magnitude is greater than that of its bits; its neighbour's has as many.
    u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0)
}

/// Words and their scale, if no row's can be too large for 64 bits.
pub(crate) fn arithmetic(operator: Arithmetic, a: &Vector<'_>, b: &Vector<'_>) -> Option<(Vec<i64>, u16)> {
    let (s, t) = (scale_of(&a.view())?, scale_of(&b.view())?);
    let fits = |value: Option<u128>| value.is_some_and(|value| value <= i64::MAX as u128);
    // One more than the magnitude, for -2^n.
    let (largest, other) = (u128::from(magnitude(&a.words)) + 1, u128::from(magnitude(&b.words)) + 1);
    let pairs = a.words.iter().zip(b.words.iter());
    match operator {
        Arithmetic::Multiply => {
            let scale = s.checked_add(t).filter(|&scale| scale <= 1000)?;
            fits(largest.checked_mul(other)).then(|| (pairs.map(|(a, b)| a * b).collect(), scale))
        }
        Arithmetic::Add | Arithmetic::Subtract => {
            let scale = s.max(t);
            let unit = |of: u16| power(u32::from(scale - of)).and_then(|power| i64::try_from(power).ok());
            let (x, y) = (unit(s)?, unit(t)?);
            let sum = largest
                .checked_mul(x as u128)
                .zip(other.checked_mul(y as u128))
                .and_then(|(a, b)| a.checked_add(b));
            if !fits(sum) {
                return None;
            }
            let words = match (operator, x, y) {
                (Arithmetic::Add, 1, 1) => pairs.map(|(a, b)| a + b).collect(),
                (Arithmetic::Add, ..) => pairs.map(|(a, b)| a * x + b * y).collect(),
                (_, 1, 1) => pairs.map(|(a, b)| a - b).collect(),
                _ => pairs.map(|(a, b)| a * x - b * y).collect(),
            };
            Some((words, scale))
        }
        Arithmetic::Divide | Arithmetic::Modulo => None,
    }
}

/// What words of scale `scale` are compared with in place of `constant` / 10^`of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// This word, by this comparison.
    Word(Comparison, i64),
    /// It is the same for all words.
    All(bool),
}

impl Bound {
    /// None if the scales are too far from each other.
    pub(crate) fn new(comparison: Comparison, scale: u16, constant: i64, of: u16) -> Option<Self> {
        let wide = i128::from(constant);
        let (quotient, exact) = if scale >= of {
            (wide.checked_mul(power(u32::from(scale - of))?)?, true)
        } else {
            let unit = power(u32::from(of - scale))?;
            (wide.div_euclid(unit), wide.rem_euclid(unit) == 0)
        };
        let comparison = match comparison {
            _ if exact => comparison,
            Comparison::Equal => return Some(Self::All(false)),
            Comparison::NotEqual => return Some(Self::All(true)),
            // The constant is above the quotient, and below the next word.
            Comparison::Less | Comparison::LessEqual => Comparison::LessEqual,
            Comparison::Greater | Comparison::GreaterEqual => Comparison::Greater,
        };
        Some(match i64::try_from(quotient) {
            Ok(word) => Self::Word(comparison, word),
            // Every word is less than it, or greater.
            Err(_) => Self::All(comparison.holds(0.cmp(&quotient))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Type;

    fn column(words: &[i64], scale: u16) -> Vector<'static> {
        let mut vector = Vector::of_words(Type::Numeric, words.to_vec());
        vector.scales = Some(vec![scale; words.len()].into());
        vector
    }

    #[test]
    fn magnitudes_are_never_too_small() {
        for word in [0, 1, -1, 2, -2, 127, 128, -128, -129, i64::MAX, i64::MIN] {
            assert!(
                u128::from(magnitude(&[word])) + 1 >= u128::from(word.unsigned_abs()),
                "{word}"
            );
        }
        assert_eq!(magnitude(&[]), 0);
    }

    #[test]
    fn what_may_be_too_large_is_not_computed() {
        let few = column(&[i64::MIN, 1], 2);
        let one = column(&[1, 1], 2);
        for operator in [Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply] {
            assert_eq!(arithmetic(operator, &few, &one), None);
            assert_eq!(arithmetic(operator, &few, &column(&[0, 1], 5)), None);
        }
        assert_eq!(
            arithmetic(Arithmetic::Subtract, &column(&[100, -100], 0), &column(&[6, -6], 2)),
            Some((vec![9994, -9994], 2))
        );
        assert_eq!(arithmetic(Arithmetic::Multiply, &one, &one), Some((vec![1, 1], 4)));
        assert_eq!(
            arithmetic(Arithmetic::Multiply, &column(&[1], 600), &column(&[1], 600)),
            None
        );
        let mut mixed = column(&[1, 2], 2);
        mixed.scales = Some(vec![2, LARGE].into());
        assert_eq!(arithmetic(Arithmetic::Add, &mixed, &one), None);
    }

    #[test]
    fn constants_of_other_scales() {
        use Comparison::*;
        let words = [-200, -151, -150, -149, -1, 0, 1, 149, 150, 151, 200, i64::MIN, i64::MAX];
        for (constant, of) in [
            (15, 1),
            (-15, 1),
            (1, 0),
            (1501, 3),
            (-1501, 3),
            (0, 4),
            (i64::MAX, 0),
            (i64::MIN, 0),
            (1, 9),
        ] {
            for comparison in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
                let bound = Bound::new(comparison, 2, constant, of).expect("near");
                for word in words {
                    let expected = comparison.holds(crate::decimal::compare_small(word, 2, constant, of));
                    let found = match bound {
                        Bound::All(all) => all,
                        Bound::Word(comparison, bound) => comparison.holds(word.cmp(&bound)),
                    };
                    assert_eq!(found, expected, "{word} {comparison:?} {constant} of {of}");
                }
            }
        }
        assert_eq!(Bound::new(Equal, 0, 1, 60), None);
    }
}
