//! date, time, timestamp, timestamptz and interval. (timetz has no Arrow type and travels as text.)
//!
//! PostgreSQL counts from 2000-01-01, Arrow from 1970-01-01. The infinities and what does not fit are errors.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Builder, IntervalMonthDayNanoBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Made};
use super::value::Value;
use crate::arrow::error::Unrepresentable;

const EPOCH_DAYS: i32 = (pg_sys::POSTGRES_EPOCH_JDATE - pg_sys::UNIX_EPOCH_JDATE) as i32;
const DAY_MICROSECONDS: i64 = 86_400_000_000;
const EPOCH_MICROSECONDS: i64 = EPOCH_DAYS as i64 * DAY_MICROSECONDS;

fn out_of_range(detail: &str, hint: &'static str) -> Unrepresentable {
    Unrepresentable::new(PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW, detail, hint)
}

const INFINITE_HINT: &str = "Cast the column to text, or replace infinity by NULL: nullif(column, 'infinity').";
const TEXT_HINT: &str = "Cast the column to text.";

struct Date(Date32Builder);

impl Column for Date {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let days = value.datum().value() as i32;
        if days == i32::MIN || days == i32::MAX {
            return Err(out_of_range(
                "The date is infinite; Arrow dates are finite.",
                INFINITE_HINT,
            ));
        }
        let days = days
            .checked_add(EPOCH_DAYS)
            .ok_or_else(|| out_of_range("The date does not fit into 32 bits.", TEXT_HINT))?;
        self.0.append_value(days);
        Ok(4)
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn date() -> Made<'static> {
    (DataType::Date32, Box::new(Date(Date32Builder::new())))
}

struct Time(Time64MicrosecondBuilder);

impl Column for Time {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let time = value.datum().value() as i64;
        if time >= DAY_MICROSECONDS {
            return Err(out_of_range(
                "The time is 24:00:00; Arrow times end before it.",
                TEXT_HINT,
            ));
        }
        self.0.append_value(time);
        Ok(8)
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn time() -> Made<'static> {
    (
        DataType::Time64(TimeUnit::Microsecond),
        Box::new(Time(Time64MicrosecondBuilder::new())),
    )
}

struct Timestamp {
    values: TimestampMicrosecondBuilder,
}

impl Column for Timestamp {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let time = value.datum().value() as i64;
        if time == i64::MIN || time == i64::MAX {
            return Err(out_of_range(
                "The timestamp is infinite; Arrow timestamps are finite.",
                INFINITE_HINT,
            ));
        }
        let time = time.checked_add(EPOCH_MICROSECONDS).ok_or_else(|| {
            out_of_range(
                "The timestamp does not fit into 64 bits of microseconds since 1970.",
                TEXT_HINT,
            )
        })?;
        self.values.append_value(time);
        Ok(8)
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

/// timestamp has no zone; timestamptz is an instant, shown in UTC.
pub fn timestamp(zone: Option<&'static str>) -> Made<'static> {
    (
        DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into)),
        Box::new(Timestamp {
            values: TimestampMicrosecondBuilder::new().with_timezone_opt(zone),
        }),
    )
}

struct Interval(IntervalMonthDayNanoBuilder);

impl Column for Interval {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        // SAFETY: the column's values are intervals.
        let interval = unsafe { value.datum().cast_mut_ptr::<pg_sys::Interval>().read() };
        // The infinite intervals of PostgreSQL 17 and later have all three at the end of their range.
        let nanoseconds = interval.time.checked_mul(1_000).ok_or_else(|| {
            out_of_range(
                "The interval's time does not fit into 64 bits of nanoseconds (about 292 years).",
                "Cast the column to text, or normalize it with justify_hours().",
            )
        })?;
        self.0
            .append_value(IntervalMonthDayNano::new(interval.month, interval.day, nanoseconds));
        Ok(16)
    }

    fn append_null(&mut self) {
        self.0.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

pub fn interval() -> Made<'static> {
    (
        DataType::Interval(IntervalUnit::MonthDayNano),
        Box::new(Interval(IntervalMonthDayNanoBuilder::new())),
    )
}
