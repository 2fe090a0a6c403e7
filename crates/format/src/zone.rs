//! Zones: eight-byte prefixes of a column's smallest and largest value (AMAX paper §4.2), for skipping
//! leaves.

use crate::kind::Kind;
use crate::tag::Tag;
use crate::values::Values;

/// A bound of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Of integers, exact; of decimals, rounded outwards; of booleans, 0 or 1.
    Int(i64),
    /// Of floats, exact, in PostgreSQL's order (NaN above all).
    Float(f64),
    /// Of byte strings, compared as unsigned bytes: the first eight, zero padded. An upper bound is one of
    /// the prefix only: values may continue after it.
    Prefix([u8; 8]),
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

/// The prefixes stored for the values of a column; `None` if the kind has no useful ones.
pub(crate) fn of(values: &Values) -> Option<([u8; 8], [u8; 8])> {
    match values {
        Values::Bool(v) => ints(v.iter().map(|&b| i64::from(b)), v.iter().map(|&b| i64::from(b))),
        Values::Int(v) => ints(v.iter().copied(), v.iter().copied()),
        Values::Decimal { mantissa, scale } => decimals(mantissa, scale),
        Values::Float4(v) => floats(v.iter().map(|&bits| f64::from(f32::from_bits(bits)))),
        Values::Float8(v) => floats(v.iter().map(|&bits| f64::from_bits(bits))),
        Values::Bytes(v) => {
            // Prefixes have the order of what they are of.
            let mut prefixes = v.iter().map(|bytes| u64::from_be_bytes(prefix(bytes)));
            let first = prefixes.next()?;
            let (min, max) = prefixes.fold((first, first), |(min, max), p| (p.min(min), p.max(max)));
            Some((min.to_be_bytes(), max.to_be_bytes()))
        }
        Values::None | Values::Dictionary { .. } | Values::Rest { .. } | Values::Lazy(_) => None,
    }
}

/// The bound that a stored prefix is, for a column of `kind`.
pub(crate) fn bound(kind: Kind, bytes: [u8; 8]) -> Option<Bound> {
    match kind {
        Kind::Bool | Kind::Int | Kind::Decimal => Some(Bound::Int(i64::from_le_bytes(bytes))),
        Kind::Float4 | Kind::Float8 => Some(Bound::Float(f64::from_le_bytes(bytes))),
        Kind::Bytes => Some(Bound::Prefix(bytes)),
        _ => None,
    }
}

/// A zone as words of an image: its tag, beside a flag for nulls and above 0 the form of its bounds; the bounds.
pub(crate) fn to_words(zone: Option<Zone>) -> [u64; 3] {
    let Some(zone) = zone else {
        return [0; 3];
    };
    let word = |bound| match bound {
        Bound::Int(v) => (1, v as u64),
        Bound::Float(v) => (2, v.to_bits()),
        Bound::Prefix(v) => (3, u64::from_be_bytes(v)),
    };
    let ((form, min), (_, max)) = (word(zone.min), word(zone.max));
    let kind = form << 16 | u64::from(zone.has_null) << 8 | zone.tag as u64;
    [kind, min, max]
}

/// What [`to_words`] gave.
pub(crate) fn of_words([kind, min, max]: [u64; 3]) -> Option<Option<Zone>> {
    let bound = |word: u64| match kind >> 16 {
        1 => Some(Bound::Int(word as i64)),
        2 => Some(Bound::Float(f64::from_bits(word))),
        3 => Some(Bound::Prefix(word.to_be_bytes())),
        _ => None,
    };
    if kind == 0 {
        return Some(None);
    }
    Some(Some(Zone {
        tag: Tag::of_byte(kind as u8),
        has_null: kind >> 8 & 1 != 0,
        min: bound(min)?,
        max: bound(max)?,
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

fn prefix(bytes: &[u8]) -> [u8; 8] {
    if let Some(prefix) = bytes.first_chunk() {
        return *prefix;
    }
    let mut prefix = [0; 8];
    prefix[..bytes.len()].copy_from_slice(bytes);
    prefix
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
