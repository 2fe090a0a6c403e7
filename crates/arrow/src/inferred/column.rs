//! Documents of a known type as an array of Arrow's.
//!
//! What is null in a document is not written: a column is filled up to the row of the next value, when that comes, so that the time a
//! document takes depends on what it has, not on what others have.

use std::mem::{replace, take};
use std::sync::Arc;

use amax_jsonb::{Error, TextWriter, Value};
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, BooleanArray, ListArray, NullArray, PrimitiveArray, StringArray, StructArray, UnionArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, FieldRef, Fields, UnionFields};

use super::keys::Keys;
use super::kind::{Kind, item_field, struct_fields, union_fields};
use super::number::Number;

/// What memory is asked for.
const WHAT: &str = "columns of documents";
/// The bytes of strings, or the elements, that offsets of 32 bits count.
const MOST: usize = i32::MAX as usize;
const DIFFERENT: Error = Error::Corrupt("a document is not of the type that was inferred");

/// A column of documents under construction.
#[derive(Debug)]
pub struct Nested {
    root: Column,
    rows: usize,
    /// Bytes of a row, but for strings and elements.
    width: usize,
}

#[derive(Debug)]
struct Column {
    /// Of the rows that have been filled.
    valid: NullBufferBuilder,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Null,
    Bool(BooleanBufferBuilder),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Decimal {
        values: Vec<i128>,
        precision: u8,
        scale: i8,
    },
    Text {
        /// Where each begins, and where the last ends.
        offsets: Vec<i32>,
        bytes: Vec<u8>,
        json: bool,
    },
    List {
        field: FieldRef,
        offsets: Vec<i32>,
        item: Box<Column>,
        /// Elements so far, and the bytes of one.
        length: usize,
        width: usize,
    },
    Struct {
        fields: Fields,
        keys: Keys,
        columns: Vec<Column>,
    },
    Union {
        fields: UnionFields,
        members: Vec<Member>,
        /// Of each row, its member, and where it is in that.
        ids: Vec<i8>,
        offsets: Vec<i32>,
    },
}

/// Of a union.
#[derive(Debug)]
struct Member {
    column: Column,
    /// Rows so far, and the bytes of one.
    rows: usize,
    width: usize,
}

impl Nested {
    pub fn new(kind: &Kind) -> Self {
        Self {
            root: Column::new(kind),
            rows: 0,
            width: width(kind),
        }
    }

    /// Appends a document, or NULL, and returns how many bytes it takes, about.
    ///
    /// # Errors
    /// If the document is broken, or none of those that the type was inferred from; [`Error::TextTooLong`] where strings or elements are
    /// more than 32 bits count; or memory was refused. The column is of no use then.
    pub fn append(&mut self, document: Option<&[u8]>) -> Result<usize, Error> {
        let more = match document.map(amax_jsonb::root).transpose()? {
            None | Some(Value::Null) => 0,
            Some(value) => self.root.put(self.rows, value)?,
        };
        self.rows += 1;
        Ok(self.width + more)
    }

    /// The rows since the last time.
    ///
    /// # Errors
    /// As [`Nested::append`]; and if a string is not UTF-8.
    pub fn finish(&mut self) -> Result<ArrayRef, Error> {
        self.root.finish(take(&mut self.rows))
    }
}

/// Bytes of a row in all columns that have as many rows as this one.
fn width(kind: &Kind) -> usize {
    match kind {
        Kind::Null => 0,
        Kind::Bool => 1,
        Kind::Int | Kind::Float => size_of::<i64>(),
        Kind::Decimal { .. } => size_of::<i128>(),
        Kind::String | Kind::Json | Kind::List(_) => size_of::<i32>(),
        Kind::Struct(fields) => 1 + fields.iter().map(|(_, kind)| width(kind)).sum::<usize>(),
        Kind::Union(_) => size_of::<i8>() + size_of::<i32>(),
    }
}

