//! What columns were read as, as what they are shown as: the values that parquet's readers would not look at, or change.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Decimal256Type, DecimalType, Int8Type, Int16Type, Int32Type, TimestampMicrosecondType, UInt8Type,
    UInt16Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryViewArray, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray,
    RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Fields, SchemaRef};

use super::input::WHAT;
use crate::error::Error;

/// Of 1970-01-01, as INT96 counts days.
const EPOCH: i64 = 2_440_588;
const MICROS_OF_DAY: i64 = 86_400_000_000;

/// A value has so many bytes of texts at most: PostgreSQL has no larger ones.
const MOST: u64 = 1 << 30;

/// The first rows of a batch, whose texts and byte strings have so many bytes at most, unless it is a single row; and the others.
pub(super) fn divided(batch: RecordBatch, most: u64) -> (RecordBatch, Option<RecordBatch>) {
    let (all, mut rows) = (batch.num_rows(), 1);
    let fits = |rows| {
        batch
            .slice(0, rows)
            .columns()
            .iter()
            .map(viewed)
            .fold(0, u64::saturating_add)
            <= most
    };
    // From below: what is left is looked at again.
    while rows < all && fits((2 * rows).min(all)) {
        rows = (2 * rows).min(all);
    }
    match rows < all {
        true => (batch.slice(0, rows), Some(batch.slice(rows, all - rows))),
        false => (batch, None),
    }
}

/// The bytes that views look at, each as often as it is looked at.
fn viewed(array: &ArrayRef) -> u64 {
    let of_elements = |offsets: &OffsetBuffer<i32>, values: &ArrayRef| {
        let elements = elements(offsets);
        viewed(&values.slice(elements.start, elements.len()))
    };
    match array.data_type() {
        DataType::BinaryView => {
            let values = array.as_binary_view().iter().flatten();
            values.map(|value| value.len() as u64).fold(0, u64::saturating_add)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(viewed).fold(0, u64::saturating_add)
        }
        DataType::List(_) => of_elements(array.as_list::<i32>().offsets(), array.as_list::<i32>().values()),
        DataType::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().entries().clone());
            of_elements(array.as_map().offsets(), &entries)
        }
        _ => 0,
    }
}

/// The elements that lists have.
fn elements(offsets: &OffsetBuffer<i32>) -> Range<usize> {
    let end = |end: i32| usize::try_from(end).unwrap_or_else(|_| unreachable!("offsets are checked"));
    end(offsets.first())..end(offsets.last())
}

/// The elements that lists have, and where each list's begin and end among those.
fn with_elements(offsets: &OffsetBuffer<i32>, values: &ArrayRef) -> Result<(OffsetBuffer<i32>, ArrayRef), Error> {
    let elements = elements(offsets);
    if elements == (0..values.len()) {
        return Ok((offsets.clone(), Arc::clone(values)));
    }
    amax_memory::ask(offsets.len().saturating_mul(size_of::<i32>()), WHAT)?;
    let lengths = OffsetBuffer::from_lengths(offsets.lengths());
    Ok((lengths, values.slice(elements.start, elements.len())))
}

/// A batch with the columns of a schema. `pause` is called between them.
pub(super) fn shown(batch: &RecordBatch, schema: &SchemaRef, pause: &dyn Fn()) -> Result<RecordBatch, Error> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| {
        pause();
        let made = match batch.num_rows() {
            1 if viewed(array) > MOST => Err(Error::Unsupported("a value has more than 1 GB.".into())),
            _ => of(array, field.data_type(), None),
        };
        made.map_err(|error| match error {
            Error::Damaged(text) => Error::Damaged(format!("In column \"{}\": {text}", field.name())),
            Error::Unsupported(text) => Error::Unsupported(format!("In column \"{}\": {text}", field.name())),
            other => other,
        })
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

/// `above`: where what it is in is NULL. What may not be NULL has no value there, and parquet's readers do not always say so.
fn of(array: &ArrayRef, data_type: &DataType, above: Option<&NullBuffer>) -> Result<ArrayRef, Error> {
    Ok(match (array.data_type(), data_type) {
        (is, shown) if is == shown => Arc::clone(array),
        (DataType::BinaryView, DataType::Utf8View) => {
            // It looks at each value.
            let texts = array.as_binary_view().clone().to_string_view();
            Arc::new(texts.map_err(|_| damaged("a text is not UTF-8."))?)
        }
        (DataType::BinaryView, &DataType::Decimal128(precision, scale)) => {
            decimals::<Decimal128Type, 16>(array.as_binary_view(), above, i128::from_be_bytes, (precision, scale))?
        }
        (DataType::BinaryView, &DataType::Decimal256(precision, scale)) => {
            decimals::<Decimal256Type, 32>(array.as_binary_view(), above, i256::from_be_bytes, (precision, scale))?
        }
        (DataType::FixedSizeBinary(_), DataType::Timestamp(_, zone)) => {
            let moments = moments(array.as_fixed_size_binary(), above)?;
            Arc::new(moments.with_timezone_opt(zone.clone()))
        }
        (DataType::Int32, DataType::Int8) => short::<Int8Type>(array, above)?,
        (DataType::Int32, DataType::Int16) => short::<Int16Type>(array, above)?,
        (DataType::Int32, DataType::UInt8) => short::<UInt8Type>(array, above)?,
        (DataType::Int32, DataType::UInt16) => short::<UInt16Type>(array, above)?,
        (DataType::Struct(_), DataType::Struct(fields)) => Arc::new(structs(array.as_struct(), fields, above)?),
        (DataType::List(_), DataType::List(field)) => {
            let lists = array.as_list::<i32>();
            let (offsets, values) = with_elements(lists.offsets(), lists.values())?;
            let values = of(&values, field.data_type(), None)?;
            let nulls = lists.nulls().cloned();
            Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, nulls)?)
        }
        (DataType::Map(..), DataType::Map(field, sorted)) => {
            let maps = array.as_map();
            let DataType::Struct(fields) = field.data_type() else {
                return Err(damaged("a map has no entries."));
            };
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            let (offsets, entries) = with_elements(maps.offsets(), &entries)?;
            let entries = structs(entries.as_struct(), fields, None)?;
            let nulls = maps.nulls().cloned();
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted)?)
        }
        (is, shown) => return Err(Error::Unsupported(format!("{is} is not read as {shown}."))),
    })
}

