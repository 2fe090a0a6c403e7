//! The values of each type of columns as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, BinaryArrayType, BooleanArray, GenericStringArray, OffsetSizeTrait, RunArray,
    downcast_integer,
};
use arrow_schema::{DataType, Field};

use crate::cell::{Cell, Form, Put, append, hex, room};
use crate::error::Unsuited;
use crate::target::Target;
use crate::variant::VARIANT;
use crate::{nested, numbers, times, variant};

/// A column, or a part of a nested one; see [`crate::cell::Make`].
pub(crate) fn cell(array: &ArrayRef, field: &Field, target: &Target, json: bool) -> Result<Cell, Unsuited> {
    let (form, put) = match values(array, field, target, json)? {
        // All of a JSON text.
        (Form::Word, put) if *target == Target::Json && !json => (Form::Text, nested::as_string(put)),
        made => made,
    };
    Ok(Cell::new(array, form, put))
}

/// A column's extension type.
pub(crate) const EXTENSION: &str = "ARROW:extension:name";
/// The mark of Parquet's intervals, which nobody else writes: twelve bytes, months, days and milliseconds.
pub(crate) const INTERVAL: &str = "amax.parquet.interval";
/// The mark of timestamps without a time zone that are points in time where one is wanted, in UTC: Parquet's INT96.
pub(crate) const INSTANT: &str = "amax.parquet.int96";

/// Whether a column is of Parquet's intervals.
pub(crate) fn is_interval(field: &Field) -> bool {
    is_marked(field, INTERVAL)
}

/// Whether a column is of such timestamps.
pub(crate) fn is_instant(field: &Field) -> bool {
    is_marked(field, INSTANT)
}

fn is_marked(field: &Field, extension: &str) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == extension)
}

fn values(array: &ArrayRef, field: &Field, target: &Target, json: bool) -> Result<(Form, Put), Unsuited> {
    use DataType as T;
    Ok(match array.data_type() {
        T::Null => (Form::Number, Box::new(|_, _| Ok(()))),
        T::Boolean => (Form::Number, booleans(array.as_boolean().clone())),
        T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..)
        | T::Decimal256(..) => (Form::Number, numbers::put(array)),
        // All of a JSON text may be a string, if the number is not finite.
        T::Float16 | T::Float32 | T::Float64 => match *target == Target::Json && !json {
            true => (Form::Text, numbers::floats(array, true)),
            false => (Form::Number, numbers::floats(array, json)),
        },
        T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(..) | T::Duration(_) | T::Interval(_) => {
            (Form::Word, times::put(array, target, is_instant(field))?)
        }
        T::Utf8 => (text_form(field, json), texts(array.as_string::<i32>().clone())),
        T::LargeUtf8 => (text_form(field, json), texts(array.as_string::<i64>().clone())),
        T::Utf8View => {
            let array = array.as_string_view().clone();
            let put: Put = Box::new(move |row, to| append(to, array.value(row).as_bytes()));
            (text_form(field, json), put)
        }
        T::Binary => bytes(array.as_binary::<i32>().clone(), array, field, target, json)?,
        T::LargeBinary => bytes(array.as_binary::<i64>().clone(), array, field, target, json)?,
        T::BinaryView => bytes(array.as_binary_view().clone(), array, field, target, json)?,
        T::FixedSizeBinary(12) if is_interval(field) => (
            Form::Word,
            times::parquet_intervals(array.as_fixed_size_binary().clone()),
        ),
        T::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().clone(), array, field, target, json)?,
        T::Dictionary(keys, _) => {
            macro_rules! of_keys {
                ($type:ty, $array:ident, $field:ident, $target:ident, $json:ident) => {
                    dictionary::<$type>($array, $field, $target, $json)?
                };
            }
            downcast_integer! {
                keys.as_ref() => (of_keys, array, field, target, json),
                other => unreachable!("no keys: {other}")
            }
        }
        T::RunEndEncoded(ends, _) => match ends.data_type() {
            T::Int16 => runs::<Int16Type>(array, field, target, json)?,
            T::Int32 => runs::<Int32Type>(array, field, target, json)?,
            _ => runs::<Int64Type>(array, field, target, json)?,
        },
        T::Struct(_) if is_marked(field, VARIANT) => match target {
            Target::Json | Target::Text | Target::Other => {
                let form = if json { Form::Nested } else { Form::Text };
                (form, variant::put(array.as_struct())?)
            }
            _ => {
                return Err(Unsuited {
                    data_type: array.data_type().clone(),
                    hint: "Variants go to jsonb, json and text.",
                });
            }
        },
        T::List(_)
        | T::LargeList(_)
        | T::ListView(_)
        | T::LargeListView(_)
        | T::FixedSizeList(..)
        | T::Struct(_)
        | T::Map(..)
        | T::Union(..) => nested::put(array, target, json, cell)?,
    })
}

