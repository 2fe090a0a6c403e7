//! Documents as Parquet's Variant (apache/parquet-format, VariantEncoding.md), not shredded: the names of a document's fields, and its value. An integer
//! is the smallest that holds it, any other number a decimal with the digits that it shows.

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, DataType, Field, Fields};
use parquet_variant::{
    MAX_NESTING_DEPTH, ObjectFieldBuilder, Variant, VariantBuilder, VariantBuilderExt, VariantDecimal4,
    VariantDecimal8, VariantDecimal16,
};
use std::sync::Arc;

use amax_jsonb::numeric::{Number, decode, to_text};
use amax_jsonb::{Value, root};

use crate::cell::{Put, append, hex, room};
use crate::error::{Unfit, Unsuited, Unwritten};
use crate::nested::json_string;
use crate::numbers::float;

/// What marks such columns in Arrow.
pub const VARIANT: &str = "arrow.parquet.variant";

/// Digits of a decimal.
const DIGITS: u32 = 38;

/// Why a document cannot be a variant.
#[derive(Debug, thiserror::Error)]
pub enum Unvaried {
    #[error("It has a number of more than {DIGITS} digits.")]
    Number,
    #[error("It has more than {MAX_NESTING_DEPTH} levels of objects and arrays.")]
    Deep,
    #[error("{0}.")]
    Arrow(#[from] ArrowError),
    #[error("It is damaged: {0}.")]
    Damaged(#[from] amax_jsonb::Error),
}

/// The variants of a batch.
pub struct Variants {
    metadata: BinaryBuilder,
    values: BinaryBuilder,
    present: NullBufferBuilder,
}

impl Default for Variants {
    fn default() -> Self {
        Self {
            metadata: BinaryBuilder::new(),
            values: BinaryBuilder::new(),
            present: NullBufferBuilder::new(0),
        }
    }
}

impl Variants {
    /// The fields of the column's struct.
    pub fn fields() -> Fields {
        let field = |name| Field::new(name, DataType::Binary, false);
        Fields::from(vec![field("metadata"), field("value")])
    }

    /// Appends a document as jsonb stores it, with texts in UTF-8, and returns how many bytes it takes.
    ///
    /// # Errors
    /// It has what a variant has not; nothing is appended then.
    pub fn append(&mut self, document: &[u8]) -> Result<usize, Unvaried> {
        let mut builder = VariantBuilder::new();
        put_value(root(document)?, 0, &mut builder)?;
        let (metadata, value) = builder.try_finish()?;
        self.metadata.append_value(&metadata);
        self.values.append_value(&value);
        self.present.append_non_null();
        Ok(metadata.len() + value.len() + 2 * size_of::<i32>())
    }

    /// Appends SQL NULL.
    pub fn append_null(&mut self) {
        self.metadata.append_value([]);
        self.values.append_value([]);
        self.present.append_null();
    }

    /// Hands over the batch's variants, and starts the next.
    pub fn finish(&mut self) -> StructArray {
        let arrays: Vec<ArrayRef> = vec![Arc::new(self.metadata.finish()), Arc::new(self.values.finish())];
        StructArray::new(Self::fields(), arrays, self.present.finish())
    }
}

fn put_value(value: Value<'_>, depth: usize, to: &mut impl VariantBuilderExt) -> Result<(), Unvaried> {
    match value {
        Value::Array(_) | Value::Object(_) if depth == MAX_NESTING_DEPTH => return Err(Unvaried::Deep),
        Value::Null => to.append_value(Variant::Null),
        Value::Bool(value) => to.append_value(value),
        Value::String(text) => to.append_value(text_of(text)?),
        Value::Numeric(payload) => to.append_value(number(payload)?),
        Value::Array(elements) => {
            let mut list = to.try_new_list()?;
            for element in elements.elements() {
                put_value(element?, depth + 1, &mut list)?;
            }
            list.finish();
        }
        Value::Object(pairs) => {
            let mut object = to.try_new_object()?;
            for pair in pairs.pairs() {
                let (key, value) = pair?;
                put_value(
                    value,
                    depth + 1,
                    &mut ObjectFieldBuilder::new(text_of(key)?, &mut object),
                )?;
            }
            object.finish();
        }
    }
    Ok(())
}

fn text_of(bytes: &[u8]) -> Result<&str, Unvaried> {
    std::str::from_utf8(bytes).map_err(|error| ArrowError::InvalidArgumentError(error.to_string()).into())
}

fn number(payload: &[u8]) -> Result<Variant<'static, 'static>, Unvaried> {
    let (mantissa, scale) = match decode(payload) {
        Some(Number::Int(value)) => return Ok(integer(value)),
        Some(Number::Decimal { mantissa, scale }) => (i128::from(mantissa), scale.into()),
        None => digits(&to_text(payload)?).ok_or(Unvaried::Number)?,
    };
    let scale = u8::try_from(scale).map_err(|_| Unvaried::Number)?;
    let small = i32::try_from(mantissa)
        .ok()
        .and_then(|mantissa| VariantDecimal4::try_new(mantissa, scale).ok());
    let medium = || {
        i64::try_from(mantissa)
            .ok()
            .and_then(|mantissa| VariantDecimal8::try_new(mantissa, scale).ok())
    };
    let large = || VariantDecimal16::try_new(mantissa, scale).map(Variant::from);
    match small.map(Variant::from).or_else(|| medium().map(Variant::from)) {
        Some(decimal) => Ok(decimal),
        None => large().map_err(|_| Unvaried::Number),
    }
}

fn integer(value: i64) -> Variant<'static, 'static> {
    if let Ok(value) = i8::try_from(value) {
        return value.into();
    }
    if let Ok(value) = i16::try_from(value) {
        return value.into();
    }
    match i32::try_from(value) {
        Ok(value) => value.into(),
        Err(_) => value.into(),
    }
}

/// A number's text without its point, and how many digits were behind that.
fn digits(text: &str) -> Option<(i128, usize)> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let mantissa = format!("{whole}{decimals}").parse().ok()?;
    Some((mantissa, decimals.len()))
}

const DAMAGED: Unfit = Unfit {
    detail: "A variant is damaged, or has too many levels.",
    hint: "Write it anew, or leave the column out.",
};

/// What writes variants as JSON.
///
/// # Errors
/// They are shredded, or something else.
pub(crate) fn put(array: &StructArray) -> Result<Put, Unsuited> {
    let part = |name| array.column_by_name(name).and_then(Bytes::of);
    let (Some(metadata), Some(value), 2) = (part("metadata"), part("value"), array.num_columns()) else {
        return Err(Unsuited {
            data_type: array.data_type().clone(),
            hint: "Variants are read that are not shredded: of \"metadata\" and \"value\" alone.",
        });
    };
    Ok(Box::new(move |row, to| {
        let mut left = value.get(row).len();
        is_a_tree(value.get(row), 0, &mut left).ok_or(DAMAGED)?;
        let variant = Variant::try_new(metadata.get(row), value.get(row)).map_err(|_| DAMAGED)?;
        put_json(&variant, to)
    }))
}
/// Whether no part of a value is that of two others, so that looking at all of them is looking at `left` bytes at most. The library looks at each part of
/// each object, wherever its offset leads to: few bytes could stand for very many values.
fn is_a_tree(value: &[u8], depth: usize, left: &mut usize) -> Option<()> {
    // Of the header (VariantEncoding.md): the basic type, and what that says more.
    let (basic, more) = (value.first()? & 3, value.first()? >> 2);
    let number = |from: usize, bytes: usize| -> Option<usize> {
        let bytes = value.get(from..from.checked_add(bytes)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, &byte| number << 8 | usize::from(byte)),
        )
    };
    let (large, offset, id) = match basic {
        // Bytes and strings of some length.
        0 if matches!(more, 15 | 16) => return take(left, number(1, 4)?.checked_add(5)?),
        0 => return take(left, 1),
        1 => return take(left, 1 + usize::from(more)),
        2 => (more >> 4 & 1, usize::from(more & 3) + 1, usize::from(more >> 2 & 3) + 1),
        _ => (more >> 2 & 1, usize::from(more & 3) + 1, 0),
    };
    let counted = if large == 1 { 4 } else { 1 };
    let count = number(1, counted)?;
    let offsets = count.checked_mul(id)?.checked_add(1 + counted)?;
    let values = count.checked_add(1)?.checked_mul(offset)?.checked_add(offsets)?;
    take(left, values)?;
    if count > 0 && depth == MAX_NESTING_DEPTH {
        return None;
    }
    (0..count).try_for_each(|at| {
        let start = values.checked_add(number(offsets + at * offset, offset)?)?;
        is_a_tree(value.get(start..)?, depth + 1, left)
    })
}

