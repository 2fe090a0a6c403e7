//! Values of Arrow as the text that PostgreSQL's input functions read, whatever type a parameter has.

use std::error::Error;
use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_time};
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tonic::Status;

use crate::budget::Share;

/// The parameters of one execution, from $1.
pub type Row = Vec<Option<String>>;

/// What a value takes beside its text, and a row beside its values.
const OVERHEAD: usize = 32;

/// The rows of a batch. What they take is taken before there is more of it, as a small message may have large ones: numbers of rows without
/// buffers, keys of one long string.
pub fn rows(batch: &RecordBatch, share: &mut Share) -> Result<Vec<Row>, Status> {
    let mut rows = Vec::new();
    for at in 0..batch.num_rows() {
        share.take(OVERHEAD * (1 + batch.num_columns()))?;
        let columns = batch.columns().iter();
        rows.push(
            columns
                .map(|column| value(column.as_ref(), at, share))
                .collect::<Result<_, _>>()?,
        );
    }
    Ok(rows)
}

/// A parameter on its way to PostgreSQL.
#[derive(Debug)]
pub struct Text<'a>(pub Option<&'a str>);

impl ToSql for Text<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// A parameter as an expression, for COPY, which takes none.
pub fn expression(value: Option<&str>, of: &Type) -> String {
    let of = format!("{}.{}", quoted(of.schema()), quoted(of.name()));
    match value {
        Some(value) => format!("({}::{of})", literal(value)),
        None => format!("(NULL::{of})"),
    }
}

/// A string that is read the same whatever `standard_conforming_strings` is.
pub fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// A name.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// One value; None is NULL.
fn value(array: &dyn Array, row: usize, share: &mut Share) -> Result<Option<String>, Status> {
    let text = text(array, row, share)?;
    share.take(text.as_ref().map_or(0, String::len))?;
    Ok(text)
}

fn text(array: &dyn Array, row: usize, share: &mut Share) -> Result<Option<String>, Status> {
    if array.is_null(row) {
        return Ok(None);
    }
    macro_rules! shown {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).to_string()
        };
    }
    macro_rules! time {
        ($type:ty) => {{
            let value = array.as_primitive::<$type>().value(row);
            as_time::<$type>(value).ok_or_else(|| unfit(array))?.to_string()
        }};
    }
    macro_rules! timestamp {
        ($type:ty, $zone:expr) => {{
            let value = array.as_primitive::<$type>().value(row);
            let text = as_datetime::<$type>(value).ok_or_else(|| unfit(array))?.to_string();
            // Values of a time zone are instants, in UTC.
            text + match $zone {
                Some(_) => "+00",
                None => "",
            }
        }};
    }
    Ok(Some(match array.data_type() {
        DataType::Null => return Ok(None),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => shown!(Int8Type),
        DataType::Int16 => shown!(Int16Type),
        DataType::Int32 => shown!(Int32Type),
        DataType::Int64 => shown!(Int64Type),
        DataType::UInt8 => shown!(UInt8Type),
        DataType::UInt16 => shown!(UInt16Type),
        DataType::UInt32 => shown!(UInt32Type),
        DataType::UInt64 => shown!(UInt64Type),
        DataType::Float16 => shown!(Float16Type),
        DataType::Float32 => shown!(Float32Type),
        DataType::Float64 => shown!(Float64Type),
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().value_as_string(row),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).to_owned(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Binary => hex(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => hex(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => hex(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => hex(array.as_fixed_size_binary().value(row)),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().value(row);
            as_date::<Date32Type>(days.into())
                .ok_or_else(|| unfit(array))?
                .to_string()
        }
        DataType::Date64 => {
            let milliseconds = array.as_primitive::<Date64Type>().value(row);
            as_date::<Date64Type>(milliseconds)
                .ok_or_else(|| unfit(array))?
                .to_string()
        }
        DataType::Time32(TimeUnit::Second) => {
            let value = array.as_primitive::<Time32SecondType>().value(row);
            as_time::<Time32SecondType>(value.into())
                .ok_or_else(|| unfit(array))?
                .to_string()
        }
        DataType::Time32(_) => {
            let value = array.as_primitive::<Time32MillisecondType>().value(row);
            as_time::<Time32MillisecondType>(value.into())
                .ok_or_else(|| unfit(array))?
                .to_string()
        }
        DataType::Time64(TimeUnit::Microsecond) => time!(Time64MicrosecondType),
        DataType::Time64(_) => {
            whole(array.as_primitive::<Time64NanosecondType>().value(row))?;
            time!(Time64NanosecondType)
        }
        DataType::Timestamp(TimeUnit::Second, zone) => timestamp!(TimestampSecondType, zone),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => timestamp!(TimestampMillisecondType, zone),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => timestamp!(TimestampMicrosecondType, zone),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            whole(array.as_primitive::<TimestampNanosecondType>().value(row))?;
            timestamp!(TimestampNanosecondType, zone)
        }
        DataType::Duration(unit) => {
            let (value, name) = match unit {
                TimeUnit::Second => (array.as_primitive::<DurationSecondType>().value(row), "seconds"),
                TimeUnit::Millisecond => (
                    array.as_primitive::<DurationMillisecondType>().value(row),
                    "milliseconds",
                ),
                TimeUnit::Microsecond => (
                    array.as_primitive::<DurationMicrosecondType>().value(row),
                    "microseconds",
                ),
                TimeUnit::Nanosecond => (
                    whole(array.as_primitive::<DurationNanosecondType>().value(row))? / 1000,
                    "microseconds",
                ),
            };
            format!("{value} {name}")
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            format!("{} months", array.as_primitive::<IntervalYearMonthType>().value(row))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            format!("{} days {} milliseconds", value.days, value.milliseconds)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            let microseconds = whole(value.nanoseconds)? / 1000;
            format!(
                "{} months {} days {microseconds} microseconds",
                value.months, value.days
            )
        }
        DataType::Dictionary(..) => {
            // Keys are integers of any width, whose text is the number.
            let dictionary = array.as_any_dictionary();
            let key = text(dictionary.keys(), row, share)?.and_then(|key| key.parse().ok());
            return key.map_or(Ok(None), |key| text(dictionary.values().as_ref(), key, share));
        }
        DataType::List(_) => list(array.as_list::<i32>().value(row).as_ref(), share)?,
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row).as_ref(), share)?,
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row).as_ref(), share)?,
        _ => return Err(unfit(array)),
    }))
}

