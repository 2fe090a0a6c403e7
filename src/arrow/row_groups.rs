//! How columns become row groups of a Parquet file.

use std::io::Write;
use std::sync::Arc;

use amax_arrow::{ParquetFile, VARIANT};
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, LogicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, Type};
use pgrx::PgSqlErrorCode;

use super::error::{fail, raise};
use super::guc::row_group_bytes;

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
    file: ParquetFile<W>,
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

impl<W: Write + Send> RowGroups<W> {
    pub fn new(compression: Option<Compression>, rows: usize, output: W, schema: &Arc<Schema>) -> Self {
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
        let ours = match compression {
            Compression::SNAPPY => amax_format::Compression::Snappy,
            Compression::ZSTD(level) => amax_format::Compression::Zstd(level.compression_level()),
            _ => amax_format::Compression::None,
        };
        Self {
            file: written(ParquetFile::new(output, Arc::clone(schema), options, ours)),
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
    pub fn write(&mut self, columns: &[ArrayRef], rows: usize) {
        let mut next = 0;
        while next < rows {
            if self.file.rows() == 0 {
                self.begin();
            }
            let count = (self.rows - self.file.rows()).min(rows - next);
            let part: Vec<ArrayRef> = columns.iter().map(|column| column.slice(next, count)).collect();
            written(self.file.write(&part));
            next += count;
            if self.file.rows() == self.rows {
                written(self.file.flush());
            }
        }
        if self.file.memory_size() >= self.bytes {
            written(self.file.flush());
        }
    }

    pub fn finish(&mut self) {
        written(self.file.finish());
    }

    pub fn output(&mut self) -> &mut W {
        self.file.output()
    }

    /// Another row group comes.
    fn begin(&mut self) {
        crate::memory::check_for_interrupts();
        self.unasked += self.kept;
        crate::memory::ask(self.compressors + self.unasked, "a row group");
        if self.unasked >= amax_memory::SMALL {
            self.unasked = 0;
        }
        if self.file.row_groups() == MOST_GROUPS {
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
    if error.contains("not enough memory") || error.contains("out of memory") {
        fail(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY, "out of memory");
    }
    raise(
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
        "could not encode a Parquet row group",
        Some(format!("{}.", error.trim_end_matches('.'))),
        None,
    )
}