fn take(left: &mut usize, bytes: usize) -> Option<()> {
    *left = left.checked_sub(bytes)?;
    Some(())
}

/// Bytes in one of the forms that they may have.
#[derive(Clone)]
enum Bytes {
    Small(BinaryArray),
    Large(LargeBinaryArray),
    Views(BinaryViewArray),
}

impl Bytes {
    fn of(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Binary => Self::Small(array.as_binary().clone()),
            DataType::LargeBinary => Self::Large(array.as_binary().clone()),
            DataType::BinaryView => Self::Views(array.as_binary_view().clone()),
            _ => return None,
        })
    }

    /// None are there where it is NULL.
    fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Small(array) if array.is_valid(row) => array.value(row),
            Self::Large(array) if array.is_valid(row) => array.value(row),
            Self::Views(array) if array.is_valid(row) => array.value(row),
            _ => &[],
        }
    }
}

/// Of one that is valid, and so has few levels.
fn put_json(variant: &Variant<'_, '_>, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    use Variant as V;
    match variant {
        V::Null => append(to, b"null"),
        V::BooleanTrue => append(to, b"true"),
        V::BooleanFalse => append(to, b"false"),
        V::Int8(value) => append(to, itoa::Buffer::new().format(*value).as_bytes()),
        V::Int16(value) => append(to, itoa::Buffer::new().format(*value).as_bytes()),
        V::Int32(value) => append(to, itoa::Buffer::new().format(*value).as_bytes()),
        V::Int64(value) => append(to, itoa::Buffer::new().format(*value).as_bytes()),
        V::Decimal4(value) => decimal(value.integer().into(), value.scale(), to),
        V::Decimal8(value) => decimal(value.integer().into(), value.scale(), to),
        V::Decimal16(value) => decimal(value.integer(), value.scale(), to),
        V::Float(value) => float(f64::from(*value), value, true, to),
        V::Double(value) => float(*value, value, true, to),
        V::String(text) => json_string(text.as_bytes(), to),
        V::ShortString(text) => json_string(text.as_str().as_bytes(), to),
        V::Date(date) => json_string(format!("{date:?}").as_bytes(), to),
        V::Time(time) => json_string(format!("{time:?}").as_bytes(), to),
        V::TimestampMicros(at) | V::TimestampNanos(at) => {
            json_string(format!("{:?}+00:00", at.naive_utc()).as_bytes(), to)
        }
        V::TimestampNtzMicros(at) | V::TimestampNtzNanos(at) => json_string(format!("{at:?}").as_bytes(), to),
        V::Uuid(uuid) => json_string(uuid.to_string().as_bytes(), to),
        V::Binary(bytes) => {
            append(to, b"\"\\\\x")?;
            room(to, 2 * bytes.len() + 1)?;
            hex(bytes, to);
            append(to, b"\"")
        }
        V::List(list) => {
            append(to, b"[")?;
            for (at, element) in list.iter().enumerate() {
                append(to, if at > 0 { b"," } else { b"" })?;
                put_json(&element, to)?;
            }
            append(to, b"]")
        }
        V::Object(object) => {
            append(to, b"{")?;
            for (at, (key, value)) in object.iter().enumerate() {
                append(to, if at > 0 { b"," } else { b"" })?;
                json_string(key.as_bytes(), to)?;
                append(to, b":")?;
                put_json(&value, to)?;
            }
            append(to, b"}")
        }
    }
}

/// With all the digits behind its point that it has.
fn decimal(mantissa: i128, scale: u8, to: &mut Vec<u8>) -> Result<(), Unwritten> {
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", mantissa.unsigned_abs(), width = scale + 1);
    let (whole, decimals) = digits.split_at(digits.len() - scale);
    let sign = if mantissa < 0 { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    append(to, format!("{sign}{whole}{point}{decimals}").as_bytes())
}
