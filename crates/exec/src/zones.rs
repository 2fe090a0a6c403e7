//! What the bounds of a leaf's columns say of expressions over them (AMAX paper §4.2).

use amax_format::iso::{DAY, MINUTE};
use amax_format::{Bound, Tag, Times, Zone};

use crate::expr::Expr;
use crate::operators::To;
use crate::strings::TextFunction;
use crate::times::{TimeType, Unit};
use crate::vector::Type;

/// A leaf's bounds.
pub trait Zones {
    /// Those of input `input`, if they are known.
    fn zone(&self, input: usize) -> Option<Zone>;
    /// Whether all rows have a value of input `input` that is not null; false if it is not known.
    fn is_everywhere(&self, input: usize) -> bool;
}

/// The input of an expression that has bounds, which is NULL where that is.
pub(crate) fn input_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Column(input, _) | Expr::Text(input) | Expr::Cast { input, .. } => Some(*input),
        Expr::TextFunction { arg, .. } | Expr::Time(arg, _) | Expr::Cut(arg, _) => input_of(arg),
        _ => None,
    }
}

/// The bounds of an expression's values. Those of text are bytes of it, whatever its collation.
pub(crate) fn zone_of(expr: &Expr, zones: &dyn Zones) -> Option<Zone> {
    match expr {
        // As text numbers have another order.
        Expr::Text(input) | Expr::Column(input, Type::Text) => {
            zones.zone(*input).filter(|zone| zone.tag == Tag::String)
        }
        Expr::Column(input, _) => zones.zone(*input).filter(|zone| zone.tag != Tag::String),
        Expr::Cast { input, to, .. } => zones.zone(*input).filter(|zone| match to {
            To::Float | To::Numeric => matches!(zone.tag, Tag::Int | Tag::Decimal),
            To::Int { .. } => zone.tag == Tag::Int,
            To::Bool => zone.tag == Tag::Bool,
        }),
        Expr::TextFunction { function, arg, .. } => Some(beginnings(zone_of(arg, zones)?, taken(function)?)),
        Expr::Time(arg, ty) => of_times(&zone_of(arg, zones)?, *ty),
        Expr::Cut(arg, unit) => cut(zone_of(arg, zones)?, *unit),
        _ => None,
    }
}

/// The words of an expression of integers that is not NULL, from the least to the most, as bounds have them.
pub fn words_between(expr: &Expr, zones: &dyn Zones) -> Option<(i64, i64)> {
    match zone_of(expr, zones)? {
        Zone {
            tag: Tag::Int,
            min: Bound::Int(min),
            max: Bound::Int(max),
            ..
        } => Some((min, max)),
        _ => None,
    }
}

/// How many bytes texts begin with that have digits at the same places, and the same characters between them.
pub(crate) fn alike(expr: &Expr, zones: &dyn Zones) -> Option<usize> {
    match expr {
        Expr::Text(_) | Expr::Column(_, Type::Text) => Some(zone_of(expr, zones)?.times?.alike.into()),
        Expr::TextFunction { function, arg, .. } => Some(alike(arg, zones)?.min(taken(function)?)),
        _ => None,
    }
}

/// How many characters of the beginning a function takes.
fn taken(function: &TextFunction) -> Option<usize> {
    match function {
        TextFunction::Left(count) => usize::try_from(*count).ok(),
        TextFunction::Substring { start, end } if *start <= 1 => usize::try_from((*end - 1).max(0)).ok(),
        _ => None,
    }
}

/// The bounds of texts of which so many characters are taken: those are as many bytes at least.
fn beginnings(zone: Zone, characters: usize) -> Zone {
    const DATE: usize = 10;
    let cut = |bound| match bound {
        Bound::Prefix(prefix) => Bound::Prefix(prefix.cut(characters)),
        other => other,
    };
    let times = zone.times.filter(|_| characters == DATE).map(|times| Times {
        min: times.min.div_euclid(DAY) * DAY,
        max: times.max.div_euclid(DAY) * DAY,
        ahead: None,
        alike: DATE as u8,
    });
    Zone {
        min: cut(zone.min),
        max: cut(zone.max),
        times,
        ..zone
    }
}

/// The bounds of texts that are cast to a time.
fn of_times(zone: &Zone, ty: TimeType) -> Option<Zone> {
    let times = zone.times?;
    let (min, max) = match ty {
        TimeType::Date => (times.min.div_euclid(DAY), times.max.div_euclid(DAY)),
        TimeType::Timestamp => (times.min, times.max),
        TimeType::TimestampTz => {
            let (least, most) = times.ahead?;
            let instant = |time: i64, ahead: i16| time.saturating_sub(i64::from(ahead) * MINUTE);
            (instant(times.min, most), instant(times.max, least))
        }
    };
    Some(Zone {
        tag: Tag::Int,
        has_null: zone.has_null,
        min: Bound::Int(min),
        max: Bound::Int(max),
        times: None,
    })
}

/// The bounds of timestamps cut to a unit.
fn cut(zone: Zone, unit: Unit) -> Option<Zone> {
    let cut = |bound| match bound {
        Bound::Int(time) => unit.cut(time).map(Bound::Int),
        _ => None,
    };
    Some(Zone {
        min: cut(zone.min)?,
        max: cut(zone.max)?,
        ..zone
    })
}

/// Bounds for tests.
#[cfg(test)]
pub(crate) mod testing {
    use amax_format::{Bound, Prefix, Tag, Zone};

    pub(crate) fn ints(min: i64, max: i64) -> Zone {
        zone(Tag::Int, Bound::Int(min), Bound::Int(max))
    }

    pub(crate) fn texts(min: &str, max: &str) -> Zone {
        let bound = |text: &str| Bound::Prefix(Prefix::of(text.as_bytes(), text.len()));
        zone(Tag::String, bound(min), bound(max))
    }

    fn zone(tag: Tag, min: Bound, max: Bound) -> Zone {
        Zone {
            tag,
            has_null: false,
            min,
            max,
            times: None,
        }
    }
}
