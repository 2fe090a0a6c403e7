//! date, time, timestamp, timestamptz and interval. (timetz has no Arrow type and travels as text.)
//!
//! PostgreSQL counts from 2000-01-01, Arrow from 1970-01-01. The infinities and what does not fit are errors.

use std::sync::Arc;

use amax_exec::Vector;
use arrow_array::builder::{IntervalMonthDayNanoBuilder, StringBuilder};
use arrow_array::types::{Date32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ArrowPrimitiveType};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{BadRow, Column, Made, Numbers};
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

fn date_of(days: i32) -> Result<i32, Unrepresentable> {
    if days == i32::MIN || days == i32::MAX {
        return Err(out_of_range(
            "The date is infinite; Arrow dates are finite.",
            INFINITE_HINT,
        ));
    }
    days.checked_add(EPOCH_DAYS)
        .ok_or_else(|| out_of_range("The date does not fit into 32 bits.", TEXT_HINT))
}

fn time_of(time: i64) -> Result<i64, Unrepresentable> {
    if time >= DAY_MICROSECONDS {
        return Err(out_of_range(
            "The time is 24:00:00; Arrow times end before it.",
            TEXT_HINT,
        ));
    }
    Ok(time)
}

fn timestamp_of(time: i64) -> Result<i64, Unrepresentable> {
    if time == i64::MIN || time == i64::MAX {
        return Err(out_of_range(
            "The timestamp is infinite; Arrow timestamps are finite.",
            INFINITE_HINT,
        ));
    }
    time.checked_add(EPOCH_MICROSECONDS).ok_or_else(|| {
        out_of_range(
            "The timestamp does not fit into 64 bits of microseconds since 1970.",
            TEXT_HINT,
        )
    })
}

/// A type that counts days or microseconds: `of` is what Arrow counts instead.
struct Counted<T: ArrowPrimitiveType, F> {
    values: Numbers<T>,
    of: F,
}

impl<T: ArrowPrimitiveType, F: Fn(i64) -> Result<T::Native, Unrepresentable>> Column for Counted<T, F> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        Ok(self.values.push((self.of)(value.datum().value() as i64)?))
    }

    fn append_null(&mut self) {
        self.values.push_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        self.values.try_push_all(values, rows, &self.of)
    }

    fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }
}

fn counted<T: ArrowPrimitiveType>(
    data_type: DataType,
    of: impl Fn(i64) -> Result<T::Native, Unrepresentable> + 'static,
) -> Made<'static> {
    let values = Numbers::<T>::new(data_type.clone());
    (data_type, Box::new(Counted { values, of }))
}

pub fn date() -> Made<'static> {
    counted::<Date32Type>(DataType::Date32, |days| date_of(days as i32))
}

pub fn time() -> Made<'static> {
    counted::<Time64MicrosecondType>(DataType::Time64(TimeUnit::Microsecond), time_of)
}

/// timestamp has no zone; timestamptz is an instant, shown in UTC.
pub fn timestamp(zone: Option<&'static str>) -> Made<'static> {
    let data_type = DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    counted::<TimestampMicrosecondType>(data_type, timestamp_of)
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

/// Intervals as text, in ISO 8601, which all versions of PostgreSQL read whatever their settings are.
struct IntervalText {
    values: StringBuilder,
    text: Vec<u8>,
}

impl Column for IntervalText {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        // SAFETY: the column's values are intervals.
        let interval = unsafe { value.datum().cast_mut_ptr::<pg_sys::Interval>().read() };
        if cfg!(not(any(feature = "pg15", feature = "pg16")))
            && matches!(
                (interval.month, interval.day, interval.time),
                (i32::MIN, i32::MIN, i64::MIN) | (i32::MAX, i32::MAX, i64::MAX)
            )
        {
            return Err(out_of_range("The interval is infinite.", INFINITE_HINT));
        }
        self.text.clear();
        amax_arrow::put_interval(interval.month, interval.day, interval.time, &mut self.text);
        self.values.append_value(String::from_utf8_lossy(&self.text));
        Ok(self.text.len() + size_of::<i32>())
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.values.finish())
    }
}

pub fn interval_text() -> Made<'static> {
    let column = IntervalText {
        values: StringBuilder::new(),
        text: Vec::new(),
    };
    (DataType::Utf8, Box::new(column))
}

pub fn interval() -> Made<'static> {
    (
        DataType::Interval(IntervalUnit::MonthDayNano),
        Box::new(Interval(IntervalMonthDayNanoBuilder::new())),
    )
}
