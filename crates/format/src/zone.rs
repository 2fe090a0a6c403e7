//! Zones: a column's smallest and largest value (AMAX paper §4.2), for skipping leaves. Of byte strings how they begin: eight
//! bytes, as the paper has it, behind those that all values have in common.

use crate::kind::Kind;
use crate::prefix::{self, MOST, Prefix, Times};
use crate::stored::Stored;
use crate::tag::Tag;
use crate::values::Values;

/// A bound of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Of integers, exact; of decimals, rounded outwards; of booleans, 0 or 1.
    Int(i64),
    /// Of floats, exact, in PostgreSQL's order (NaN above all).
    Float(f64),
    /// Of byte strings, compared as unsigned bytes. An upper bound is one of the prefix only: values may
    /// continue after it. Both bounds have the same number of bytes.
    Prefix(Prefix),
}

/// The bounds of a column whose values all are of one kind of scalar; numbers count as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// The kind: [`Tag::Decimal`] if any value is one.
    pub tag: Tag,
    /// Whether there may be JSON nulls beside the values.
    pub has_null: bool,
    /// Of the values.
    pub min: Bound,
    /// Of the values.
    pub max: Bound,
    /// If all are strings that are times.
    pub times: Option<Times>,
}

impl Zone {
    /// Bounds of these integers or decimals, and of decimals beside them; `None` if they are anything else.
    pub(crate) fn with_decimals(self, decimals: &Self) -> Option<Self> {
        match (self.min, self.max, decimals.min, decimals.max) {
            (Bound::Int(a), Bound::Int(b), Bound::Int(c), Bound::Int(d))
                if decimals.tag == Tag::Decimal && self.tag != Tag::Bool =>
            {
                let (min, max) = (Bound::Int(a.min(c)), Bound::Int(b.max(d)));
                Some(Self { min, max, ..*decimals })
            }
            _ => None,
        }
    }
}

/// The tag of a kind that has bounds.
pub(crate) fn tag(kind: Kind) -> Option<Tag> {
    Some(match kind {
        Kind::Bool => Tag::Bool,
        Kind::Int => Tag::Int,
        Kind::Decimal => Tag::Decimal,
        Kind::Float4 | Kind::Float8 => Tag::Float,
        Kind::Bytes => Tag::String,
        _ => return None,
    })
}

/// The bounds stored for the values of a column; `None` if the kind has no useful ones.
pub(crate) fn of(values: &Values) -> Option<Stored> {
    let (min, max) = match values {
        Values::Bool(v) => ints(v.iter().map(|&b| i64::from(b)), v.iter().map(|&b| i64::from(b))),
        Values::Int(v) => ints(v.iter().copied(), v.iter().copied()),
        Values::Decimal { mantissa, scale } => decimals(mantissa, scale),
        Values::Float4(v) => floats(v.iter().map(|&bits| f64::from(f32::from_bits(bits)))),
        Values::Float8(v) => floats(v.iter().map(|&bits| f64::from_bits(bits))),
        Values::Bytes(v) => return prefix::of(v).map(Stored::of_strings),
        Values::None | Values::Dictionary { .. } | Values::Rest { .. } | Values::Lazy(_) => None,
    }?;
    Some(Stored::of_words(min, max))
}

/// The zone that stored bounds are, for a column of `kind`.
pub(crate) fn zone(kind: Kind, stored: &Stored) -> Option<Zone> {
    let strings = stored.strings();
    let (min, max, times) = match kind {
        Kind::Bool | Kind::Int | Kind::Decimal => {
            let bound = |bytes| Bound::Int(i64::from_le_bytes(bytes));
            (bound(stored.min), bound(stored.max), None)
        }
        Kind::Float4 | Kind::Float8 => {
            let bound = |bytes| Bound::Float(f64::from_le_bytes(bytes));
            (bound(stored.min), bound(stored.max), None)
        }
        Kind::Bytes => (Bound::Prefix(strings.min), Bound::Prefix(strings.max), strings.times),
        _ => return None,
    };
    Some(Zone {
        tag: tag(kind)?,
        has_null: false,
        min,
        max,
        times,
    })
}

/// Words of a zone in an image.
pub(crate) const WORDS: usize = 12;
const BOUND: usize = MOST / 8;

