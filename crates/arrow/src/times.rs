//! Dates, times and intervals as text: ISO 8601, as PostgreSQL reads it whatever its settings are.

use amax_format::iso;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowTemporalType, Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use std::fmt::Display;
use std::io::Write;

use crate::cell::Put;
use crate::error::{Unfit, Unsuited, Unwritten};
use crate::target::Target;

/// Seconds.
pub(crate) const DAY: i64 = 86_400;
/// 2000-01-01, in days since 1970-01-01.
pub(crate) const EPOCH: i64 = 10_957;
/// Of a second.
const NANOS: i64 = 1_000_000_000;

/// A column of dates, times or intervals; `instant`: of timestamps that are in UTC, though they have no time zone.
pub(crate) fn put(array: &ArrayRef, target: &Target, instant: bool) -> Result<Put, Unsuited> {
    let fine = target.is_fine();
    Ok(match array.data_type() {
        DataType::Date32 => column::<Date32Type>(array, |days, to| {
            date(i64::from(days), to);
            Ok(())
        }),
        DataType::Date64 => column::<Date64Type>(array, |millis, to| {
            if millis.rem_euclid(DAY * 1000) != 0 {
                return Err(NOT_A_DAY.into());
            }
            date(millis.div_euclid(DAY * 1000), to);
            Ok(())
        }),
        DataType::Time32(TimeUnit::Second) => {
            column::<Time32SecondType>(array, move |time, to| time_of_day(Moment::of(time.into(), 1), fine, to))
        }
        DataType::Time32(_) => column::<Time32MillisecondType>(array, move |time, to| {
            time_of_day(Moment::of(time.into(), 1000), fine, to)
        }),
        DataType::Time64(TimeUnit::Nanosecond) => {
            column::<Time64NanosecondType>(array, move |time, to| time_of_day(Moment::of(time, NANOS), fine, to))
        }
        DataType::Time64(_) => column::<Time64MicrosecondType>(array, move |time, to| {
            time_of_day(Moment::of(time, 1_000_000), fine, to)
        }),
        DataType::Timestamp(unit, zone) => {
            let zoned = zone.is_some();
            if zoned && matches!(target, Target::Timestamp | Target::Date) {
                return Err(Unsuited {
                    data_type: array.data_type().clone(),
                    hint: "It is a point in time, which timestamptz holds. Take the time zone off before it is sent, or choose \
                           another column.",
                });
            }
            let zoned = zoned || instant && *target == Target::TimestampTz;
            let day = *target == Target::Date;
            let write = move |moment: Moment, to: &mut Vec<u8>| timestamp(moment, zoned, day, fine, to);
            match unit {
                TimeUnit::Second => column::<TimestampSecondType>(array, move |at, to| write(Moment::of(at, 1), to)),
                TimeUnit::Millisecond => {
                    column::<TimestampMillisecondType>(array, move |at, to| write(Moment::of(at, 1000), to))
                }
                TimeUnit::Microsecond => {
                    column::<TimestampMicrosecondType>(array, move |at, to| write(Moment::of(at, 1_000_000), to))
                }
                TimeUnit::Nanosecond => {
                    column::<TimestampNanosecondType>(array, move |at, to| write(Moment::of(at, NANOS), to))
                }
            }
        }
        DataType::Duration(unit) => {
            let write = move |moment: Moment, to: &mut Vec<u8>| interval(0, 0, moment, fine, to);
            match unit {
                TimeUnit::Second => column::<DurationSecondType>(array, move |time, to| write(Moment::of(time, 1), to)),
                TimeUnit::Millisecond => {
                    column::<DurationMillisecondType>(array, move |time, to| write(Moment::of(time, 1000), to))
                }
                TimeUnit::Microsecond => {
                    column::<DurationMicrosecondType>(array, move |time, to| write(Moment::of(time, 1_000_000), to))
                }
                TimeUnit::Nanosecond => {
                    column::<DurationNanosecondType>(array, move |time, to| write(Moment::of(time, NANOS), to))
                }
            }
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let array = array.as_primitive::<IntervalYearMonthType>().clone();
            Box::new(move |row, to| interval(array.value(row), 0, Moment::of(0, 1), fine, to))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let array = array.as_primitive::<IntervalDayTimeType>().clone();
            Box::new(move |row, to| {
                let value = array.value(row);
                interval(0, value.days, Moment::of(value.milliseconds.into(), 1000), fine, to)
            })
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>().clone();
            Box::new(move |row, to| {
                let value = array.value(row);
                interval(value.months, value.days, Moment::of(value.nanoseconds, NANOS), fine, to)
            })
        }
        other => unreachable!("no times: {other}"),
    })
}

