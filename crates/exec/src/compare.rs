//! Comparing vectors, in PostgreSQL's orders: NaN is equal to NaN and above all other floats, text is bytes.

use std::cmp::Ordering;

use amax_format::{Dense, Tag};
use amax_jsonb::numeric::{self, Reduced};

use crate::evaluated::Evaluated;
use crate::operators::{Comparison, JsonScalar};
use crate::scaled::{Bound, scale_of};
use crate::vector::{LARGE, Type, Vector};

fn float(a: i64, b: i64) -> Ordering {
    let (a, b) = (f64::from_bits(a as u64), f64::from_bits(b as u64));
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Of numbers with mantissas.
fn decimal((a, s): (i64, u16), (b, t): (i64, u16)) -> Ordering {
    if s == t {
        return a.cmp(&b);
    }
    let (shift, few, many) = if s < t { (t - s, a, b) } else { (s - t, b, a) };
    let order = match 10i128
        .checked_pow(u32::from(shift))
        .and_then(|p| i128::from(few).checked_mul(p))
    {
        Some(few) => few.cmp(&i128::from(many)),
        // Ten to the 39th and more times it: only its sign counts, or, if it is zero, the other's.
        None if few == 0 => 0.cmp(&many),
        None => few.cmp(&0),
    };
    if s < t { order } else { order.reverse() }
}

fn number(vector: &Vector<'_>, i: usize) -> (i64, u16) {
    (vector.words[i], vector.scale(i))
}

/// Numeric `i`, whatever decimals it displays, if it has a mantissa then.
pub(crate) fn reduced(vector: &Vector<'_>, i: usize) -> Option<Reduced> {
    match vector.scale(i) {
        LARGE => numeric::reduced(vector.string(i)),
        scale => Some(Reduced::new(vector.words[i], scale)),
    }
}

/// A constant that has a mantissa only without the zeros at the end of its decimals, without them.
pub(crate) fn comparable(constant: Vector<'_>) -> Vector<'_> {
    if constant.ty != Type::Numeric || constant.scale(0) != LARGE {
        return constant;
    }
    let reduced = reduced(&constant, 0);
    let mantissa = reduced.and_then(|number| i64::try_from(number.scaled(number.scale())?).ok());
    match (mantissa, reduced) {
        (Some(mantissa), Some(number)) => Vector {
            scales: Some(vec![number.scale()].into()),
            ..Vector::of_words(Type::Numeric, vec![mantissa])
        },
        _ => constant,
    }
}

/// Rows in which a numeric of either side has no mantissa, and so cannot be compared here; `b` may be a constant.
pub(crate) fn incomparable(a: &Vector<'_>, b: &Vector<'_>) -> Vec<u32> {
    if a.ty != Type::Numeric {
        return Vec::new();
    }
    if scale_of(&a.view()).is_some() && scale_of(&b.view()).is_some() {
        return Vec::new();
    }
    let other = |i: usize| if b.len() == 1 { 0 } else { i };
    (0..a.len())
        .filter(|&i| a.scale(i) == LARGE || b.scale(other(i)) == LARGE)
        .map(|i| i as u32)
        .collect()
}

/// Each value compared with the constant's first; NULLs and unsure ones come out as anything.
pub(crate) fn with_constant(comparison: Comparison, vector: &Vector<'_>, constant: &Vector<'_>) -> Vec<bool> {
    let word = constant.words[0];
    let words = vector.words.iter();
    match vector.ty {
        Type::Bool | Type::Int => compare_words(comparison, words, word),
        Type::Float => words.map(|&w| comparison.holds(float(w, word))).collect(),
        Type::Numeric => {
            let constant = number(constant, 0);
            let scale = scale_of(&vector.view()).filter(|_| constant.1 != LARGE);
            match scale.and_then(|scale| Bound::new(comparison, scale, constant.0, constant.1)) {
                Some(Bound::All(all)) => return vec![all; vector.len()],
                Some(Bound::Word(comparison, word)) => return compare_words(comparison, words, word),
                None => {}
            }
            (0..vector.words.len())
                .map(|i| comparison.holds(decimal(number(vector, i), constant)))
                .collect()
        }
        Type::Text => {
            let sought = constant.string(0);
            let holds = |found: &[u8]| {
                if comparison == Comparison::Equal {
                    found == sought
                } else {
                    comparison.holds(found.cmp(sought))
                }
            };
            let table = vector
                .strings
                .as_ref()
                .filter(|t| vector.dictionary && t.len() <= vector.len());
            if let Some(table) = table {
                let by_code: Vec<bool> = (0..table.len()).map(|code| holds(table.get(code))).collect();
                words
                    .map(|&w| by_code.get(w as usize).copied().unwrap_or(false))
                    .collect()
            } else {
                (0..vector.len())
                    .map(|i| vector.is_valid(i) && holds(vector.string(i)))
                    .collect()
            }
        }
    }
}

fn compare_words<'w>(comparison: Comparison, words: impl Iterator<Item = &'w i64>, word: i64) -> Vec<bool> {
    match comparison {
        Comparison::Equal => words.map(|&w| w == word).collect(),
        Comparison::NotEqual => words.map(|&w| w != word).collect(),
        Comparison::Less => words.map(|&w| w < word).collect(),
        Comparison::LessEqual => words.map(|&w| w <= word).collect(),
        Comparison::Greater => words.map(|&w| w > word).collect(),
        Comparison::GreaterEqual => words.map(|&w| w >= word).collect(),
    }
}

/// Two vectors compared row by row; where one is NULL, anything.
pub(crate) fn each(comparison: Comparison, a: &Vector<'_>, b: &Vector<'_>) -> Vec<i64> {
    let one_scale = || scale_of(&a.view()).is_some_and(|scale| scale_of(&b.view()) == Some(scale));
    if matches!(a.ty, Type::Bool | Type::Int) || a.ty == Type::Numeric && one_scale() {
        let pairs = a.words.iter().zip(b.words.iter());
        return pairs.map(|(a, b)| i64::from(comparison.holds(a.cmp(b)))).collect();
    }
    let order = |i: usize| match a.ty {
        Type::Bool | Type::Int => a.words[i].cmp(&b.words[i]),
        Type::Float => float(a.words[i], b.words[i]),
        Type::Numeric => decimal(number(a, i), number(b, i)),
        // A NULL's word need not be that of a string.
        Type::Text if !a.is_valid(i) || !b.is_valid(i) => Ordering::Equal,
        Type::Text => a.string(i).cmp(b.string(i)),
    };
    (0..a.words.len())
        .map(|i| i64::from(comparison.holds(order(i))))
        .collect()
}

/// A path's values compared with a scalar document: numbers by value, strings by their bytes, other kinds are
/// different.
pub(crate) fn json_equals<'a>(dense: &Dense, rows: &[u32], scalar: &JsonScalar) -> Evaluated<'a> {
    let strings = dense.strings();
    // Which of few distinct strings it is.
    let code = match scalar {
        JsonScalar::String(sought) if dense.is_dictionary() => Some(
            (0..strings.len())
                .find(|&i| strings.get(i) == Some(sought))
                .map_or(-1, |i| i as i64),
        ),
        _ => None,
    };
    let mut words = Vec::with_capacity(rows.len());
    let mut valid = Vec::with_capacity(rows.len());
    let mut unsure = Vec::new();
    for (i, (&row, word)) in rows.iter().zip(dense.words().gather(rows)).enumerate() {
        let row = row as usize;
        let equal = match (dense.tag(row), scalar) {
            (Tag::String, JsonScalar::String(sought)) => match code {
                Some(code) => word == code,
                None => strings.get(word as usize) == Some(sought),
            },
            (Tag::Bool, JsonScalar::Bool(sought)) => (word != 0) == *sought,
            (Tag::Null, JsonScalar::Null) => true,
            (Tag::Int, JsonScalar::Number { mantissa, scale }) => decimal((word, 0), (*mantissa, *scale)).is_eq(),
            (Tag::Decimal, JsonScalar::Number { mantissa, scale }) => {
                decimal((word, dense.scales()[row]), (*mantissa, *scale)).is_eq()
            }
            (Tag::Other, JsonScalar::Number { .. }) => {
                unsure.push(i as u32);
                false
            }
            _ => false,
        };
        words.push(i64::from(equal));
        valid.push(dense.tag(row) != Tag::Missing);
    }
    let mut vector = Vector::of_words(Type::Bool, words);
    vector.valid = valid.contains(&false).then(|| valid.into());
    Evaluated { vector, unsure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_different_scales() {
        assert_eq!(decimal((10, 1), (1, 0)), Ordering::Equal);
        assert_eq!(decimal((15, 1), (1, 0)), Ordering::Greater);
        assert_eq!(decimal((1, 0), (15, 1)), Ordering::Less);
        assert_eq!(decimal((-1, 0), (1, 500)), Ordering::Less);
        assert_eq!(decimal((1, 500), (1, 0)), Ordering::Less);
        assert_eq!(decimal((0, 0), (-1, 500)), Ordering::Greater);
    }

    #[test]
    fn nan_is_above_all() {
        let bits = |f: f64| f.to_bits() as i64;
        assert_eq!(float(bits(f64::NAN), bits(f64::INFINITY)), Ordering::Greater);
        assert_eq!(float(bits(f64::NAN), bits(-f64::NAN)), Ordering::Equal);
        assert_eq!(float(bits(-0.0), bits(0.0)), Ordering::Equal);
    }
}