impl Column {
    fn new(kind: &Kind) -> Self {
        let values = match kind {
            Kind::Null => Values::Null,
            Kind::Bool => Values::Bool(BooleanBufferBuilder::new(0)),
            Kind::Int => Values::Int(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            &Kind::Decimal { precision, scale } => Values::Decimal {
                values: Vec::new(),
                precision,
                scale,
            },
            Kind::String | Kind::Json => Values::Text {
                offsets: vec![0],
                bytes: Vec::new(),
                json: *kind == Kind::Json,
            },
            Kind::List(item) => Values::List {
                field: item_field(item),
                offsets: vec![0],
                item: Box::new(Self::new(item)),
                length: 0,
                width: width(item),
            },
            Kind::Struct(fields) => {
                let mut keys = Keys::default();
                fields.iter().for_each(|(name, _)| {
                    keys.add(name);
                });
                Values::Struct {
                    fields: struct_fields(fields),
                    keys,
                    columns: fields.iter().map(|(_, kind)| Self::new(kind)).collect(),
                }
            }
            Kind::Union(kinds) => Values::Union {
                fields: union_fields(kinds),
                members: kinds.iter().map(Member::new).collect(),
                ids: Vec::new(),
                offsets: Vec::new(),
            },
        };
        Self {
            valid: NullBufferBuilder::new(0),
            values,
        }
    }

    /// Puts a value that is not null into a row behind all others, and returns the bytes that it takes besides its column's width.
    fn put(&mut self, row: usize, value: Value<'_>) -> Result<usize, Error> {
        self.fill(row)?;
        let bytes = match (&mut self.values, value) {
            (Values::Bool(bits), Value::Bool(value)) => {
                bits.append(value);
                0
            }
            (Values::Int(values), Value::Numeric(payload)) => push(values, number(payload, Number::to_i64)?)?,
            (Values::Float(values), Value::Numeric(payload)) => push(values, number(payload, Number::to_f64)?)?,
            (Values::Decimal { values, scale, .. }, Value::Numeric(payload)) => {
                let scale = scale.unsigned_abs().into();
                push(values, number(payload, |number| number.to_decimal(scale))?)?
            }
            (Values::Text { offsets, bytes, json }, value) => {
                let before = bytes.len();
                match value {
                    value if *json => TextWriter::new(bytes, MOST).value(value)?,
                    Value::String(string) if string.len() <= MOST - before => {
                        amax_memory::extend(bytes, string, WHAT)?;
                    }
                    Value::String(_) => return Err(Error::TextTooLong),
                    _ => return Err(DIFFERENT),
                }
                push(offsets, bytes.len() as i32)?;
                bytes.len() - before
            }
            (
                Values::List {
                    offsets,
                    item,
                    length,
                    width,
                    ..
                },
                Value::Array(array),
            ) => {
                let mut bytes = array.len() * *width;
                for element in array.elements() {
                    match element? {
                        Value::Null => {}
                        value => bytes += item.put(*length, value)?,
                    }
                    *length += 1;
                }
                if *length > MOST {
                    return Err(Error::TextTooLong);
                }
                push(offsets, *length as i32)?;
                bytes
            }
            (Values::Struct { keys, columns, .. }, Value::Object(object)) => {
                let (mut bytes, mut next) = (0, 0);
                for pair in object.pairs() {
                    let (key, value) = pair?;
                    let number = keys.find(key, next).ok_or(DIFFERENT)?;
                    next = number + 1;
                    match value {
                        Value::Null => {}
                        value => bytes += columns[number].put(row, value)?,
                    }
                }
                bytes
            }
            (
                Values::Union {
                    members, ids, offsets, ..
                },
                value,
            ) => {
                let at = members.iter().position(|member| member.column.values.takes(&value));
                let at = at.ok_or(DIFFERENT)?;
                let member = &mut members[at];
                push(ids, at as i8)?;
                push(offsets, i32::try_from(member.rows).map_err(|_| Error::TextTooLong)?)?;
                member.rows += 1;
                member.width + member.column.put(member.rows - 1, value)?
            }
            _ => return Err(DIFFERENT),
        };
        self.valid.append_non_null();
        Ok(bytes)
    }

    /// With NULL, up to a row.
    fn fill(&mut self, row: usize) -> Result<(), Error> {
        // A key that an object has twice has filled it already.
        let missing = row.checked_sub(self.valid.len()).ok_or(DIFFERENT)?;
        if missing == 0 {
            return Ok(());
        }
        // What bits take is little.
        amax_memory::ask(missing / 8, WHAT)?;
        match &mut self.values {
            Values::Null | Values::Struct { .. } => {}
            Values::Bool(bits) => bits.append_n(missing, false),
            Values::Int(values) => extend(values, missing, 0)?,
            Values::Float(values) => extend(values, missing, 0.0)?,
            Values::Decimal { values, .. } => extend(values, missing, 0)?,
            Values::Text { offsets, bytes, .. } => extend(offsets, missing, bytes.len() as i32)?,
            Values::List { offsets, length, .. } => extend(offsets, missing, *length as i32)?,
            Values::Union {
                members, ids, offsets, ..
            } => {
                extend(ids, missing, 0)?;
                amax_memory::reserve(offsets, missing, WHAT)?;
                let from = members[0].rows;
                members[0].rows += missing;
                let to = i32::try_from(members[0].rows).map_err(|_| Error::TextTooLong)?;
                offsets.extend(from as i32..to);
            }
        }
        self.valid.append_n_nulls(missing);
        Ok(())
    }

    /// So many rows, of which the last may be missing.
    fn finish(&mut self, rows: usize) -> Result<ArrayRef, Error> {
        self.fill(rows)?;
        let nulls = self.valid.finish();
        Ok(match &mut self.values {
            Values::Null => Arc::new(NullArray::new(rows)),
            Values::Bool(bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Values::Int(values) => Arc::new(numbers::<Int64Type>(values, nulls)),
            Values::Float(values) => Arc::new(numbers::<Float64Type>(values, nulls)),
            Values::Decimal {
                values,
                precision,
                scale,
            } => {
                let values = numbers::<Decimal128Type>(values, nulls);
                Arc::new(values.with_precision_and_scale(*precision, *scale).map_err(made)?)
            }
            Values::Text { offsets, bytes, .. } => {
                let (offsets, bytes) = (ended(offsets), Buffer::from_vec(take(bytes)));
                let strings = StringArray::try_new(offsets, bytes, nulls);
                Arc::new(strings.map_err(|_| Error::Corrupt("string is not UTF-8"))?)
            }
            Values::List {
                field,
                offsets,
                item,
                length,
                ..
            } => {
                let items = item.finish(take(length))?;
                Arc::new(ListArray::try_new(Arc::clone(field), ended(offsets), items, nulls).map_err(made)?)
            }
            Values::Struct { fields, columns, .. } => {
                let columns: Result<Vec<ArrayRef>, Error> =
                    columns.iter_mut().map(|column| column.finish(rows)).collect();
                Arc::new(StructArray::try_new(fields.clone(), columns?, nulls).map_err(made)?)
            }
            Values::Union {
                fields,
                members,
                ids,
                offsets,
            } => {
                let columns = members
                    .iter_mut()
                    .map(|member| member.column.finish(take(&mut member.rows)));
                let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
                let (ids, offsets) = (take(ids).into(), take(offsets).into());
                Arc::new(UnionArray::try_new(fields.clone(), ids, Some(offsets), columns).map_err(made)?)
            }
        })
    }
}

impl Values {
    /// Whether a value of a union is this member's: JSON text has what is of no other, and comes last.
    fn takes(&self, value: &Value<'_>) -> bool {
        matches!(
            (self, value),
            (Self::Bool(_), Value::Bool(_))
                | (Self::Int(_) | Self::Float(_) | Self::Decimal { .. }, Value::Numeric(_))
                | (Self::Text { json: false, .. }, Value::String(_))
                | (Self::List { .. }, Value::Array(_))
                | (Self::Struct { .. }, Value::Object(_))
                | (Self::Text { json: true, .. }, _)
        )
    }
}

impl Member {
    fn new(kind: &Kind) -> Self {
        Self {
            column: Column::new(kind),
            rows: 0,
            width: width(kind),
        }
    }
}

fn push<T>(values: &mut Vec<T>, value: T) -> Result<usize, Error> {
    amax_memory::reserve(values, 1, WHAT)?;
    values.push(value);
    Ok(0)
}

fn extend<T: Clone>(values: &mut Vec<T>, by: usize, value: T) -> Result<(), Error> {
    amax_memory::reserve(values, by, WHAT)?;
    values.resize(values.len() + by, value);
    Ok(())
}

/// The number that a payload holds, as the column has it.
fn number<T>(payload: &[u8], of: impl FnOnce(Number) -> Option<T>) -> Result<T, Error> {
    Number::of(payload).and_then(of).ok_or(DIFFERENT)
}

fn numbers<T: ArrowPrimitiveType>(
    values: &mut Vec<T::Native>,
    nulls: Option<arrow_buffer::NullBuffer>,
) -> PrimitiveArray<T> {
    PrimitiveArray::new(take(values).into(), nulls)
}

/// Offsets of what has been written; the next begin anew.
fn ended(offsets: &mut Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(replace(offsets, vec![0]).into())
}

/// Arrays are of their types, and as long as each other.
fn made(_: ArrowError) -> Error {
    DIFFERENT
}