fn structs(array: &StructArray, fields: &Fields, above: Option<&NullBuffer>) -> Result<StructArray, Error> {
    let nulls = NullBuffer::union(array.nulls(), above);
    let columns = array.columns().iter().zip(fields);
    let columns = columns.map(|(column, field)| of(column, field.data_type(), nulls.as_ref()));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok(StructArray::try_new(fields.clone(), columns, nulls)?)
}

/// What `made` makes of each value that is not NULL.
fn primitive<'a, T: ArrowPrimitiveType, V>(
    values: impl ExactSizeIterator<Item = Option<V>> + 'a,
    (nulls, above): (Option<&NullBuffer>, Option<&NullBuffer>),
    made: impl Fn(V) -> Option<T::Native>,
) -> Result<Option<PrimitiveArray<T>>, Error> {
    amax_memory::ask(values.len().saturating_mul(size_of::<T::Native>()), WHAT)?;
    let nulls = NullBuffer::union(nulls, above);
    let is_null = |at| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
    let mut all = Vec::with_capacity(values.len());
    for (at, value) in values.enumerate() {
        let value = match value {
            Some(value) if !is_null(at) => made(value),
            _ => Some(T::Native::default()),
        };
        let Some(value) = value else { return Ok(None) };
        all.push(value);
    }
    Ok(Some(PrimitiveArray::new(all.into(), nulls)))
}

/// Decimals of any length, as big-endian numbers.
fn decimals<T: DecimalType, const N: usize>(
    array: &BinaryViewArray,
    above: Option<&NullBuffer>,
    made: fn([u8; N]) -> T::Native,
    (precision, scale): (u8, i8),
) -> Result<ArrayRef, Error> {
    let values = primitive::<T, _>(array.iter(), (array.nulls(), above), |value| extended(value).map(made))?;
    let values = values.ok_or_else(|| damaged("a decimal has no bytes, or more than there are digits."))?;
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

/// Integers of fewer than 32 bits, which are stored as those of 32.
fn short<T: ArrowPrimitiveType>(array: &ArrayRef, above: Option<&NullBuffer>) -> Result<ArrayRef, Error>
where
    T::Native: TryFrom<i32>,
{
    let array = array.as_primitive::<Int32Type>();
    let made = |value| T::Native::try_from(value).ok();
    let values = primitive::<T, _>(array.iter(), (array.nulls(), above), made)?;
    let values = values.ok_or_else(|| damaged("an integer is not of its type."))?;
    Ok(Arc::new(values))
}

fn moments(
    array: &FixedSizeBinaryArray,
    above: Option<&NullBuffer>,
) -> Result<PrimitiveArray<TimestampMicrosecondType>, Error> {
    let values = primitive(array.iter(), (array.nulls(), above), micros)?;
    values.ok_or_else(|| damaged("a timestamp is beyond all years that there are."))
}

/// With as many bytes of its sign in front as it takes.
fn extended<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    let sign = if value.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut bytes = [sign; N];
    let start = N.checked_sub(value.len())?;
    bytes[start..].copy_from_slice(value);
    Some(bytes)
}

/// Nanoseconds of a day, and the day, as microseconds since 1970, cut.
fn micros(value: &[u8]) -> Option<i64> {
    let (nanos, day) = value.split_first_chunk::<8>()?;
    let nanos = i64::from_le_bytes(*nanos);
    let day = i32::from_le_bytes(day.try_into().ok()?);
    let days = (i64::from(day) - EPOCH).checked_mul(MICROS_OF_DAY)?;
    days.checked_add(nanos.div_euclid(1000))
}

fn damaged(text: &str) -> Error {
    Error::Damaged(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{extended, micros};

    fn int96(day: i32, nanos: i64) -> Vec<u8> {
        [&nanos.to_le_bytes()[..], &day.to_le_bytes()].concat()
    }

    #[test]
    fn days_and_nanoseconds() {
        assert_eq!(micros(&int96(2_440_588, 0)), Some(0));
        assert_eq!(micros(&int96(2_440_587, 86_399_999_999_999)), Some(-1));
        assert_eq!(micros(&int96(2_440_588, 1_999)), Some(1));
        assert_eq!(micros(&int96(2_440_588, -1)), Some(-1));
        // The year 3000, which nanoseconds since 1970 do not hold.
        assert_eq!(micros(&int96(2_816_788, 0)), Some(32_503_680_000_000_000));
        assert_eq!(micros(&int96(i32::MAX, 0)), None);
        assert_eq!(micros(&int96(i32::MIN, i64::MIN)), None);
        assert_eq!(micros(&[0; 11]), None);
    }

    #[test]
    fn decimals_have_their_sign_in_front() {
        assert_eq!(extended::<4>(&[1]).map(i32::from_be_bytes), Some(1));
        assert_eq!(extended::<4>(&[0x80, 0]).map(i32::from_be_bytes), Some(-32_768));
        assert_eq!(extended::<4>(&[0xff; 4]).map(i32::from_be_bytes), Some(-1));
        assert_eq!(extended::<4>(&[]), None);
        assert_eq!(extended::<4>(&[0; 5]), None);
    }
}
