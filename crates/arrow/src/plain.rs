//! Columns of a batch as values of a table's, where these are the same but for their form: no text is made of them.

use std::ops::Range;

use amax_format::{Result, Rows, Value};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ByteViewType, Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type,
    Float64Type, Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, FixedSizeBinaryArray,
    GenericByteViewArray, LargeBinaryArray, LargeStringArray, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray, downcast_integer,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use crate::documents::Documents;
use crate::times::{DAY, EPOCH};
use crate::values::{is_instant, is_interval};

/// What a table's column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    Bool,
    /// An integer of so many bytes.
    Int(u8),
    Float4,
    Float8,
    /// A numeric with so many digits, of which so many are decimals; any, if it does not say.
    Numeric(Option<(u8, u8)>),
    /// Text of at most so many characters, if it says.
    Text(Option<usize>),
    /// Text that is filled up with spaces.
    Padded(usize),
    Bytes,
    /// JSON, from text.
    Json,
    Uuid,
    Date,
    Time,
    Timestamp,
    TimestampTz,
}

/// Where values go to, and whether they may be NULL.
pub type Place = (Plain, bool);

/// The columns of a batch, each of which goes to a place.
pub struct Columns {
    columns: Vec<Box<dyn Fill>>,
    rows: usize,
    bytes: usize,
}

