//! What the columns of a file are read as, and shown as: what they were when they were written, if the file says so (`hint`), but for
//! strings and dictionaries of them, which stay where their pages have them, and all kinds of lists, which are one.
//!
//! Byte strings are read as such, whatever they are: what has to be made of them, and may fail, is made by us (`shown`). So are the
//! twelve bytes of INT96 and of intervals, and integers of eight and sixteen bits.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::FileMetaData;
use parquet::schema::types::{BasicTypeInfo, ColumnDescPtr, SchemaDescriptor, Type, TypePtr};

use super::failure::text_of;
use crate::error::Error;
use crate::values::{EXTENSION, INSTANT, INTERVAL};
use crate::variant::VARIANT;

/// The bytes of an INT96, or of an interval.
const TWELVE: i32 = 12;

/// The columns of a file.
pub(super) struct Columns {
    columns: Vec<Column>,
    schema: SchemaRef,
}

/// A node below the root of Parquet's schema.
struct Column {
    /// Its leaves among those of the file.
    leaves: Range<usize>,
    /// What it is read from, and as; or why it is not read.
    read: std::result::Result<(TypePtr, FieldRef), String>,
}

/// What is read of each row group.
pub(super) struct Reading {
    pub(super) levels: FieldLevels,
    /// Where its leaves are among those of the file.
    pub(super) leaves: Vec<usize>,
    /// The columns as they are shown.
    pub(super) schema: SchemaRef,
}

