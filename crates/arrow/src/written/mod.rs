//! Parquet as it goes out: columns of batches as row groups of a file.
//!
//! Columns of whole numbers, and of texts that come as dictionaries, are kept until their row group is whole, and encoded here: what parquet's
//! writers do of these takes longer than all else. All other columns are theirs.

mod numbers;
mod pages;
mod texts;
mod whole;

use std::io::Write;
use std::sync::Arc;

use amax_format::Compression;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::basic::Type;
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnDescPtr;

/// What an array takes besides its values.
const ARRAY: usize = 256;

/// A file whose last row group is still in memory.
pub struct ParquetFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    factory: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    compression: Compression,
    /// Of the row group, if it has rows.
    columns: Vec<Column>,
    rows: usize,
}

/// A column of a row group.
struct Column {
    field: FieldRef,
    /// The first of its leaves.
    descriptor: ColumnDescPtr,
    /// What has been kept of it; None if parquet's writers have it.
    kept: Option<Vec<ArrayRef>>,
    /// Bytes that take.
    size: usize,
    /// A writer for each of its leaves.
    writers: Vec<ArrowColumnWriter>,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file. `compression` is that of the options, and is done without where it saves nothing.
    ///
    /// # Errors
    /// Parquet has no such type, or the output fails; as all below.
    pub fn new(
        output: W,
        schema: SchemaRef,
        options: ArrowWriterOptions,
        compression: Compression,
    ) -> Result<Self, ParquetError> {
        let writer = ArrowWriter::try_new_with_options(output, Arc::clone(&schema), options)?;
        let (writer, factory) = writer.into_serialized_writer()?;
        Ok(Self {
            writer,
            factory,
            schema,
            compression,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// Adds rows to the row group: an array for each column. Texts may be dictionaries, whatever the schema says.
    pub fn write(&mut self, arrays: &[ArrayRef]) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.begun()?;
        }
        for (column, array) in self.columns.iter_mut().zip(arrays) {
            column.add(array)?;
        }
        self.rows += arrays.first().map_or(0, |array| array.len());
        Ok(())
    }

    /// Rows of the row group.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Row groups that are written.
    pub fn row_groups(&self) -> usize {
        self.writer.flushed_row_groups().len()
    }

    /// Bytes that the row group takes.
    pub fn memory_size(&self) -> usize {
        self.columns.iter().map(Column::memory_size).sum()
    }

    /// Ends the row group.
    pub fn flush(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        self.rows = 0;
        let mut group = self.writer.next_row_group()?;
        for column in std::mem::take(&mut self.columns) {
            column.append(self.compression, &mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the row group, and the file.
    pub fn finish(&mut self) -> Result<(), ParquetError> {
        self.flush()?;
        self.writer.finish()?;
        // What has been kept to be written together.
        self.writer.flush()?;
        Ok(())
    }

    pub fn output(&mut self) -> &mut W {
        self.writer.inner_mut()
    }

    fn begun(&self) -> Result<Vec<Column>, ParquetError> {
        let mut writers = self.factory.create_column_writers(self.row_groups())?.into_iter();
        let mut descriptors = self.writer.schema_descr().columns().iter();
        let columns = self.schema.fields().iter().map(|field| {
            let leaves = leaves(field.data_type());
            let descriptor = descriptors.next().expect("a column has a leaf").clone();
            descriptors.by_ref().take(leaves - 1).for_each(drop);
            let is_ours = whole::is_whole(field.data_type()) || *field.data_type() == DataType::Utf8;
            Column {
                field: Arc::clone(field),
                descriptor,
                kept: is_ours.then(Vec::new),
                size: 0,
                writers: writers.by_ref().take(leaves).collect(),
            }
        });
        Ok(columns.collect())
    }
}

impl Column {
    fn add(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        if let Some(kept) = &mut self.kept {
            if *array.data_type() != DataType::Utf8 {
                kept.push(Arc::clone(array));
                self.size += ARRAY + array.get_buffer_memory_size();
                return Ok(());
            }
            self.hand_over()?;
        }
        self.write(array)
    }

    /// Has parquet's writers write it, with what has been kept.
    fn hand_over(&mut self) -> Result<(), ParquetError> {
        let kept = self.kept.take().unwrap_or_default();
        kept.iter().try_for_each(|array| self.write(array))
    }

    fn write(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        let leaves = compute_leaves(&self.field, array)?;
        self.writers
            .iter_mut()
            .zip(&leaves)
            .try_for_each(|(writer, leaf)| writer.write(leaf))
    }

    fn memory_size(&self) -> usize {
        match &self.kept {
            Some(_) => self.size,
            None => self.writers.iter().map(ArrowColumnWriter::memory_size).sum(),
        }
    }

    /// Writes it behind the other columns of its row group.
    fn append<W: Write + Send>(
        mut self,
        compression: Compression,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        if let Some(kept) = &self.kept {
            // All values, which of a dictionary's each is, pages, and these together.
            amax_memory::ask(4 * self.size, "a row group").map_err(|error| ParquetError::External(Box::new(error)))?;
            let stored = match self.descriptor.physical_type() {
                Type::INT32 => Some(numbers::pages::<i32>(&self.descriptor, kept, compression)?.stored(compression)?),
                Type::INT64 => Some(numbers::pages::<i64>(&self.descriptor, kept, compression)?.stored(compression)?),
                _ => texts::pages(&self.descriptor, kept)
                    .map(|pages| pages.stored(compression))
                    .transpose()?,
            };
            match stored {
                Some((bytes, closed)) => return group.append_column(&bytes, closed),
                None => self.hand_over()?,
            }
        }
        self.writers
            .into_iter()
            .try_for_each(|writer| writer.close()?.append_to_row_group(group))
    }
}

/// How many columns Parquet makes of a type.
fn leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item) => leaves(item.data_type()),
        _ => 1,
    }
}
