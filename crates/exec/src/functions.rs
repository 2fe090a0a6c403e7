//! Functions of one number, as PostgreSQL's int.c, float.c and numeric.c have them.

use crate::arith::{map, map_numeric, round_div};
use crate::decimal::power;
use crate::evaluated::Evaluated;
use crate::scaled::{magnitude, scale_of};
use crate::vector::{Type, Vector};

/// A function of one number, whose result is of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function1 {
    /// `abs`
    Abs,
    /// `-`
    Negate,
    /// `sign`
    Sign,
    /// `floor`
    Floor,
    /// `ceil`
    Ceil,
    /// `round` to so many decimals; floats to none, half to even.
    Round(i32),
    /// `trunc` to so many decimals.
    Truncate(i32),
    /// `sqrt`, of floats as those behind it.
    Sqrt,
    /// `exp`
    Exp,
    /// `ln`
    Ln,
    /// `log`, to base 10
    Log10,
}

/// Its values. Integers outside of `min..=max` are unsure.
pub(crate) fn apply(function: Function1, arg: Evaluated<'_>, (min, max): (i64, i64)) -> Evaluated<'_> {
    match arg.vector.ty {
        Type::Float => map(arg, Type::Float, |_, word| {
            let value = float(function, f64::from_bits(word as u64));
            let from_libm = matches!(
                function,
                Function1::Sqrt | Function1::Exp | Function1::Ln | Function1::Log10
            );
            // What is an error comes out as no number, or as one that is no result of theirs otherwise.
            let holds = !from_libm || value.is_finite() && (value != 0.0 || function != Function1::Exp);
            holds.then_some(value.to_bits() as i64)
        }),
        Type::Numeric => {
            match scale_of(&arg.vector.view()).and_then(|scale| scaled(function, &arg.vector.words, scale)) {
                Some((words, scale)) => {
                    let scales = vec![scale; words.len()];
                    let mut vector = Vector::of_words(Type::Numeric, words);
                    vector.scales = Some(scales.into());
                    vector.valid = arg.vector.valid;
                    Evaluated {
                        vector,
                        unsure: arg.unsure,
                    }
                }
                None => map_numeric(arg, |mantissa, scale| numeric(function, mantissa, scale)),
            }
        }
        ty => map(arg, ty, |_, word| {
            int(function, word).filter(|v| (min..=max).contains(v))
        }),
    }
}

fn int(function: Function1, value: i64) -> Option<i64> {
    match function {
        Function1::Abs => value.checked_abs(),
        Function1::Negate => value.checked_neg(),
        // Others are of floats and numerics.
        _ => None,
    }
}

fn float(function: Function1, value: f64) -> f64 {
    match function {
        Function1::Abs => value.abs(),
        Function1::Negate => -value,
        Function1::Sign if value > 0.0 => 1.0,
        Function1::Sign if value < 0.0 => -1.0,
        Function1::Sign => 0.0,
        Function1::Floor => value.floor(),
        Function1::Ceil => value.ceil(),
        Function1::Round(_) => value.round_ties_even(),
        Function1::Truncate(_) => value.trunc(),
        Function1::Sqrt => value.sqrt(),
        Function1::Exp => value.exp(),
        Function1::Ln => value.ln(),
        Function1::Log10 => value.log10(),
    }
}

/// The mantissa and the scale; None where those of 64 bits are not enough.
fn numeric(function: Function1, mantissa: i64, scale: u16) -> Option<(i64, u16)> {
    let unit = || power(u32::from(scale));
    let whole = |value: i128| i64::try_from(value).ok().map(|value| (value, 0));
    let wide = i128::from(mantissa);
    match function {
        Function1::Abs => Some((mantissa.checked_abs()?, scale)),
        Function1::Negate => Some((mantissa.checked_neg()?, scale)),
        Function1::Sign => Some((mantissa.signum(), 0)),
        Function1::Floor => whole(wide.div_euclid(unit()?)),
        Function1::Ceil => whole(-(-wide).div_euclid(unit()?)),
        Function1::Round(decimals) => shorten(wide, scale, decimals, round_div),
        Function1::Truncate(decimals) => shorten(wide, scale, decimals, |a, b| a / b),
        Function1::Sqrt | Function1::Exp | Function1::Ln | Function1::Log10 => None,
    }
}

/// The mantissas and the scale, of numerics of one scale; None if one of them may be too large for 64 bits.
fn scaled(function: Function1, words: &[i64], scale: u16) -> Option<(Vec<i64>, u16)> {
    let largest = i64::try_from(u128::from(magnitude(words)) + 1).ok()?;
    let unit = |exponent: u32| power(exponent).and_then(|unit| i64::try_from(unit).ok());
    let each = |f: &dyn Fn(i64) -> i64| words.iter().map(|&word| f(word)).collect();
    Some(match function {
        Function1::Abs => (words.iter().map(|word| word.abs()).collect(), scale),
        Function1::Negate => (words.iter().map(|word| -word).collect(), scale),
        Function1::Sign => (words.iter().map(|word| word.signum()).collect(), 0),
        Function1::Floor => {
            let unit = unit(scale.into())?;
            (each(&|word| word.div_euclid(unit)), 0)
        }
        Function1::Ceil => {
            let unit = unit(scale.into())?;
            (each(&|word| -(-word).div_euclid(unit)), 0)
        }
        Function1::Round(decimals) | Function1::Truncate(decimals) => {
            (-18..=18).contains(&decimals).then_some(())?;
            let less = i32::from(scale) - decimals;
            let shown = decimals.max(0) as u16;
            if less <= 0 {
                let unit = unit(less.unsigned_abs())?;
                largest.checked_mul(unit)?;
                return Some((words.iter().map(|word| word * unit).collect(), shown));
            }
            let divisor = unit(less.unsigned_abs())?;
            let half = match function {
                Function1::Round(_) => divisor / 2,
                _ => 0,
            };
            // One more for what is rounded up, with zeros in place of digits before the point.
            largest.checked_add(divisor)?;
            let mut words = divide(words, divisor, half);
            if decimals < 0 {
                let zeros = unit(decimals.unsigned_abs())?;
                words.iter_mut().for_each(|word| *word *= zeros);
            }
            (words, shown)
        }
        Function1::Sqrt | Function1::Exp | Function1::Ln | Function1::Log10 => return None,
    })
}

/// Quotients towards zero, after moving the words away from it by `more`. Divisors that are known need no division.
fn divide(words: &[i64], divisor: i64, more: i64) -> Vec<i64> {
    macro_rules! by {
        ($($known:literal)*) => {
            match divisor {
                $($known => words.iter().map(|&word| (word + (more ^ word >> 63) - (word >> 63)) / $known).collect(),)*
                _ => words.iter().map(|&word| (word + (more ^ word >> 63) - (word >> 63)) / divisor).collect(),
            }
        };
    }
    by!(10 100 1000 10_000 100_000 1_000_000)
}

/// With exactly so many decimals, at least none; fewer than none are zeros before the point.
fn shorten(mantissa: i128, scale: u16, decimals: i32, divide: impl Fn(i128, i128) -> i128) -> Option<(i64, u16)> {
    // 18 digits on both sides of the point are what 64 bits have.
    (-18..=18).contains(&decimals).then_some(())?;
    let shown = decimals.max(0);
    let less = i32::from(scale) - decimals;
    let (value, missing) = if less > 0 {
        (divide(mantissa, power(less.unsigned_abs())?), shown - decimals)
    } else {
        (mantissa, -less)
    };
    let value = value.checked_mul(power(missing.unsigned_abs())?)?;
    Some((i64::try_from(value).ok()?, shown as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numerics_are_rounded_away_from_zero() {
        // round(1.25, 1), round(-1.25, 1), round(1.5, 4), round(155, -1), round(-0.4, 0), round(5, -1)
        for (mantissa, scale, decimals, expected) in [
            (125, 2, 1, (13, 1)),
            (-125, 2, 1, (-13, 1)),
            (15, 1, 4, (15000, 4)),
            (155, 0, -1, (160, 0)),
            (-4, 1, 0, (0, 0)),
            (5, 0, -1, (10, 0)),
            (149, 0, -2, (100, 0)),
        ] {
            assert_eq!(numeric(Function1::Round(decimals), mantissa, scale), Some(expected));
        }
        assert_eq!(numeric(Function1::Truncate(1), -129, 2), Some((-12, 1)));
        assert_eq!(numeric(Function1::Truncate(-1), -129, 1), Some((-10, 0)));
        assert_eq!(numeric(Function1::Round(18), 100, 0), None);
        assert_eq!(numeric(Function1::Round(40), 0, 0), None);
    }

    #[test]
    fn words_of_one_scale_as_numbers_by_themselves() {
        use Function1::*;
        let words: Vec<i64> = (-130..130)
            .chain([-1_000_049, 999_950, 1_000_050, -5_000_000, 1 << 30, -(1 << 30)])
            .collect();
        let functions = (-7..8).flat_map(|decimals| [Round(decimals), Truncate(decimals)]);
        for function in functions.chain([Abs, Negate, Sign, Floor, Ceil]) {
            for scale in [0, 1, 2, 3, 5, 7, 18] {
                let expected: Vec<(i64, u16)> = words
                    .iter()
                    .filter_map(|&word| numeric(function, word, scale))
                    .collect();
                let found = scaled(function, &words, scale)
                    .map(|(words, scale)| words.into_iter().map(|word| (word, scale)).collect());
                assert!(found.is_some() || scale == 18, "{function:?} {scale}");
                assert!(found.is_none() || found == Some(expected), "{function:?} {scale}");
            }
        }
        for function in [Abs, Negate, Round(1), Round(3), Floor, Sign] {
            assert_eq!(scaled(function, &[i64::MIN, 0], 2), None);
        }
        assert_eq!(scaled(Round(1), &[i64::MAX - 3], 2), None);
        assert_eq!(scaled(Round(19), &[0], 2), None);
    }

    #[test]
    fn whole_numbers_below_and_above() {
        for (mantissa, floor, ceil) in [(15, 1, 2), (-15, -2, -1), (10, 1, 1), (-4, -1, 0), (0, 0, 0)] {
            assert_eq!(numeric(Function1::Floor, mantissa, 1), Some((floor, 0)));
            assert_eq!(numeric(Function1::Ceil, mantissa, 1), Some((ceil, 0)));
        }
        assert_eq!(numeric(Function1::Sign, -15, 3), Some((-1, 0)));
        assert_eq!(numeric(Function1::Abs, i64::MIN, 0), None);
        assert_eq!(int(Function1::Negate, i64::MIN), None);
    }

    #[test]
    fn floats_are_rounded_half_to_even_and_keep_their_sign() {
        assert_eq!(float(Function1::Round(0), 2.5), 2.0);
        assert!(float(Function1::Ceil, -0.5).is_sign_negative());
        assert_eq!(float(Function1::Sign, f64::NAN), 0.0);
    }
}