/// Intervals as Parquet has them: months, days and milliseconds, each without a sign.
pub(crate) fn parquet_intervals(array: FixedSizeBinaryArray) -> Put {
    Box::new(move |row, to| {
        let value = array.value(row);
        let part = |at: usize| u32::from_le_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        parts(part(0), part(4), Moment::of(part(8).into(), 1000), to);
        Ok(())
    })
}

/// An interval of months, days and microseconds, in ISO 8601 as PostgreSQL reads it whatever its settings are.
pub fn put_interval(months: i32, days: i32, micros: i64, to: &mut Vec<u8>) {
    parts(months, days, Moment::of(micros, 1_000_000), to);
}

fn column<T: ArrowTemporalType>(
    array: &ArrayRef,
    write: impl Fn(T::Native, &mut Vec<u8>) -> Result<(), Unwritten> + 'static,
) -> Put {
    let array = array.as_primitive::<T>().clone();
    Box::new(move |row, to| write(array.value(row), to))
}

/// Seconds, rounded down, and what is left in nanoseconds.
#[derive(Clone, Copy)]
struct Moment {
    seconds: i64,
    nanos: i64,
}

impl Moment {
    fn of(value: i64, per_second: i64) -> Self {
        Self {
            seconds: value.div_euclid(per_second),
            nanos: value.rem_euclid(per_second) * (NANOS / per_second),
        }
    }

    /// Itself, if its target can hold it.
    fn checked(self, fine: bool) -> Result<Self, Unfit> {
        match fine || self.nanos % 1000 == 0 {
            true => Ok(self),
            false => Err(Unfit {
                detail: "The time is finer than a microsecond.",
                hint: "Round it to microseconds before it is sent, or choose a column of type text.",
            }),
        }
    }

    /// `.123` behind the seconds, if there is any.
    fn fraction(self, to: &mut Vec<u8>) {
        if self.nanos == 0 {
            return;
        }
        write!(to, ".{:09}", self.nanos).expect("a vector takes it");
        while to.last() == Some(&b'0') {
            to.pop();
        }
    }
}

/// `YYYY-MM-DD` of days since 1970-01-01, and whether that is before our era, which is said behind all of it.
fn date_of_era(days: i64, to: &mut Vec<u8>) -> bool {
    let (year, month, day) = iso::date_of(days - EPOCH);
    let before = year <= 0;
    let year = if before { 1 - year } else { year };
    write!(to, "{year:04}-{month:02}-{day:02}").expect("a vector takes it");
    before
}

fn date(days: i64, to: &mut Vec<u8>) {
    if date_of_era(days, to) {
        to.extend(b" BC");
    }
}

const NOT_A_DAY: Unfit = Unfit {
    detail: "The time is not midnight.",
    hint: "Cut it to days before it is sent, or choose a column of type timestamp.",
};

fn timestamp(moment: Moment, zoned: bool, day: bool, fine: bool, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    let (days, of_day) = (moment.seconds.div_euclid(DAY), moment.seconds.rem_euclid(DAY));
    if day {
        if (of_day, moment.nanos) != (0, 0) {
            return Err(NOT_A_DAY.into());
        }
        date(days, to);
        return Ok(());
    }
    let before = date_of_era(days, to);
    to.push(b'T');
    clock(of_day, to);
    moment.checked(fine)?.fraction(to);
    if zoned {
        to.extend(b"+00:00");
    }
    if before {
        to.extend(b" BC");
    }
    Ok(())
}

