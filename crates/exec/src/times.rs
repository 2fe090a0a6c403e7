//! Times: read from text of ISO 8601, cut to a unit, and taken apart, as PostgreSQL's datetime.c and timestamp.c do it.
//! Only years of four digits: what is before, behind or infinite is PostgreSQL's.

use amax_format::iso::{DAY, HOUR, IsoTime, MINUTE, SECOND, date_of, days_of};

use crate::arith::{map, map_numeric};
use crate::evaluated::Evaluated;
use crate::strings;
use crate::vector::Type;

/// 2000-01-01, from which PostgreSQL counts, in seconds since 1970.
const EPOCH: i64 = 946_684_800;
/// Days of the years 1000 to 9999.
const DAYS: std::ops::Range<i64> = -365_242..2_921_940;

/// What a text is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeType {
    /// `date`
    Date,
    /// `timestamp`
    Timestamp,
    /// `timestamp with time zone`
    TimestampTz,
}

/// What a time is cut to, or what is taken of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds; as a field with six decimals.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Days, of the month.
    Day,
    /// Weeks, from Monday; no field.
    Week,
    /// Months.
    Month,
    /// Quarters.
    Quarter,
    /// Years.
    Year,
    /// The day of the week, Sunday is 0; only a field, as those behind it.
    DayOfWeek,
    /// The day of the week, Sunday is 7.
    IsoDayOfWeek,
    /// The day of the year.
    DayOfYear,
    /// Seconds since 1970, with six decimals.
    Epoch,
}

impl Unit {
    /// By one of the names that PostgreSQL has for it.
    pub fn by_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"second" => Self::Second,
            b"minute" => Self::Minute,
            b"hour" => Self::Hour,
            b"day" => Self::Day,
            b"week" => Self::Week,
            b"month" => Self::Month,
            b"quarter" => Self::Quarter,
            b"year" => Self::Year,
            b"dow" => Self::DayOfWeek,
            b"isodow" => Self::IsoDayOfWeek,
            b"doy" => Self::DayOfYear,
            b"epoch" => Self::Epoch,
            _ => return None,
        })
    }

    /// Whether `date_trunc` cuts to it.
    pub fn cuts(self) -> bool {
        !matches!(
            self,
            Self::DayOfWeek | Self::IsoDayOfWeek | Self::DayOfYear | Self::Epoch
        )
    }

    /// Whether it is a field, and the same in all time zones if that is asked.
    pub fn is_field(self, in_all_zones: bool) -> bool {
        self == Self::Epoch || self != Self::Week && !in_all_zones
    }

    /// A timestamp cut to it.
    pub(crate) fn cut(self, time: i64) -> Option<i64> {
        let days = in_range(time)?;
        let to = |length: i64| Some(time - time.rem_euclid(length));
        let first = |year, month| Some(days_of(year, month, 1) * DAY);
        match self {
            Self::Second => to(SECOND),
            Self::Minute => to(MINUTE),
            Self::Hour => to(HOUR),
            Self::Day => to(DAY),
            // 2000-01-03 was a Monday.
            Self::Week => Some((days - (days - 2).rem_euclid(7)) * DAY),
            _ => {
                let (year, month, _) = date_of(days);
                match self {
                    Self::Month => first(year, month),
                    Self::Quarter => first(year, (month - 1) / 3 * 3 + 1),
                    Self::Year => first(year, 1),
                    _ => None,
                }
            }
        }
    }

    /// What is taken of a timestamp: a mantissa and a scale.
    fn field(self, time: i64) -> Option<(i64, u16)> {
        let days = in_range(time)?;
        let of_day = time.rem_euclid(DAY);
        let whole = |value| Some((value, 0));
        match self {
            Self::Second => Some((of_day % MINUTE, 6)),
            Self::Minute => whole(of_day / MINUTE % 60),
            Self::Hour => whole(of_day / HOUR),
            // 2000-01-01 was a Saturday.
            Self::DayOfWeek => whole((days + 6).rem_euclid(7)),
            Self::IsoDayOfWeek => whole((days + 5).rem_euclid(7) + 1),
            Self::Epoch => Some((time + EPOCH * SECOND, 6)),
            _ => {
                let (year, month, day) = date_of(days);
                match self {
                    Self::Day => whole(day),
                    Self::Month => whole(month),
                    Self::Quarter => whole((month - 1) / 3 + 1),
                    Self::Year => whole(year),
                    Self::DayOfYear => whole(days - days_of(year, 1, 1) + 1),
                    _ => None,
                }
            }
        }
    }
}

/// A timestamp's day, if its year has four digits.
fn in_range(time: i64) -> Option<i64> {
    let days = time.div_euclid(DAY);
    DAYS.contains(&days).then_some(days)
}

/// What input functions make of a text, whatever the settings are.
fn read(text: &[u8], ty: TimeType) -> Option<i64> {
    let time = IsoTime::read(text)?;
    Some(match ty {
        TimeType::Date => time.day,
        // What a zone says is not looked at.
        TimeType::Timestamp => time.local(),
        TimeType::TimestampTz => time.local() - i64::from(time.ahead?) * MINUTE,
    })
}

/// Texts as times.
pub(crate) fn from_text<'a>(text: Evaluated<'_>, ty: TimeType) -> Evaluated<'a> {
    strings::words(text, Type::Int, |text| read(text, ty))
}