/// An array, as array_in reads it.
fn list(values: &dyn Array, share: &mut Share) -> Result<String, Status> {
    let nested = matches!(
        values.data_type(),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)
    );
    let mut out = String::from("{");
    for row in 0..values.len() {
        if row > 0 {
            out.push(',');
        }
        share.take(OVERHEAD)?;
        match value(values, row, share)? {
            None => out += "NULL",
            Some(inner) if nested => out += &inner,
            Some(value) => {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                let _ = write!(out, "\"{value}\"");
            }
        }
    }
    out.push('}');
    Ok(out)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text += "\\x";
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// PostgreSQL would round what is below microseconds, without a word.
fn whole(nanoseconds: i64) -> Result<i64, Status> {
    match nanoseconds % 1000 {
        0 => Ok(nanoseconds),
        _ => Err(Status::invalid_argument(
            "a parameter has nanoseconds that are no whole microseconds, which PostgreSQL has no room for",
        )),
    }
}

fn unfit(array: &dyn Array) -> Status {
    Status::invalid_argument(format!("values of type {} cannot be parameters", array.data_type()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::*;

    use super::*;
    use crate::budget::Budget;

    fn text(array: &dyn Array, row: usize) -> Result<Option<String>, Status> {
        value(array, row, &mut Budget::default().share())
    }

    fn first(array: impl Array) -> String {
        text(&array, 0).unwrap().unwrap()
    }

    #[test]
    fn small_batches_of_large_rows_are_refused() {
        let nulls: ArrayRef = Arc::new(NullArray::new(1 << 40));
        let long = StringArray::from(vec!["x".repeat(1 << 20)]);
        let keys = Int8Array::from(vec![0; 1000]);
        let repeated: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(long)));
        for column in [nulls, repeated] {
            let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
            assert!(rows(&batch, &mut Budget::default().share()).is_err());
        }
    }

    #[test]
    fn values_as_input_functions_read_them() {
        assert_eq!(first(Int8Array::from(vec![-1])), "-1");
        assert_eq!(first(Float64Array::from(vec![0.1])), "0.1");
        assert_eq!(first(Float64Array::from(vec![f64::NEG_INFINITY])), "-inf");
        assert_eq!(first(BinaryArray::from(vec![&b"\0\xff"[..]])), "\\x00ff");
        assert_eq!(first(Date32Array::from(vec![-1])), "1969-12-31");
        assert_eq!(
            first(TimestampMicrosecondArray::from(vec![-1])),
            "1969-12-31 23:59:59.999999"
        );
        let zoned = TimestampSecondArray::from(vec![0]).with_timezone("Europe/Berlin");
        assert_eq!(first(zoned), "1970-01-01 00:00:00+00");
        assert_eq!(first(Time64MicrosecondArray::from(vec![1])), "00:00:00.000001");
        let decimal = Decimal128Array::from(vec![-12345])
            .with_precision_and_scale(10, 2)
            .unwrap();
        assert_eq!(first(decimal), "-123.45");
        let mut list = builder::ListBuilder::new(builder::StringBuilder::new());
        list.append_value([Some("a\"\\"), None, Some("")]);
        assert_eq!(first(list.finish()), r#"{"a\"\\",NULL,""}"#);
        let dictionary: DictionaryArray<Int8Type> = vec!["x", "y"].into_iter().collect();
        assert_eq!(text(&dictionary, 1).unwrap().unwrap(), "y");
        assert_eq!(text(&Int8Array::from(vec![None]), 0).unwrap(), None);
        assert!(text(&TimestampNanosecondArray::from(vec![1]), 0).is_err());
        let fields = vec![(
            Arc::new(arrow_schema::Field::new("a", DataType::Int8, true)),
            Arc::new(Int8Array::from(vec![1])) as ArrayRef,
        )];
        assert!(text(&StructArray::from(fields), 0).is_err());
    }

    #[test]
    fn literals_are_read_the_same_in_any_session() {
        assert_eq!(literal("a'b\\"), "E'a''b\\\\'");
        assert_eq!(expression(Some("1"), &Type::INT4), "(E'1'::\"pg_catalog\".\"int4\")");
        assert_eq!(expression(None, &Type::TEXT_ARRAY), "(NULL::\"pg_catalog\".\"_text\")");
    }
}
