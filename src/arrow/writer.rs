//! How batches are framed: as messages of Arrow IPC, in a stream or a file, or as a Parquet file.

use std::io::Write;

use amax_arrow::VARIANT;
use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, LogicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use pgrx::PgSqlErrorCode;
use std::sync::Arc;

use super::error::{fail, raise, raise_arrow};
use super::guc::row_group_bytes;

/// What an output is to be.
#[derive(Clone, Copy, PartialEq)]
pub enum Framing {
    /// Schema, record batches, end-of-stream marker; the buffers of each batch may be compressed.
    Stream(Option<CompressionType>),
    /// The same between magic bytes, with a footer that lists the batches (`.arrow`, Feather V2).
    File(Option<CompressionType>),
    /// Row groups of so many rows at most, with pages that are compressed so; None: as suits the number of columns.
    Parquet {
        compression: Option<Compression>,
        rows: usize,
    },
}

impl Framing {
    pub const PLAIN_STREAM: Self = Self::Stream(None);

    /// How many times its bytes the writing of a batch takes: as arrays, as a message or pages, and compressed.
    pub fn times(self) -> usize {
        match self {
            Self::Stream(None) | Self::File(None) => 2,
            Self::Stream(Some(_)) | Self::File(Some(_)) => 3,
            // Dictionaries, and the pages that were kept before they became too large.
            Self::Parquet { .. } => 5,
        }
    }
}

pub enum Writer<W: Write + Send> {
    Stream(StreamWriter<W>),
    File(FileWriter<W>),
    Parquet(Box<RowGroups<W>>),
}

/// Bytes of a column's dictionary in a row group, at most. What has more of different values is smaller without one, and sooner written.
const DICTIONARY: usize = 64 * 1024;

/// As the format numbers them with 16 bits, some who read files know no more; and what is known of each stays in memory for the footer.
const MOST_GROUPS: usize = 32_767;

/// What is kept of a column of a row group: what the footer, the index of columns and that of offsets say of it, and texts of those.
const KEPT: usize = 3 * size_of::<ColumnChunkMetaData>();

/// What zstd takes to compress a column: a state for each, as long as its row group is not written.
const ZSTD: usize = 512 * 1024;
/// Columns for which that is no matter.
const FEW: usize = 512;

/// A file whose last row group is still in memory.
pub struct RowGroups<W: Write + Send> {
    writer: ArrowWriter<W>,
    /// The most rows that it may have.
    rows: usize,
    /// The most that it may take, but for the batch that crosses it.
    bytes: usize,
    /// What is kept of a row group that is written, and what of those since it was last asked for.
    kept: usize,
    unasked: usize,
    /// What compressing takes besides.
    compressors: usize,
}

impl<W: Write + Send> Writer<W> {
    /// Starts the output: writes the schema, or the mark of a file.
    pub fn new(framing: Framing, output: W, schema: &Arc<Schema>) -> Self {
        let options = |compression| IpcWriteOptions::default().try_with_compression(compression);
        let writer = match framing {
            Framing::Stream(compression) => options(compression)
                .and_then(|options| StreamWriter::try_new_with_options(output, schema, options))
                .map(Self::Stream),
            Framing::File(compression) => options(compression)
                .and_then(|options| FileWriter::try_new_with_options(output, schema, options))
                .map(Self::File),
            Framing::Parquet { compression, rows } => {
                return Self::Parquet(Box::new(RowGroups::new(compression, rows, output, schema)));
            }
        };
        writer.unwrap_or_else(|error| raise_arrow(error))
    }

    pub fn write(&mut self, batch: &RecordBatch) {
        let written = match self {
            Self::Stream(writer) => writer.write(batch),
            Self::File(writer) => writer.write(batch),
            Self::Parquet(groups) => return groups.write(batch),
        };
        written.unwrap_or_else(|error| raise_arrow(error));
    }

    /// Writes the end of the stream, or the file's footer.
    pub fn finish(&mut self) {
        let finished = match self {
            Self::Stream(writer) => writer.finish(),
            Self::File(writer) => writer.finish(),
            Self::Parquet(groups) => return groups.finish(),
        };
        finished.unwrap_or_else(|error| raise_arrow(error));
    }

    pub fn output(&mut self) -> &mut W {
        match self {
            Self::Stream(writer) => writer.get_mut(),
            Self::File(writer) => writer.get_mut(),
            Self::Parquet(groups) => groups.writer.inner_mut(),
        }
    }
}