/// Timestamps cut to a unit.
pub(crate) fn cut(arg: Evaluated<'_>, unit: Unit) -> Evaluated<'_> {
    map(arg, Type::Int, |_, time| unit.cut(time))
}

/// Fields of timestamps, as `numeric` or as `double precision`.
pub(crate) fn field(arg: Evaluated<'_>, unit: Unit, ty: Type) -> Evaluated<'_> {
    if ty == Type::Numeric {
        return map_numeric(arg, |time, _| unit.field(time));
    }
    map(arg, ty, |_, time| match unit.field(time)? {
        (value, 0) => Some((value as f64).to_bits() as i64),
        // As quotients they are PostgreSQL's.
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_its_date() {
        assert_eq!(days_of(2000, 1, 1), 0);
        assert_eq!(days_of(1970, 1, 1), -10_957);
        assert_eq!(date_of(59), (2000, 2, 29));
        assert_eq!((days_of(1000, 1, 1), days_of(10_000, 1, 1)), (DAYS.start, DAYS.end));
        let mut last = date_of(DAYS.start - 1);
        for days in DAYS {
            let date = date_of(days);
            assert_eq!(days_of(date.0, date.1, date.2), days);
            assert!(date > last && (1..=31).contains(&date.2));
            last = date;
        }
    }

    #[test]
    fn only_plain_texts_are_read() {
        use TimeType::*;
        let noon = 12 * HOUR;
        for (text, ty, expected) in [
            ("2000-01-01T12:00:00Z", TimestampTz, Some(noon)),
            ("2000-01-01 12:00:00+02", TimestampTz, Some(noon - 2 * HOUR)),
            (
                "2000-01-01T12:00:00.5-05:30",
                TimestampTz,
                Some(noon + SECOND / 2 + 5 * HOUR + 30 * MINUTE),
            ),
            ("2000-01-01T12:00:00.123456Z", TimestampTz, Some(noon + 123_456)),
            ("2000-01-01T12:00:00", TimestampTz, None),
            ("2000-01-01", TimestampTz, None),
            ("2000-01-02T12:00:00+02", Timestamp, Some(DAY + noon)),
            ("2000-01-02", Timestamp, Some(DAY)),
            ("2000-01-02", Date, Some(1)),
            ("2000-01-02T23:59:59Z", Date, Some(1)),
            ("2000-02-30", Date, None),
            ("1900-02-29", Date, None),
            ("2000-02-29", Date, Some(59)),
            ("2000-13-01", Date, None),
            ("2000-01-01T24:00:00Z", TimestampTz, None),
            ("2000-01-01T12:00:60Z", TimestampTz, None),
            ("2000-01-01T12:00:00.1234567Z", TimestampTz, None),
            ("2000-01-01T12:00:00.Z", TimestampTz, None),
            ("2000-01-01T12:00:00+02:", TimestampTz, None),
            ("2000-01-01T12:00:00 Z", TimestampTz, None),
            ("2000-01-01T12:00Z", TimestampTz, None),
            (" 2000-01-01", Date, None),
            ("0000-01-01", Date, None),
            ("", Date, None),
        ] {
            assert_eq!(read(text.as_bytes(), ty), expected, "{text}");
        }
    }

    #[test]
    fn times_are_cut_and_taken_apart() {
        // 1999-12-31 23:59:58.5, a Friday, and 2024-05-15 10:20:30, a Wednesday.
        let (before, after) = (
            -SECOND - SECOND / 2,
            days_of(2024, 5, 15) * DAY + 10 * HOUR + 20 * MINUTE + 30 * SECOND,
        );
        for (unit, first, second) in [
            (Unit::Second, -2 * SECOND, after),
            (Unit::Day, -DAY, days_of(2024, 5, 15) * DAY),
            (Unit::Week, days_of(1999, 12, 27) * DAY, days_of(2024, 5, 13) * DAY),
            (Unit::Month, days_of(1999, 12, 1) * DAY, days_of(2024, 5, 1) * DAY),
            (Unit::Quarter, days_of(1999, 10, 1) * DAY, days_of(2024, 4, 1) * DAY),
            (Unit::Year, days_of(1999, 1, 1) * DAY, days_of(2024, 1, 1) * DAY),
        ] {
            assert_eq!(
                (unit.cut(before), unit.cut(after)),
                (Some(first), Some(second)),
                "{unit:?}"
            );
        }
        for (unit, first, second) in [
            (Unit::Second, (58_500_000, 6), (30_000_000, 6)),
            (Unit::Minute, (59, 0), (20, 0)),
            (Unit::Hour, (23, 0), (10, 0)),
            (Unit::Day, (31, 0), (15, 0)),
            (Unit::Month, (12, 0), (5, 0)),
            (Unit::Quarter, (4, 0), (2, 0)),
            (Unit::Year, (1999, 0), (2024, 0)),
            (Unit::DayOfWeek, (5, 0), (3, 0)),
            (Unit::IsoDayOfWeek, (5, 0), (3, 0)),
            (Unit::DayOfYear, (365, 0), (136, 0)),
            (Unit::Epoch, (946_684_798_500_000, 6), (1_715_768_430_000_000, 6)),
        ] {
            assert_eq!(
                (unit.field(before), unit.field(after)),
                (Some(first), Some(second)),
                "{unit:?}"
            );
        }
        assert_eq!(Unit::Day.cut(i64::MIN), None);
        assert_eq!(Unit::Year.field(i64::MAX), None);
        // A Sunday.
        assert_eq!(Unit::DayOfWeek.field(DAY), Some((0, 0)));
        assert_eq!(Unit::IsoDayOfWeek.field(DAY), Some((7, 0)));
    }
}