fn clock(seconds: i64, to: &mut Vec<u8>) {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(to, "{hours:02}:{minutes:02}:{seconds:02}").expect("a vector takes it");
}

fn time_of_day(moment: Moment, fine: bool, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    if !(0..=DAY).contains(&moment.seconds) {
        return Err(Unwritten::Unfit(Unfit {
            detail: "The time is outside of a day.",
            hint: "Send a time between 00:00 and 24:00, or a duration for a column of type interval.",
        }));
    }
    clock(moment.seconds, to);
    moment.checked(fine)?.fraction(to);
    Ok(())
}

/// `P1M2DT4M3.5S`. Units of different signs stay apart, as in PostgreSQL's, which reads seconds as a floating-point number: so
/// minutes are by themselves.
fn interval(months: i32, days: i32, time: Moment, fine: bool, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    parts(months, days, time.checked(fine)?, to);
    Ok(())
}

/// An interval of these parts, in ISO 8601.
fn parts(months: impl Display, days: impl Display, time: Moment, to: &mut Vec<u8>) {
    write!(to, "P{months}M{days}DT").expect("a vector takes it");
    // Seconds are rounded down: the fraction of negative ones is counted from the other side.
    let (seconds, nanos) = match time.seconds < 0 && time.nanos > 0 {
        true => (time.seconds + 1, NANOS - time.nanos),
        false => (time.seconds, time.nanos),
    };
    let sign = if time.seconds < 0 { "-" } else { "" };
    let all = seconds.unsigned_abs();
    write!(to, "{sign}{}M{sign}{}", all / 60, all % 60).expect("a vector takes it");
    Moment { seconds, nanos }.fraction(to);
    to.push(b'S');
}

#[cfg(test)]
mod tests {
    use super::{Moment, NANOS, date, interval, timestamp};

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut to = Vec::new();
        write(&mut to);
        String::from_utf8(to).unwrap()
    }

    #[test]
    fn dates_of_all_eras() {
        let of = |days| text(|to| date(days, to));
        assert_eq!(of(0), "1970-01-01");
        assert_eq!(of(10_957), "2000-01-01");
        assert_eq!(of(-719_528), "0001-01-01 BC");
        assert_eq!(of(-719_162), "0001-01-01");
        assert_eq!(of(-719_163), "0001-12-31 BC");
        assert_eq!(of(i64::from(i32::MAX)), "5881580-07-11");
    }

    #[test]
    fn timestamps_keep_their_fractions() {
        let of = |nanos| text(|to| timestamp(Moment::of(nanos, NANOS), true, false, true, to).unwrap());
        assert_eq!(of(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(of(-1), "1969-12-31T23:59:59.999999999+00:00");
        assert_eq!(of(1_500_000_000), "1970-01-01T00:00:01.5+00:00");
        let mut to = Vec::new();
        assert!(timestamp(Moment::of(1, NANOS), false, false, false, &mut to).is_err());
        assert!(timestamp(Moment::of(1, 1), false, true, false, &mut to).is_err());
    }

    #[test]
    fn intervals_have_signs_by_unit() {
        let of = |months, days, nanos| text(|to| interval(months, days, Moment::of(nanos, NANOS), true, to).unwrap());
        assert_eq!(of(14, -3, 1_500_000_000), "P14M-3DT0M1.5S");
        assert_eq!(of(0, 0, -500_000_000), "P0M0DT-0M-0.5S");
        assert_eq!(of(0, 0, -1_500_000_000), "P0M0DT-0M-1.5S");
        assert_eq!(of(0, 0, -2_000_000_000), "P0M0DT-0M-2S");
        assert_eq!(of(0, 0, i64::MIN), "P0M0DT-153722867M-16.854775808S");
    }
}