fn booleans(array: BooleanArray) -> Put {
    Box::new(move |row, to| {
        to.extend(match array.value(row) {
            true => "true".as_bytes(),
            false => b"false",
        });
        Ok(())
    })
}

/// JSON within JSON is a part of it; any other text is a string.
fn text_form(field: &Field, json: bool) -> Form {
    match json && is_marked(field, "arrow.json") {
        true => Form::Nested,
        false => Form::Text,
    }
}

fn texts<O: OffsetSizeTrait>(array: GenericStringArray<O>) -> Put {
    Box::new(move |row, to| append(to, array.value(row).as_bytes()))
}

fn bytes<A>(values: A, array: &ArrayRef, field: &Field, target: &Target, json: bool) -> Result<(Form, Put), Unsuited>
where
    A: 'static,
    for<'a> &'a A: BinaryArrayType<'a>,
{
    let is_uuid = *array.data_type() == DataType::FixedSizeBinary(16);
    match target {
        Target::Bytes => {}
        Target::Uuid if is_uuid => return Ok((Form::Word, uuids(values))),
        Target::Json | Target::Text if is_uuid && is_marked(field, "arrow.uuid") => {
            return Ok((Form::Word, uuids(values)));
        }
        Target::Json if json => {}
        _ => {
            return Err(Unsuited {
                data_type: array.data_type().clone(),
                hint: "Binary data goes to bytea, and 16 bytes to uuid. Decode it before it is sent, or choose another column.",
            });
        }
    }
    let put: Put = Box::new(move |row, to| {
        let value = (&values).value(row);
        room(to, 2 * value.len() + 2)?;
        to.extend(b"\\x");
        hex(value, to);
        Ok(())
    });
    Ok((Form::Text, put))
}

fn uuids<A>(array: A) -> Put
where
    A: 'static,
    for<'a> &'a A: BinaryArrayType<'a>,
{
    Box::new(move |row, to| {
        let value = (&array).value(row);
        for (at, part) in [&value[..4], &value[4..6], &value[6..8], &value[8..10], &value[10..]]
            .iter()
            .enumerate()
        {
            if at > 0 {
                to.push(b'-');
            }
            hex(part, to);
        }
        Ok(())
    })
}

/// Values by their place in a dictionary.
fn dictionary<K: ArrowDictionaryKeyType>(
    array: &ArrayRef,
    field: &Field,
    target: &Target,
    json: bool,
) -> Result<(Form, Put), Unsuited> {
    let array = array.as_dictionary::<K>().clone();
    let cell = cell(array.values(), field, target, json)?;
    let form = cell.form;
    let place = move |row| {
        array
            .key(row)
            .unwrap_or_else(|| unreachable!("a row with a value has a key"))
    };
    Ok((form, Box::new(move |row, to| cell.put(place(row), to))))
}

/// Values of runs of rows.
fn runs<R: RunEndIndexType>(
    array: &ArrayRef,
    field: &Field,
    target: &Target,
    json: bool,
) -> Result<(Form, Put), Unsuited> {
    let runs: RunArray<R> = array.as_run::<R>().clone();
    let cell = cell(runs.values(), field, target, json)?;
    let form = cell.form;
    Ok((
        form,
        Box::new(move |row, to| cell.put(runs.get_physical_index(row), to)),
    ))
}
