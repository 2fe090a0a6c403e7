//! Rows in, batches out: collects datums into columns and has a record batch written when it is full.

use std::io::Write;
use std::sync::Arc;

use amax_arrow::Mixed;
use amax_exec::Vector;
use arrow_array::ArrayRef;
use arrow_schema::{Schema, SchemaRef};
use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::raise;
use super::format::Format;
use super::guc::Limits;
use super::options::{Json, Shapes};
use super::receiver::RowSink;
use super::scope::Scope;
use super::spool::Spool;
use super::types::{self, Column, Layout, Value};
use super::writer::{Framing, Writer, batch};
use crate::encoding;
use crate::pg::tupdesc::name_bytes;
use crate::pg::{TupleDesc, Values};

/// The columns of a result, ready to take rows; split from [`Encoder`] so that type errors come before any output.
pub struct Columns<'a> {
    columns: Vec<One<'a>>,
    schema: SchemaRef,
    format: Format,
    /// Those of documents that become columns, and what they have of mixed kinds.
    documents: Vec<usize>,
    mixed: Mixed,
}

struct One<'a> {
    name: String,
    sql_type: pg_sys::Oid,
    layout: Layout,
    column: Box<dyn Column + 'a>,
}

impl<'a> Columns<'a> {
    /// Builds a column for each attribute listed in `desc`, none of which is dropped, or raises the error that names the
    /// column.
    pub fn new(desc: &TupleDesc, format: Format, asked: Shapes, scope: Scope<'a>) -> Self {
        if format == Format::Parquet && desc.natts() == 0 {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "rows without columns cannot be represented in Parquet",
                Some("A Parquet file has as many rows as its columns have values.".into()),
                None,
            );
        }
        let mut columns = Vec::with_capacity(desc.natts());
        let mut fields = Vec::with_capacity(desc.natts());
        let mut documents = Vec::new();
        for attribute in desc.attributes() {
            let name = encoding::shown(name_bytes(attribute).to_bytes()).into_owned();
            let sql_type = attribute.atttypid;
            let document = match asked.json {
                Json::Struct => types::documents(sql_type, attribute.atttypmod),
                Json::Variant => types::variant(sql_type, attribute.atttypmod),
                Json::Text => None,
            };
            if document.is_some() && asked.json == Json::Struct {
                documents.push(columns.len());
            }
            let dictionary = || {
                asked
                    .dictionaries
                    .then(|| types::dictionary(sql_type, attribute.atttypmod, scope))
            };
            // What waits in a spool is as the schema says.
            let either = || {
                (format == Format::Parquet && asked.json != Json::Struct)
                    .then(|| types::either(sql_type, attribute.atttypmod))
            };
            let typed = document
                .or_else(|| dictionary().flatten())
                .or_else(|| either().flatten());
            let typed = typed.unwrap_or_else(|| {
                types::column(sql_type, attribute.atttypmod, format, scope)
                    .unwrap_or_else(|problem| problem.raise_column(&name, format))
            });
            fields.push(typed.field(&name));
            columns.push(One {
                name,
                sql_type,
                layout: Layout::of(attribute),
                column: typed.column,
            });
        }
        Self {
            columns,
            schema: Arc::new(Schema::new(fields)),
            format,
            documents,
            mixed: asked.mixed,
        }
    }
}

/// Where batches go.
enum Sink<W: Write + Send> {
    Now(Box<Writer<W>>),
    /// When all rows are known.
    Later(Box<Spool<W>>),
}

/// Turns rows into a stream or a file on `W`.
pub struct Encoder<'a, W: Write + Send> {
    columns: Vec<One<'a>>,
    schema: SchemaRef,
    format: Format,
    sink: Sink<W>,
    limits: Limits,
    /// Of a batch's bytes, what it takes to write it.
    times: usize,
    batch_rows: usize,
    batch_bytes: usize,
    total_rows: u64,
}