impl<W: Write + Send> RowGroups<W> {
    fn new(compression: Option<Compression>, rows: usize, output: W, schema: &Arc<Schema>) -> Self {
        let mut leaves = Vec::new();
        let fields = schema.fields().iter();
        fields.for_each(|field| add_leaves(field, &[], &mut leaves));
        let columns = leaves.len();
        let compression = compression.unwrap_or_else(|| match columns {
            0..=FEW => Compression::ZSTD(ZstdLevel::default()),
            _ => Compression::SNAPPY,
        });
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(false)
            .set_dictionary_page_size_limit(DICTIONARY)
            .set_max_row_group_row_count(Some(rows))
            .set_created_by(concat!("amax version ", env!("CARGO_PKG_VERSION")).to_owned());
        // Looking numbers up takes longer than all else that is done with them.
        let properties = leaves.into_iter().fold(properties, |properties, (path, is_number)| {
            properties.set_column_dictionary_enabled(ColumnPath::new(path), !is_number)
        });
        let options = ArrowWriterOptions::new().with_properties(properties.build());
        let options = match variants(schema) {
            Some(described) => options.with_parquet_schema(written(described)),
            None => options,
        };
        let writer = ArrowWriter::try_new_with_options(output, Arc::clone(schema), options);
        Self {
            writer: written(writer),
            rows,
            bytes: row_group_bytes(),
            kept: columns * KEPT,
            unasked: 0,
            compressors: match compression {
                Compression::ZSTD(_) => columns * ZSTD,
                _ => 0,
            },
        }
    }

    /// Row group by row group, as a batch may be of very many.
    fn write(&mut self, batch: &RecordBatch) {
        let mut next = 0;
        while next < batch.num_rows() {
            let begun = self.writer.in_progress_rows();
            if begun == 0 {
                self.begin();
            }
            let count = (self.rows - begun).min(batch.num_rows() - next);
            written(self.writer.write(&batch.slice(next, count)));
            next += count;
        }
        if self.writer.memory_size() >= self.bytes {
            written(self.writer.flush());
        }
    }

    fn finish(&mut self) {
        written(self.writer.finish());
        // What has been kept to be written together.
        if let Err(error) = self.writer.sync() {
            written::<()>(Err(error.into()));
        }
    }

    /// Another row group comes.
    fn begin(&mut self) {
        crate::memory::check_for_interrupts();
        self.unasked += self.kept;
        crate::memory::ask(self.compressors + self.unasked, "a row group");
        if self.unasked >= amax_memory::SMALL {
            self.unasked = 0;
        }
        if self.writer.flushed_row_groups().len() == MOST_GROUPS {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!("a Parquet file has {MOST_GROUPS} row groups at most"),
                None,
                Some("Give a larger ROW_GROUP_SIZE, or write several files.".into()),
            );
        }
    }
}

/// Parquet's schema where it says of columns that they are variants, which its writer does not know from Arrow's.
fn variants(schema: &Schema) -> Option<Result<SchemaDescriptor, ParquetError>> {
    let is_variant = |field: &Field| field.extension_type_name() == Some(VARIANT);
    if !schema.fields().iter().any(|field| is_variant(field)) {
        return None;
    }
    let described = || {
        let plain = ArrowSchemaConverter::new().convert(schema)?;
        let nodes = plain.root_schema().get_fields().iter().zip(schema.fields());
        let nodes = nodes.map(|(node, field)| {
            if !is_variant(field) {
                return Ok(Arc::clone(node));
            }
            let group = Type::group_type_builder(node.name())
                .with_repetition(node.get_basic_info().repetition())
                .with_logical_type(Some(LogicalType::variant(None)))
                .with_fields(node.get_fields().to_vec());
            Ok(Arc::new(group.build()?))
        });
        let root = Type::group_type_builder(plain.root_schema().name());
        let root = root.with_fields(nodes.collect::<Result<_, ParquetError>>()?).build()?;
        Ok(SchemaDescriptor::new(Arc::new(root)))
    };
    Some(described())
}

/// Adds the paths of the columns that Parquet makes of a field, and whether they are numbers.
fn add_leaves(field: &Field, above: &[String], leaves: &mut Vec<(Vec<String>, bool)>) {
    let mut path = above.to_vec();
    path.push(field.name().clone());
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|field| add_leaves(field, &path, leaves)),
        DataType::List(item) => {
            path.push("list".to_owned());
            add_leaves(item, &path, leaves);
        }
        leaf => leaves.push((path, leaf.is_primitive())),
    }
}

/// What parquet has done, or its error: values were checked before, so this is a fault of ours, or a lack of memory.
fn written<T>(result: Result<T, ParquetError>) -> T {
    let error = match result {
        Ok(done) => return done,
        Err(error) => error.to_string(),
    };
    if error.contains("not enough memory") {
        fail(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory");
    }
    raise(
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        "could not encode a Parquet row group",
        Some(format!("{}.", error.trim_end_matches('.'))),
        None,
    )
}
