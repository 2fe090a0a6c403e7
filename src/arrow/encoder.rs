//! Rows in, Arrow IPC out: collects datums into columns and writes a record batch when it is full.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use pgrx::pg_sys;

use super::error::raise_arrow;
use super::guc::Limits;
use super::receiver::RowSink;
use super::tupdesc::attributes;
use super::types::{self, Column};

/// How IPC messages are framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// Schema, record batches, end-of-stream marker.
    Stream,
    /// The same between magic bytes, with a footer that lists the batches (`.arrow`, Feather V2).
    File,
}

enum Writer<W: Write> {
    Stream(StreamWriter<W>),
    File(FileWriter<W>),
}

/// The columns of a result, ready to take rows; split from [`Encoder`] so that type errors come before any output.
pub struct Columns {
    columns: Vec<Box<dyn Column>>,
    names: Vec<String>,
    schema: SchemaRef,
}

impl Columns {
    /// Builds a column for each attribute listed in `desc`, or raises the error that names the column.
    ///
    /// # Safety
    /// `desc` is a valid tuple descriptor without dropped attributes; CurrentMemoryContext outlives the columns.
    pub unsafe fn new(desc: pg_sys::TupleDesc) -> Self {
        let attributes = attributes(desc);
        let mut columns = Vec::with_capacity(attributes.len());
        let mut names = Vec::with_capacity(attributes.len());
        let mut fields = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let name = types::to_utf8_lossy(attribute.attname.data.as_ptr());
            match types::column(attribute.atttypid, attribute.atttypmod) {
                Ok(typed) => {
                    fields.push(typed.field(&name));
                    columns.push(typed.column);
                }
                Err(problem) => problem.raise_column(&name),
            }
            names.push(name);
        }
        Self {
            columns,
            names,
            schema: Arc::new(Schema::new(fields)),
        }
    }
}

/// Turns rows into an IPC stream or file on `W`.
pub struct Encoder<W: Write> {
    columns: Vec<Box<dyn Column>>,
    names: Vec<String>,
    schema: SchemaRef,
    writer: Writer<W>,
    limits: Limits,
    batch_rows: usize,
    batch_bytes: usize,
    total_rows: u64,
}

impl<W: Write> Encoder<W> {
    /// Starts the output: writes the schema message.
    pub fn new(columns: Columns, output: W, framing: Framing, limits: Limits) -> Self {
        let Columns { columns, names, schema } = columns;
        let writer = match framing {
            Framing::Stream => StreamWriter::try_new(output, &schema).map(Writer::Stream),
            Framing::File => FileWriter::try_new(output, &schema).map(Writer::File),
        }
        .unwrap_or_else(|error| raise_arrow(error));
        Self {
            columns,
            names,
            schema,
            writer,
            limits,
            batch_rows: 0,
            batch_bytes: 0,
            total_rows: 0,
        }
    }

    /// Rows taken so far, over all batches.
    pub fn total_rows(&self) -> u64 {
        self.total_rows
    }

    /// Writes the rows collected since the last batch, if there are any.
    pub fn flush(&mut self) {
        if self.batch_rows == 0 {
            return;
        }
        crate::memory::ask(2 * self.batch_bytes, "a record batch");
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(|column| column.finish()).collect();
        // The row count is given because a result may have rows and no columns.
        let options = RecordBatchOptions::new().with_row_count(Some(self.batch_rows));
        self.batch_rows = 0;
        self.batch_bytes = 0;
        self.try_write(arrays, &options)
            .unwrap_or_else(|error| raise_arrow(error));
    }

    fn try_write(&mut self, arrays: Vec<ArrayRef>, options: &RecordBatchOptions) -> Result<(), ArrowError> {
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, options)?;
        match &mut self.writer {
            Writer::Stream(writer) => writer.write(&batch),
            Writer::File(writer) => writer.write(&batch),
        }
    }

    /// Writes what is left and the end of the stream or the file's footer.
    pub fn finish(&mut self) {
        self.flush();
        match &mut self.writer {
            Writer::Stream(writer) => writer.finish(),
            Writer::File(writer) => writer.finish(),
        }
        .unwrap_or_else(|error| raise_arrow(error));
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        match &mut self.writer {
            Writer::Stream(writer) => writer.get_mut(),
            Writer::File(writer) => writer.get_mut(),
        }
    }
}

impl<W: Write> RowSink for Encoder<W> {
    /// Takes one row. True when the batch has met a limit and should be flushed.
    unsafe fn push(&mut self, values: *const pg_sys::Datum, nulls: *const bool) -> bool {
        self.total_rows += 1;
        for (i, column) in self.columns.iter_mut().enumerate() {
            if *nulls.add(i) {
                column.append_null();
                self.batch_bytes += 1;
            } else {
                match column.append(*values.add(i)) {
                    Ok(bytes) => self.batch_bytes += bytes,
                    Err(problem) => problem.raise_value(&self.names[i], self.total_rows),
                }
            }
        }
        self.batch_rows += 1;
        self.batch_rows >= self.limits.rows || self.batch_bytes >= self.limits.bytes
    }

    fn batch(&mut self) {
        self.flush();
    }
}