impl Columns {
    /// `hint` is the schema that the file was written from, if it says so; `pause` is called for each column.
    pub(super) fn of(file: &FileMetaData, hint: Option<&Schema>, pause: &dyn Fn()) -> Self {
        let roots = file.schema_descr().root_schema().get_fields();
        let (mut columns, mut fields, mut next) = (Vec::new(), Vec::new(), 0);
        for (at, root) in roots.iter().enumerate() {
            pause();
            let hint = hint.and_then(|schema| schema.fields().get(at));
            let hint = hint.filter(|hint| hint.name() == root.name());
            let (count, read) = match column(root, hint) {
                Ok((leaves, node, pair)) => {
                    fields.push(pair.shown);
                    (leaves, Ok((node, pair.read)))
                }
                Err(why) => {
                    fields.push(Arc::new(Field::new(root.name(), DataType::Null, true)));
                    (leaves_of(root), Err(why))
                }
            };
            columns.push(Column {
                leaves: next..next + count,
                read,
            });
            next += count;
        }
        Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// # Errors
    /// One of the columns is not read.
    pub(super) fn reading(&self, columns: &[usize]) -> std::result::Result<Reading, Error> {
        let (mut nodes, mut fields, mut leaves) = (Vec::new(), Vec::new(), Vec::new());
        for &column in columns {
            let Column { leaves: range, read } = &self.columns[column];
            let (node, field) = read.as_ref().map_err(|why| {
                let name = self.schema.field(column).name();
                Error::Unsupported(format!("Column \"{name}\" is not read: {}.", why.trim_end_matches('.')))
            })?;
            nodes.push(Arc::clone(node));
            fields.push(Arc::clone(field));
            leaves.extend(range.clone());
        }
        let shown = columns.iter().map(|&column| Arc::clone(&self.schema.fields()[column]));
        let levels = descriptor(nodes).and_then(|descriptor| {
            parquet_to_arrow_field_levels(&descriptor, ProjectionMask::all(), Some(&fields.into()))
        });
        Ok(Reading {
            levels: levels.map_err(|error| Error::Damaged(format!("{}.", text_of(error))))?,
            leaves,
            schema: Arc::new(Schema::new(shown.collect::<Fields>())),
        })
    }
}

fn leaves_of(node: &Type) -> usize {
    match node.is_primitive() {
        true => 1,
        false => node.get_fields().iter().map(|field| leaves_of(field)).sum(),
    }
}

/// A schema of these alone.
fn descriptor(nodes: Vec<TypePtr>) -> Result<SchemaDescriptor> {
    let root = Type::group_type_builder("schema").with_fields(nodes).build()?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

/// How many leaves a column has, what it is read from, and how; or why it is not read.
fn column(root: &TypePtr, hint: Option<&FieldRef>) -> std::result::Result<(usize, TypePtr, Pair), String> {
    let read = || {
        let descriptor = descriptor(vec![Arc::clone(root)])?;
        let arrow = parquet_to_arrow_schema(&descriptor, None)?;
        let mut leaves = descriptor.columns().iter();
        let field = arrow.fields().first().filter(|_| !has_empty_group(root));
        let field = field.ok_or_else(|| ParquetError::NYI("it has a group without fields".into()))?;
        let pair = Pair::of(field, hint.map(AsRef::as_ref), &mut leaves).of_variants(root);
        Ok((descriptor.num_columns(), bare(root)?, pair))
    };
    read().map_err(text_of)
}

fn has_empty_group(node: &Type) -> bool {
    !node.is_primitive()
        && (node.get_fields().is_empty() || node.get_fields().iter().any(|field| has_empty_group(field)))
}

/// What a column, or a part of one, is read as, and shown as.
struct Pair {
    read: FieldRef,
    shown: FieldRef,
}

impl Pair {
    /// Each field that has none below it is one of the leaves, in their order.
    fn of(field: &Field, hint: Option<&Field>, leaves: &mut slice::Iter<'_, ColumnDescPtr>) -> Self {
        let mut metadata = field.metadata().clone();
        metadata.extend(
            hint.into_iter()
                .flat_map(Field::metadata)
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        let hint = hint.map(|hint| match hint.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            other => other,
        });
        let (read, shown) = match field.data_type() {
            DataType::Struct(fields) => {
                let hints = match hint {
                    Some(DataType::Struct(hints)) if hints.len() == fields.len() => Some(hints),
                    _ => None,
                };
                let pairs = fields.iter().enumerate().map(|(at, field)| {
                    let hint = hints.map(|hints| &hints[at]);
                    let hint = hint.filter(|hint| hint.name() == field.name());
                    Self::of(field, hint.map(AsRef::as_ref), leaves)
                });
                let (read, shown): (Vec<_>, Vec<_>) = pairs.map(|pair| (pair.read, pair.shown)).unzip();
                (DataType::Struct(read.into()), DataType::Struct(shown.into()))
            }
            DataType::List(of) => {
                let hint = match hint {
                    Some(
                        DataType::List(hint)
                        | DataType::LargeList(hint)
                        | DataType::FixedSizeList(hint, _)
                        | DataType::ListView(hint)
                        | DataType::LargeListView(hint),
                    ) => Some(hint.as_ref()),
                    _ => None,
                };
                let of = Self::of(of, hint, leaves);
                (DataType::List(of.read), DataType::List(of.shown))
            }
            DataType::Map(of, sorted) => {
                let hint = match hint {
                    Some(DataType::Map(hint, _)) => Some(renamed(hint, of)),
                    _ => None,
                };
                let of = Self::of(of, hint.as_ref(), leaves);
                (DataType::Map(of.read, *sorted), DataType::Map(of.shown, *sorted))
            }
            data_type => {
                let leaf = leaves.next().map(|leaf| Leaf::of(data_type, hint, leaf));
                let leaf = leaf.unwrap_or_else(|| unreachable!("a leaf for each field"));
                metadata.extend(leaf.mark.map(|mark| (EXTENSION.to_owned(), mark.to_owned())));
                (leaf.read, leaf.shown)
            }
        };
        let made = |data_type| {
            let field = Field::new(field.name(), data_type, field.is_nullable());
            Arc::new(field.with_metadata(metadata.clone()))
        };
        Self {
            read: made(read),
            shown: made(shown),
        }
    }

    /// As it is, but for a group that is a variant, which is shown as such.
    fn of_variants(mut self, node: &Type) -> Self {
        if matches!(node.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_))) {
            let mut metadata = self.shown.metadata().clone();
            metadata.insert(EXTENSION.to_owned(), VARIANT.to_owned());
            self.shown = Arc::new(Field::clone(&self.shown).with_metadata(metadata));
        }
        self
    }
}

/// A map's entries, with the names that its keys and values have here.
fn renamed(entries: &Field, like: &Field) -> Field {
    match (entries.data_type(), like.data_type()) {
        (DataType::Struct(entries_of), DataType::Struct(fields)) => {
            let pairs = entries_of.iter().zip(fields);
            let fields = pairs.map(|(entry, field)| Arc::new(Field::clone(entry).with_name(field.name())));
            entries.clone().with_data_type(DataType::Struct(fields.collect()))
        }
        _ => entries.clone(),
    }
}

struct Leaf {
    read: DataType,
    shown: DataType,
    /// An extension type of ours.
    mark: Option<&'static str>,
}