/// A zone as words of an image: its tag, beside a flag for nulls, the form of its bounds (above 0), their bytes, whether all are times,
/// and what is known of those; the bounds; the times.
pub(crate) fn to_words(zone: Option<Zone>) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    let Some(zone) = zone else {
        return words;
    };
    let bound = |bound: Bound, words: &mut [u64]| match bound {
        Bound::Int(v) => {
            words[0] = v as u64;
            1
        }
        Bound::Float(v) => {
            words[0] = v.to_bits();
            2
        }
        Bound::Prefix(v) => {
            for (word, bytes) in words.iter_mut().zip(v.bytes().chunks(8)) {
                *word = Prefix::of(bytes, 8)
                    .bytes()
                    .iter()
                    .fold(0, |word, &byte| word << 8 | u64::from(byte));
            }
            3 | (v.bytes().len() as u64) << 8
        }
    };
    bound(zone.min, &mut words[1..=BOUND]);
    let form = bound(zone.max, &mut words[1 + BOUND..]);
    words[0] = form << 16 | u64::from(zone.has_null) << 8 | zone.tag as u64;
    if let Some(times) = zone.times {
        let (least, most) = times.ahead.unwrap_or_default();
        words[9] = times.min as u64;
        words[10] = times.max as u64;
        words[11] = 1
            | u64::from(times.ahead.is_some()) << 8
            | u64::from(times.alike) << 16
            | u64::from(least as u16) << 32
            | u64::from(most as u16) << 48;
    }
    words
}

/// What [`to_words`] gave.
pub(crate) fn of_words(words: [u64; WORDS]) -> Option<Option<Zone>> {
    let kind = words[0];
    if kind == 0 {
        return Some(None);
    }
    let bound = |words: &[u64]| match kind >> 16 & 0xff {
        1 => Some(Bound::Int(words[0] as i64)),
        2 => Some(Bound::Float(f64::from_bits(words[0]))),
        3 => {
            let bytes: Vec<u8> = words[..BOUND].iter().flat_map(|word| word.to_be_bytes()).collect();
            Some(Bound::Prefix(Prefix::of(&bytes, (kind >> 24) as usize)))
        }
        _ => None,
    };
    let of_times = words[11];
    Some(Some(Zone {
        tag: Tag::of_byte(kind as u8),
        has_null: kind >> 8 & 1 != 0,
        min: bound(&words[1..])?,
        max: bound(&words[1 + BOUND..])?,
        times: (of_times != 0).then(|| Times {
            min: words[9] as i64,
            max: words[10] as i64,
            ahead: (of_times >> 8 & 1 != 0).then_some(((of_times >> 32) as i16, (of_times >> 48) as i16)),
            alike: (of_times >> 16) as u8,
        }),
    }))
}

/// PostgreSQL's order of floats: NaN is equal to NaN and above all others; -0 equals 0.
pub(crate) fn float_order(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn ints(low: impl Iterator<Item = i64>, high: impl Iterator<Item = i64>) -> Option<([u8; 8], [u8; 8])> {
    Some((low.min()?.to_le_bytes(), high.max()?.to_le_bytes()))
}

/// Rounding keeps the order of those with the same scale: only the least and the greatest of each are rounded.
fn decimals(mantissa: &[i64], scale: &[u16]) -> Option<([u8; 8], [u8; 8])> {
    // More decimals than these round every mantissa alike.
    const SCALES: usize = 20;
    let mut found = [None; SCALES];
    for (&m, &s) in mantissa.iter().zip(scale) {
        let (min, max) = found[usize::from(s).min(SCALES - 1)].get_or_insert((m, m));
        *min = m.min(*min);
        *max = m.max(*max);
    }
    let floor = |m: i64, unit: i128| i128::from(m).div_euclid(unit) as i64;
    let rounded = (0..).zip(found).filter_map(|(s, found)| {
        let unit = 10i128.pow(s);
        found.map(|(min, max)| {
            (
                floor(min, unit),
                floor(max, unit) + i64::from(i128::from(max).rem_euclid(unit) != 0),
            )
        })
    });
    let (min, max) = rounded.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some((min.to_le_bytes(), max.to_le_bytes()))
}

fn floats(v: impl Iterator<Item = f64> + Clone) -> Option<([u8; 8], [u8; 8])> {
    let min = v.clone().min_by(|a, b| float_order(*a, *b))?;
    let max = v.max_by(|a, b| float_order(*a, *b))?;
    Some((min.to_le_bytes(), max.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decimals_are_rounded_outwards(values in prop::collection::vec(
            (prop_oneof![any::<i64>(), -200i64..200], prop_oneof![0u16..4, 17u16..22, 1000u16..1100]), 1..20))
        {
            let rounded = |&(mantissa, scale): &(i64, u16)| {
                let unit = 10i128.checked_pow(scale.into()).unwrap_or(i128::MAX);
                let floor = i128::from(mantissa).div_euclid(unit) as i64;
                (floor, floor + i64::from(i128::from(mantissa).rem_euclid(unit) != 0))
            };
            let (mantissa, scale): (Vec<i64>, Vec<u16>) = values.iter().copied().unzip();
            let bounds = super::decimals(&mantissa, &scale).map(|(min, max)| (i64::from_le_bytes(min), i64::from_le_bytes(max)));
            let all = || values.iter().map(rounded);
            prop_assert_eq!(bounds, all().map(|r| r.0).min().zip(all().map(|r| r.1).max()));
        }
    }
}