impl<'a, W: Write + Send> Encoder<'a, W> {
    /// Starts the output.
    pub fn new(columns: Columns<'a>, output: W, framing: Framing, limits: Limits) -> Self {
        let Columns {
            columns,
            schema,
            format,
            documents,
            mixed,
        } = columns;
        let sink = match documents.is_empty() {
            true => Sink::Now(Box::new(Writer::new(framing, output, &schema))),
            false => Sink::Later(Box::new(Spool::new(
                framing,
                limits,
                schema.clone(),
                &documents,
                mixed,
                output,
            ))),
        };
        Self {
            sink,
            columns,
            schema,
            format,
            limits,
            times: framing.times(),
            batch_rows: 0,
            batch_bytes: 0,
            total_rows: 0,
        }
    }

    /// Rows that the batch may still take.
    pub fn rows_left(&self) -> usize {
        self.limits.rows - self.batch_rows
    }

    /// Bytes that the batch may still take.
    pub fn bytes_left(&self) -> usize {
        self.limits.bytes.saturating_sub(self.batch_bytes)
    }

    /// Gives column `at` the value of a row, the `ahead`th of those that [`Encoder::end_rows`] will tell of.
    pub fn put(&mut self, at: usize, datum: Option<pg_sys::Datum>, ahead: usize) {
        let one = &mut self.columns[at];
        let Some(datum) = datum else {
            one.column.append_null();
            self.batch_bytes += 1;
            return;
        };
        // SAFETY: a row has the columns that the encoder was made for.
        let value = unsafe { Value::of(datum, one.layout) };
        match one.column.append(value) {
            Ok(bytes) => self.batch_bytes += bytes,
            Err(problem) => problem.raise_value(&one.name, self.total_rows + ahead as u64 + 1, self.format),
        }
    }

    /// Gives column `at` the first values of a vector.
    pub fn put_all(&mut self, at: usize, values: &Vector<'_>, rows: usize) {
        let one = &mut self.columns[at];
        match one.column.append_all(values, rows) {
            Ok(bytes) => self.batch_bytes += bytes,
            Err((row, problem)) => problem.raise_value(&one.name, self.total_rows + row as u64 + 1, self.format),
        }
    }

    /// All columns have been given so many rows more. True when the batch has met a limit and should be flushed.
    pub fn end_rows(&mut self, rows: usize) -> bool {
        self.total_rows += rows as u64;
        self.batch_rows += rows;
        self.is_full()
    }

    fn is_full(&self) -> bool {
        self.batch_rows >= self.limits.rows || self.batch_bytes >= self.limits.bytes
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
        crate::memory::ask(self.times * self.batch_bytes, "a record batch");
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(|one| one.column.finish()).collect();
        let rows = std::mem::take(&mut self.batch_rows);
        self.batch_bytes = 0;
        match &mut self.sink {
            Sink::Now(writer) => writer.write(&self.schema, arrays, rows),
            Sink::Later(spool) => spool.write(&batch(&self.schema, arrays, rows)),
        }
        crate::memory::check_for_interrupts();
    }

    /// Writes what is left and the end.
    pub fn finish(&mut self) {
        self.flush();
        match &mut self.sink {
            Sink::Now(writer) => writer.finish(),
            Sink::Later(spool) => spool.finish(),
        }
    }

    /// The batches, if they wait for the last row.
    pub fn spool(&mut self) -> Option<&mut Spool<W>> {
        match &mut self.sink {
            Sink::Now(_) => None,
            Sink::Later(spool) => Some(spool),
        }
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        match &mut self.sink {
            Sink::Now(writer) => writer.output(),
            Sink::Later(spool) => spool.output(),
        }
    }
}

impl<W: Write + Send> RowSink for Encoder<'_, W> {
    fn begin(&mut self, desc: &TupleDesc) {
        let types = desc.attributes().map(|attribute| attribute.atttypid);
        assert!(
            types.eq(self.columns.iter().map(|one| one.sql_type)),
            "rows of these columns"
        );
    }

    /// Takes one row. True when the batch has met a limit and should be flushed.
    fn push(&mut self, row: Values) -> bool {
        for at in 0..self.columns.len() {
            self.put(at, row.get(at), 0);
        }
        self.end_rows(1)
    }

    fn batch(&mut self) {
        self.flush();
    }
}