impl Leaf {
    fn of(data_type: &DataType, hint: Option<&DataType>, leaf: &ColumnDescPtr) -> Self {
        let made = |read, shown: &DataType, mark| Self {
            read,
            shown: shown.clone(),
            mark,
        };
        let twelve = DataType::FixedSizeBinary(TWELVE);
        match (leaf.physical_type(), data_type) {
            (_, DataType::Null) => made(DataType::Null, &DataType::Null, None),
            (Physical::INT96, _) => {
                let zone = match hint {
                    Some(DataType::Timestamp(_, zone)) => zone.clone(),
                    _ => None,
                };
                let mark = zone.is_none().then_some(INSTANT);
                // In nanoseconds it would hold six centuries.
                made(twelve, &DataType::Timestamp(TimeUnit::Microsecond, zone), mark)
            }
            // Of months, days and milliseconds arrow-rs would leave some out.
            (_, DataType::Interval(_)) => made(twelve.clone(), &twelve, Some(INTERVAL)),
            (Physical::BYTE_ARRAY, DataType::Utf8) => made(DataType::BinaryView, &DataType::Utf8View, None),
            (Physical::BYTE_ARRAY, DataType::Binary) => match is_enum(leaf) || hint.is_some_and(is_text) {
                true => made(DataType::BinaryView, &DataType::Utf8View, None),
                false => made(DataType::BinaryView, &DataType::BinaryView, None),
            },
            // arrow-rs would cut what does not fit.
            (Physical::INT32, DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16) => {
                made(DataType::Int32, data_type, None)
            }
            (Physical::BYTE_ARRAY, decimal) => made(DataType::BinaryView, decimal, None),
            (_, data_type) => {
                let shown = hint.filter(|hint| means(data_type, hint)).unwrap_or(data_type);
                made(shown.clone(), shown, None)
            }
        }
    }
}

fn is_enum(leaf: &ColumnDescPtr) -> bool {
    matches!(leaf.logical_type_ref(), Some(LogicalType::Enum)) || leaf.converted_type() == ConvertedType::ENUM
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Whether values of a type of Parquet's may be meant as this one, which parquet's reader then makes of them. Decimals are what
/// their column says.
fn means(data_type: &DataType, hint: &DataType) -> bool {
    use DataType as T;
    match (data_type, hint) {
        (T::Int32 | T::Int64, T::Timestamp(..)) | (T::Int32, T::Time32(_)) => true,
        (T::Int64, T::Time64(_) | T::Duration(_) | T::Date64) | (T::Date32, T::Date64) => true,
        (T::Timestamp(unit, _), T::Timestamp(hinted, Some(_))) => unit == hinted,
        _ => false,
    }
}

/// Whether the integers of a leaf have fewer than 32 bits.
fn is_short(info: &BasicTypeInfo) -> bool {
    let by_width = matches!(info.logical_type_ref(), Some(LogicalType::Integer(of)) if of.bit_width < 32);
    let converted = info.converted_type();
    by_width
        || matches!(
            converted,
            ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::UINT_8 | ConvertedType::UINT_16
        )
}

/// A node, but that byte strings have no meaning in it, nor have the twelve bytes that we make something of, and integers no width.
fn bare(node: &TypePtr) -> Result<TypePtr> {
    let info = node.get_basic_info();
    if !node.is_primitive() {
        let fields = node.get_fields().iter().map(bare);
        let group = Type::group_type_builder(node.name())
            .with_converted_type(info.converted_type())
            .with_fields(fields.collect::<Result<_>>()?)
            .with_repetition(info.repetition());
        return Ok(Arc::new(group.build()?));
    }
    let is_null = matches!(info.logical_type_ref(), Some(LogicalType::Unknown));
    let (physical, length) = match node.get_physical_type() {
        _ if is_null => return Ok(Arc::clone(node)),
        Physical::BYTE_ARRAY => (Physical::BYTE_ARRAY, -1),
        Physical::INT96 => (Physical::FIXED_LEN_BYTE_ARRAY, TWELVE),
        Physical::INT32 if is_short(info) => (Physical::INT32, -1),
        Physical::FIXED_LEN_BYTE_ARRAY if info.converted_type() == ConvertedType::INTERVAL => {
            (Physical::FIXED_LEN_BYTE_ARRAY, TWELVE)
        }
        _ => return Ok(Arc::clone(node)),
    };
    let leaf = Type::primitive_type_builder(node.name(), physical)
        .with_repetition(info.repetition())
        .with_length(length);
    Ok(Arc::new(leaf.build()?))
}
