//! Times of one type against constants of another, as comparisons within one type.

use super::constant;
use crate::pg::expr::{Const, FuncExpr};
use crate::pg::lookup::held;
use crate::pg::node::Node;
use amax_exec::Comparison;
use pgrx::pg_sys::*;

pub const DAY: i64 = 86_400_000_000;
/// The least finite date (`IS_VALID_DATE`), and the greatest.
pub const DATES: (i64, i64) = (-2_451_545, 2_145_031_948);
/// Within so many days of 2000 every date is a timestamp, in every time zone.
pub const NEAR: i64 = 2_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kinds {
    DateTimestamp,
    TimestampDate,
    ZonedDate,
    DateZoned,
    ZonedTimestamp,
    TimestampZoned,
}

fn mixed(function: u32) -> Option<(Comparison, Kinds)> {
    use Kinds::*;
    Some(match function {
        F_DATE_EQ_TIMESTAMP => (Comparison::Equal, DateTimestamp),
        F_DATE_NE_TIMESTAMP => (Comparison::NotEqual, DateTimestamp),
        F_DATE_LT_TIMESTAMP => (Comparison::Less, DateTimestamp),
        F_DATE_LE_TIMESTAMP => (Comparison::LessEqual, DateTimestamp),
        F_DATE_GT_TIMESTAMP => (Comparison::Greater, DateTimestamp),
        F_DATE_GE_TIMESTAMP => (Comparison::GreaterEqual, DateTimestamp),
        F_TIMESTAMP_EQ_DATE => (Comparison::Equal, TimestampDate),
        F_TIMESTAMP_NE_DATE => (Comparison::NotEqual, TimestampDate),
        F_TIMESTAMP_LT_DATE => (Comparison::Less, TimestampDate),
        F_TIMESTAMP_LE_DATE => (Comparison::LessEqual, TimestampDate),
        F_TIMESTAMP_GT_DATE => (Comparison::Greater, TimestampDate),
        F_TIMESTAMP_GE_DATE => (Comparison::GreaterEqual, TimestampDate),
        F_TIMESTAMPTZ_EQ_DATE => (Comparison::Equal, ZonedDate),
        F_TIMESTAMPTZ_NE_DATE => (Comparison::NotEqual, ZonedDate),
        F_TIMESTAMPTZ_LT_DATE => (Comparison::Less, ZonedDate),
        F_TIMESTAMPTZ_LE_DATE => (Comparison::LessEqual, ZonedDate),
        F_TIMESTAMPTZ_GT_DATE => (Comparison::Greater, ZonedDate),
        F_TIMESTAMPTZ_GE_DATE => (Comparison::GreaterEqual, ZonedDate),
        F_DATE_EQ_TIMESTAMPTZ => (Comparison::Equal, DateZoned),
        F_DATE_NE_TIMESTAMPTZ => (Comparison::NotEqual, DateZoned),
        F_DATE_LT_TIMESTAMPTZ => (Comparison::Less, DateZoned),
        F_DATE_LE_TIMESTAMPTZ => (Comparison::LessEqual, DateZoned),
        F_DATE_GT_TIMESTAMPTZ => (Comparison::Greater, DateZoned),
        F_DATE_GE_TIMESTAMPTZ => (Comparison::GreaterEqual, DateZoned),
        F_TIMESTAMPTZ_EQ_TIMESTAMP => (Comparison::Equal, ZonedTimestamp),
        F_TIMESTAMPTZ_NE_TIMESTAMP => (Comparison::NotEqual, ZonedTimestamp),
        F_TIMESTAMPTZ_LT_TIMESTAMP => (Comparison::Less, ZonedTimestamp),
        F_TIMESTAMPTZ_LE_TIMESTAMP => (Comparison::LessEqual, ZonedTimestamp),
        F_TIMESTAMPTZ_GT_TIMESTAMP => (Comparison::Greater, ZonedTimestamp),
        F_TIMESTAMPTZ_GE_TIMESTAMP => (Comparison::GreaterEqual, ZonedTimestamp),
        F_TIMESTAMP_EQ_TIMESTAMPTZ => (Comparison::Equal, TimestampZoned),
        F_TIMESTAMP_NE_TIMESTAMPTZ => (Comparison::NotEqual, TimestampZoned),
        F_TIMESTAMP_LT_TIMESTAMPTZ => (Comparison::Less, TimestampZoned),
        F_TIMESTAMP_LE_TIMESTAMPTZ => (Comparison::LessEqual, TimestampZoned),
        F_TIMESTAMP_GT_TIMESTAMPTZ => (Comparison::Greater, TimestampZoned),
        F_TIMESTAMP_GE_TIMESTAMPTZ => (Comparison::GreaterEqual, TimestampZoned),
        _ => return None,
    })
}