/// A column.
trait Fill {
    /// Pushes the values of some rows.
    fn fill(&self, rows: Range<usize>, to: &mut Rows<'_>) -> Result<()>;
}

impl Columns {
    /// None if anything is in the batch that has to be looked at as text: values of another kind, or that do not fit their place.
    pub fn of(batch: &RecordBatch, places: &[Place]) -> Option<Self> {
        if batch.schema_ref().fields().iter().any(|field| is_interval(field)) {
            return None;
        }
        let columns = batch.columns().iter().zip(batch.schema_ref().fields()).zip(places);
        let columns = columns.map(|((array, field), &(plain, nullable))| {
            let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            let plain = match plain {
                // Both are counted from the same moment.
                Plain::TimestampTz if is_instant(field) => Plain::Timestamp,
                plain => plain,
            };
            (nullable || nulls.is_none()).then(|| column(array, plain, nulls))?
        });
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
            rows: batch.num_rows(),
            bytes: batch.columns().iter().map(bytes).sum(),
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// About those of all values.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Pushes the values of some rows of a column.
    ///
    /// # Errors
    /// Those of [`Rows`].
    pub fn fill(&self, column: usize, rows: Range<usize>, to: &mut Rows<'_>) -> Result<()> {
        self.columns[column].fill(rows, to)
    }
}

/// Of a dictionary's values as many as there are rows, each of mean length; at least all of them, so that none is longer.
fn bytes(array: &ArrayRef) -> usize {
    match array.as_any_dictionary_opt() {
        None => match array.data_type() {
            // What they look at may be of other rows, or of many.
            DataType::Utf8View => viewed(array.as_string_view()),
            DataType::BinaryView => viewed(array.as_binary_view()),
            _ => array.to_data().get_slice_memory_size().unwrap_or(usize::MAX),
        },
        Some(dictionary) => {
            let of_values = bytes(dictionary.values());
            let each = of_values / dictionary.values().len().max(1);
            each.saturating_add(8).saturating_mul(array.len()).max(of_values)
        }
    }
}

fn viewed<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    array.lengths().map(|length| length as usize + size_of::<u128>()).sum()
}

fn column(array: &ArrayRef, plain: Plain, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    match plain {
        Plain::Bool => {
            let array = array.as_boolean_opt()?.clone();
            Some(each(nulls, move |row, to| to.push(Value::Bool(array.value(row)))))
        }
        Plain::Int(bytes) => sized(array, bytes, nulls),
        Plain::Float4 => {
            let array = array.as_primitive_opt::<Float32Type>()?.clone();
            let made = |value: f32| if value.is_nan() { f32::NAN } else { value };
            Some(each(nulls, move |row, to| {
                to.push(Value::Float4(made(array.value(row))))
            }))
        }
        Plain::Float8 => {
            let array = array.as_primitive_opt::<Float64Type>()?.clone();
            let made = |value: f64| if value.is_nan() { f64::NAN } else { value };
            Some(each(nulls, move |row, to| {
                to.push(Value::Float8(made(array.value(row))))
            }))
        }
        Plain::Numeric(limits) => decimals(array, limits, nulls),
        Plain::Text(most) => texts(array, Length { most, padded: 0 }, nulls),
        Plain::Padded(length) => {
            let length = Length {
                most: Some(length),
                padded: length,
            };
            texts(array, length, nulls)
        }
        Plain::Bytes => byte_strings(array, nulls),
        Plain::Json => documents(array, nulls),
        Plain::Uuid => match array.data_type() {
            DataType::FixedSizeBinary(16) => byte_strings(array, nulls),
            _ => None,
        },
        Plain::Date => {
            let array = array.as_primitive_opt::<Date32Type>()?.clone();
            integers(array, nulls, |days| within(i64::from(days) - EPOCH, DATES))
        }
        Plain::Time => {
            let array = array.as_primitive_opt::<Time64MicrosecondType>()?.clone();
            integers(array, nulls, |time| within(time, 0..MICROS * DAY))
        }
        Plain::Timestamp | Plain::TimestampTz => timestamps(array, plain == Plain::TimestampTz, nulls),
    }
}

/// A column whose rows that are not NULL `push` pushes.
struct Each<F> {
    nulls: Option<NullBuffer>,
    push: F,
}

fn each<F: Fn(usize, &mut Rows<'_>) -> Result<()> + 'static>(nulls: Option<NullBuffer>, push: F) -> Box<dyn Fill> {
    Box::new(Each { nulls, push })
}

impl<F: Fn(usize, &mut Rows<'_>) -> Result<()>> Fill for Each<F> {
    fn fill(&self, rows: Range<usize>, to: &mut Rows<'_>) -> Result<()> {
        for_each(self.nulls.as_ref(), rows, to, &self.push)
    }
}

/// Pushes NULLs, and has `push` do the others.
fn for_each(
    nulls: Option<&NullBuffer>,
    mut rows: Range<usize>,
    to: &mut Rows<'_>,
    mut push: impl FnMut(usize, &mut Rows<'_>) -> Result<()>,
) -> Result<()> {
    match nulls {
        None => rows.try_for_each(|row| push(row, to)),
        Some(nulls) => rows.try_for_each(|row| match nulls.is_null(row) {
            true => to.push(Value::Null),
            false => push(row, to),
        }),
    }
}

/// A column of what `push` makes of integers; None if `made` has none for a value.
fn numbers<T: ArrowPrimitiveType>(
    array: PrimitiveArray<T>,
    nulls: Option<NullBuffer>,
    made: impl Fn(T::Native) -> Option<i64> + 'static,
    push: impl Fn(i64, &mut Rows<'_>) -> Result<()> + 'static,
) -> Option<Box<dyn Fill>> {
    if !array.iter().flatten().all(|value| made(value).is_some()) {
        return None;
    }
    Some(each(nulls, move |row, to| {
        push(made(array.value(row)).unwrap_or_default(), to)
    }))
}

/// A column of what is an integer inside.
fn integers<T: ArrowPrimitiveType>(
    array: PrimitiveArray<T>,
    nulls: Option<NullBuffer>,
    made: impl Fn(T::Native) -> Option<i64> + 'static,
) -> Option<Box<dyn Fill>> {
    numbers(array, nulls, made, |value, to| to.push(Value::Int(value)))
}

fn within(value: i64, range: Range<i64>) -> Option<i64> {
    range.contains(&value).then_some(value)
}

/// Integers of so many bytes.
fn sized(array: &ArrayRef, bytes: u8, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    fn of<T: ArrowPrimitiveType<Native: TryInto<i64>>>(
        array: &ArrayRef,
        bytes: u8,
        nulls: Option<NullBuffer>,
    ) -> Option<Box<dyn Fill>> {
        let most = i64::MAX >> (64 - 8 * u32::from(bytes));
        let made = move |value: T::Native| value.try_into().ok().filter(|value| (-most - 1..=most).contains(value));
        integers(array.as_primitive::<T>().clone(), nulls, made)
    }
    macro_rules! of_type {
        ($type:ty, $array:ident, $bytes:ident, $nulls:ident) => {
            of::<$type>($array, $bytes, $nulls)
        };
    }
    downcast_integer! {
        array.data_type() => (of_type, array, bytes, nulls),
        _ => None
    }
}

fn decimals(array: &ArrayRef, limits: Option<(u8, u8)>, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    fn of<T: ArrowPrimitiveType<Native: TryInto<i64>>>(
        array: &ArrayRef,
        scale: i8,
        limits: Option<(u8, u8)>,
        nulls: Option<NullBuffer>,
    ) -> Option<Box<dyn Fill>> {
        let scale = u8::try_from(scale).ok()?;
        let (precision, shown) = limits.unwrap_or((u8::MAX, scale));
        let factor = 10_i64.checked_pow(shown.checked_sub(scale)?.into())?;
        // Numbers of more digits than an i64 may have all fit.
        let bound = 10_i64.checked_pow(precision.into()).unwrap_or(i64::MAX);
        let made = move |value: T::Native| {
            let value: i64 = value.try_into().ok()?;
            value
                .checked_mul(factor)
                .filter(|value| value.unsigned_abs() < bound.unsigned_abs())
        };
        let array = array.as_primitive::<T>().clone();
        numbers(array, nulls, made, move |mantissa, to| {
            to.push_decimal(mantissa, shown.into())
        })
    }
    macro_rules! of_integers {
        ($type:ty, $array:ident, $limits:ident, $nulls:ident) => {
            of::<$type>($array, 0, $limits, $nulls)
        };
    }
    downcast_integer! {
        array.data_type() => (of_integers, array, limits, nulls),
        DataType::Decimal32(_, scale) => of::<Decimal32Type>(array, *scale, limits, nulls),
        DataType::Decimal64(_, scale) => of::<Decimal64Type>(array, *scale, limits, nulls),
        DataType::Decimal128(_, scale) => of::<Decimal128Type>(array, *scale, limits, nulls),
        _ => None
    }
}

const MICROS: i64 = 1_000_000;
/// Dates that PostgreSQL has, in days since 2000, and timestamps, in microseconds (timestamp.h: IS_VALID_DATE, IS_VALID_TIMESTAMP).
const DATES: Range<i64> = -2_451_545..2_145_031_949;
const TIMESTAMPS: Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

fn timestamps(array: &ArrayRef, zoned: bool, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    let DataType::Timestamp(unit, zone) = array.data_type() else {
        return None;
    };
    if zone.is_some() != zoned {
        return None;
    }
    let since = |micros: i64| within(micros.checked_sub(EPOCH * DAY * MICROS)?, TIMESTAMPS);
    let times = move |factor: i64| move |value: i64| since(value.checked_mul(factor)?);
    match unit {
        TimeUnit::Second => integers(
            array.as_primitive::<TimestampSecondType>().clone(),
            nulls,
            times(MICROS),
        ),
        TimeUnit::Millisecond => integers(
            array.as_primitive::<TimestampMillisecondType>().clone(),
            nulls,
            times(1000),
        ),
        TimeUnit::Microsecond => integers(
            array.as_primitive::<TimestampMicrosecondType>().clone(),
            nulls,
            times(1),
        ),
        TimeUnit::Nanosecond => {
            let made = move |value: i64| (value % 1000 == 0).then(|| since(value / 1000))?;
            integers(array.as_primitive::<TimestampNanosecondType>().clone(), nulls, made)
        }
    }
}

/// How many characters a text may have, and how many it gets.
#[derive(Clone, Copy)]
struct Length {
    most: Option<usize>,
    padded: usize,
}

impl Length {
    fn holds(self, text: &str) -> bool {
        // A zero byte is no text in PostgreSQL.
        let fits = |most| text.len() <= most || text.chars().count() <= most;
        !text.as_bytes().contains(&0) && self.most.is_none_or(fits)
    }
}

/// Arrays of what is a byte string inside.
trait Strings: 'static {
    fn at(&self, row: usize) -> &[u8];
}

macro_rules! strings {
    ($($array:ty),*) => {
        $(impl Strings for $array {
            #[inline]
            fn at(&self, row: usize) -> &[u8] {
                self.value(row).as_ref()
            }
        })*
    };
}
strings!(
    StringArray,
    LargeStringArray,
    StringViewArray,
    BinaryArray,
    LargeBinaryArray,
    BinaryViewArray,
    FixedSizeBinaryArray
);

type Places = Box<dyn Fn(usize) -> usize>;

struct Of<A> {
    nulls: Option<NullBuffer>,
    array: A,
    padded: usize,
    /// Where in the array a row's value is, if it is a dictionary.
    places: Option<Places>,
}

impl<A: Strings> Fill for Of<A> {
    fn fill(&self, rows: Range<usize>, to: &mut Rows<'_>) -> Result<()> {
        let nulls = self.nulls.as_ref();
        let mut filled_up = Vec::new();
        match &self.places {
            None => for_each(nulls, rows, to, |row, to| {
                push(self.array.at(row), self.padded, &mut filled_up, to)
            }),
            Some(places) => for_each(nulls, rows, to, |row, to| {
                push(self.array.at(places(row)), self.padded, &mut filled_up, to)
            }),
        }
    }
}

fn push(value: &[u8], padded: usize, filled_up: &mut Vec<u8>, to: &mut Rows<'_>) -> Result<()> {
    if padded == 0 {
        return to.push(Value::Bytes(value));
    }
    // The bytes that follow others of a character count for none.
    let characters = value.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    filled_up.clear();
    filled_up.extend(value);
    filled_up.resize(value.len() + padded.saturating_sub(characters), b' ');
    to.push(Value::Bytes(filled_up))
}

fn texts(array: &ArrayRef, length: Length, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    let places = match array.data_type() {
        DataType::Dictionary(keys, _) => Some(places(array, keys)?),
        _ => None,
    };
    let array = array.as_any_dictionary_opt().map_or(array, AnyDictionaryArray::values);
    // Those of a dictionary count although no row may have them.
    let all = |texts: &mut dyn Iterator<Item = Option<&str>>| texts.flatten().all(|text| length.holds(text));
    Some(match array.data_type() {
        DataType::Utf8 if all(&mut array.as_string::<i32>().iter()) => {
            strings(array.as_string::<i32>(), length.padded, nulls, places)
        }
        DataType::LargeUtf8 if all(&mut array.as_string::<i64>().iter()) => {
            strings(array.as_string::<i64>(), length.padded, nulls, places)
        }
        DataType::Utf8View if all(&mut array.as_string_view().iter()) => {
            strings(array.as_string_view(), length.padded, nulls, places)
        }
        _ => return None,
    })
}

/// Of rows that are not NULL.
fn places(array: &ArrayRef, keys: &DataType) -> Option<Places> {
    fn of<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Option<Places> {
        let keys = array.as_dictionary::<K>().keys().clone();
        Some(Box::new(move |row| keys.value(row).as_usize()))
    }
    macro_rules! of_type {
        ($type:ty, $array:ident) => {
            of::<$type>($array)
        };
    }
    downcast_integer! {
        keys => (of_type, array),
        _ => None
    }
}

fn documents(array: &ArrayRef, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    let documents = match array.data_type() {
        DataType::Utf8 => Documents::of(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => Documents::of(array.as_string::<i64>().iter()),
        DataType::Utf8View => Documents::of(array.as_string_view().iter()),
        _ => None,
    };
    Some(Box::new(Of {
        nulls,
        array: documents?,
        padded: 0,
        places: None,
    }))
}

impl Strings for Documents {
    fn at(&self, row: usize) -> &[u8] {
        self.document(row)
    }
}

fn byte_strings(array: &ArrayRef, nulls: Option<NullBuffer>) -> Option<Box<dyn Fill>> {
    Some(match array.data_type() {
        DataType::Binary => strings(array.as_binary::<i32>(), 0, nulls, None),
        DataType::LargeBinary => strings(array.as_binary::<i64>(), 0, nulls, None),
        DataType::BinaryView => strings(array.as_binary_view(), 0, nulls, None),
        DataType::FixedSizeBinary(_) => strings(array.as_fixed_size_binary(), 0, nulls, None),
        _ => return None,
    })
}

fn strings<A: Strings + Clone>(
    array: &A,
    padded: usize,
    nulls: Option<NullBuffer>,
    places: Option<Places>,
) -> Box<dyn Fill> {
    Box::new(Of {
        nulls,
        array: array.clone(),
        padded,
        places,
    })
}