/// A comparison whose operands are of one type, for one of two types of time with a constant. None if there is none: a date
/// against a timestamptz is another instant in every time zone.
pub fn comparison<'a>(function: u32, left: &'a Node, right: &'a Node) -> Option<(Comparison, &'a Node, &'a Node)> {
    let (comparison, kinds) = mixed(function)?;
    let (value, other, comparison, kinds) = match constant::value(right) {
        Some(constant) => (left, constant, comparison, kinds),
        None => (right, constant::value(left)?, comparison.flip(), flip(kinds)),
    };
    let (comparison, constant) = match kinds {
        Kinds::DateTimestamp => {
            let (comparison, day) = day_of(comparison, other.value() as i64)?;
            (comparison, word(DATEOID, day))
        }
        Kinds::TimestampDate => {
            let day = near(i64::from(other.value() as i32))?;
            (comparison, word(TIMESTAMPOID, day * DAY))
        }
        // The time zone's offset is that of the session that runs the plan.
        Kinds::ZonedDate => {
            near(i64::from(other.value() as i32))?;
            (
                comparison,
                zoned(F_TIMESTAMPTZ_DATE, word(DATEOID, other.value() as i32 as i64)),
            )
        }
        Kinds::ZonedTimestamp => {
            near((other.value() as i64).div_euclid(DAY))?;
            (
                comparison,
                zoned(F_TIMESTAMPTZ_TIMESTAMP, word(TIMESTAMPOID, other.value() as i64)),
            )
        }
        Kinds::DateZoned | Kinds::TimestampZoned => return None,
    };
    Some((comparison, value, constant))
}

fn flip(kinds: Kinds) -> Kinds {
    match kinds {
        Kinds::DateTimestamp => Kinds::TimestampDate,
        Kinds::TimestampDate => Kinds::DateTimestamp,
        Kinds::ZonedDate => Kinds::DateZoned,
        Kinds::DateZoned => Kinds::ZonedDate,
        Kinds::ZonedTimestamp => Kinds::TimestampZoned,
        Kinds::TimestampZoned => Kinds::ZonedTimestamp,
    }
}

fn near(day: i64) -> Option<i64> {
    (day.abs() <= NEAR).then_some(day)
}

/// A constant that is passed by value.
pub fn word<'a>(ty: Oid, word: i64) -> &'a Node {
    let held = held(ty);
    let none = InvalidOid;
    Const::make(
        ty,
        none,
        (held.len, held.by_value),
        (super::datum::of_word(word, ty), false),
    )
}

fn zoned(cast: u32, constant: &Node) -> &Node {
    FuncExpr::cast(cast.into(), TIMESTAMPTZOID, constant)
}

/// A comparison of dates with a timestamp as one with a day, as date_cmp_timestamp_internal() of date.c has it: also dates
/// that are no timestamps are greater than all finite ones.
fn day_of(comparison: Comparison, timestamp: i64) -> Option<(Comparison, i64)> {
    if let i64::MIN | i64::MAX = timestamp {
        let day = if timestamp > 0 { i32::MAX } else { i32::MIN };
        return Some((comparison, day.into()));
    }
    let (day, rest) = (timestamp.div_euclid(DAY), timestamp.rem_euclid(DAY));
    let comparison = match comparison {
        _ if rest == 0 => comparison,
        // That day's midnight is before it.
        Comparison::Less => Comparison::LessEqual,
        Comparison::GreaterEqual => Comparison::Greater,
        // No date is equal.
        Comparison::Equal | Comparison::NotEqual => return None,
        other => other,
    };
    Some((comparison, day))
}
