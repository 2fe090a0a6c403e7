//! Batches of documents that are to be columns: they wait in a temporary file until all have been seen, as the schema comes first.
//!
//! The query runs once, so that what is volatile in it, or changes rows, does no harm; memory is a batch's in both passes. A batch that
//! grows with the places that its documents do not have leaves in several.

use std::io::Write;
use std::sync::Arc;

use amax_arrow::{Inference, Mixed, Nested, Nulls};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema, SchemaRef};
use pgrx::PgSqlErrorCode;

use super::error::{raise, raise_arrow};
use super::guc::Limits;
use super::temporary::Temporary;
use super::writer::{Framing, Writer};

pub struct Spool<W: Write + Send> {
    stage: Stage<W>,
    framing: Framing,
    limits: Limits,
    nulls: Nulls,
    /// Documents are binary columns.
    schema: SchemaRef,
    /// The most bytes that a batch has.
    largest: usize,
}

enum Stage<W: Write + Send> {
    Seeing {
        batches: Box<StreamWriter<Temporary>>,
        /// By the number of the column.
        documents: Vec<(usize, Inference)>,
        output: W,
    },
    Giving {
        batches: Box<StreamReader<Temporary>>,
        documents: Vec<(usize, Nested)>,
        schema: SchemaRef,
        writer: Box<Writer<W>>,
        /// A batch of which some rows are written.
        rest: Option<(RecordBatch, usize)>,
    },
    /// Between the two, and where there was an error between them.
    Neither,
}

impl<W: Write + Send> Spool<W> {
    /// Of batches of the schema, whose columns of these numbers are documents.
    pub fn new(
        framing: Framing,
        limits: Limits,
        schema: SchemaRef,
        documents: &[usize],
        mixed: Mixed,
        output: W,
    ) -> Self {
        let batches = StreamWriter::try_new(Temporary::new(), &schema).unwrap_or_else(|error| raise_arrow(error));
        let stage = Stage::Seeing {
            batches: Box::new(batches),
            documents: documents.iter().map(|&at| (at, Inference::new(mixed))).collect(),
            output,
        };
        Self {
            stage,
            framing,
            limits,
            nulls: match framing {
                // Its null type is an extension that few read.
                Framing::Parquet { .. } => Nulls::String,
                Framing::Stream(_) | Framing::File(_) => Nulls::Null,
            },
            schema,
            largest: 0,
        }
    }

    /// Takes a batch.
    pub fn write(&mut self, batch: &RecordBatch) {
        let Stage::Seeing { batches, documents, .. } = &mut self.stage else {
            unreachable!("what has been seen is all there is")
        };
        for (at, inference) in documents {
            for document in batch.column(*at).as_binary::<i32>().iter().flatten() {
                crate::memory::check_for_interrupts();
                made(inference.see(document, &mut crate::memory::check_for_interrupts));
            }
        }
        self.largest = self.largest.max(batch.get_array_memory_size());
        batches.write(batch).unwrap_or_else(|error| raise_arrow(error));
    }

    /// No more batches come: the schema is known, and begins the output.
    pub fn turn(&mut self) {
        let Stage::Seeing {
            mut batches,
            documents,
            output,
        } = std::mem::replace(&mut self.stage, Stage::Neither)
        else {
            unreachable!("there is one turn")
        };
        batches.finish().unwrap_or_else(|error| raise_arrow(error));
        let mut file = batches.into_inner().unwrap_or_else(|error| raise_arrow(error));
        file.seek(0);

        let mut fields: Vec<Field> = self
            .schema
            .fields()
            .iter()
            .map(|field| field.as_ref().clone())
            .collect();
        let mut columns = Vec::with_capacity(documents.len());
        for (at, inference) in documents {
            let kind = inference.kind(self.nulls);
            let mut field = kind.field(fields[at].name());
            field.metadata_mut().extend(fields[at].metadata().clone());
            fields[at] = field;
            columns.push((at, Nested::new(&kind)));
        }
        let schema = Arc::new(Schema::new(fields));
        let batches = StreamReader::try_new(file, None).unwrap_or_else(|error| raise_arrow(error));
        self.stage = Stage::Giving {
            batches: Box::new(batches),
            documents: columns,
            writer: Box::new(Writer::new(self.framing, output, &schema)),
            schema,
            rest: None,
        };
    }

    /// Writes the next batch, if there is one.
    pub fn give(&mut self) -> bool {
        let Stage::Giving {
            batches,
            documents,
            schema,
            writer,
            rest,
        } = &mut self.stage
        else {
            unreachable!("what is not known to be all is not given")
        };
        let (batch, from) = match rest.take() {
            Some(rest) => rest,
            None => {
                // As a message, and as arrays.
                crate::memory::ask(2 * self.largest, "a record batch");
                match batches.next() {
                    Some(batch) => (batch.unwrap_or_else(|error| raise_arrow(error)), 0),
                    None => {
                        batches.get_mut().close();
                        return false;
                    }
                }
            }
        };
        let (mut to, mut bytes) = (from, 0);
        while to < batch.num_rows() && (to == from || bytes < self.limits.bytes) {
            crate::memory::check_for_interrupts();
            for (at, nested) in documents.iter_mut() {
                bytes += made(nested.append(document(batch.column(*at), to)));
            }
            to += 1;
        }
        crate::memory::ask(self.framing.times() * (bytes + self.largest), "a record batch");
        let slices = batch.columns().iter().map(|column| column.slice(from, to - from));
        let mut columns: Vec<ArrayRef> = slices.collect();
        for (at, nested) in documents {
            columns[*at] = made(nested.finish());
        }
        writer.write(schema, columns, to - from);
        if to < batch.num_rows() {
            *rest = Some((batch, to));
        }
        crate::memory::check_for_interrupts();
        true
    }

    /// Writes what is left of the batches, and the end.
    pub fn finish(&mut self) {
        if matches!(self.stage, Stage::Seeing { .. }) {
            self.turn();
        }
        while self.give() {}
        if let Stage::Giving { writer, .. } = &mut self.stage {
            writer.finish();
        }
    }

    /// Nobody wants more of it.
    pub fn close(&mut self) {
        match &mut self.stage {
            Stage::Seeing { batches, .. } => batches.get_mut().close(),
            Stage::Giving { batches, .. } => batches.get_mut().close(),
            Stage::Neither => {}
        }
    }

    pub fn output(&mut self) -> &mut W {
        match &mut self.stage {
            Stage::Seeing { output, .. } => output,
            Stage::Giving { writer, .. } => writer.output(),
            Stage::Neither => unreachable!("after an error nobody asks"),
        }
    }
}

fn document(column: &ArrayRef, row: usize) -> Option<&[u8]> {
    let documents: &BinaryArray = column.as_binary();
    documents.is_valid(row).then(|| documents.value(row))
}

/// What has been made of documents, or the error.
fn made<T>(result: Result<T, amax_jsonb::Error>) -> T {
    let error = match result {
        Ok(made) => return made,
        Err(amax_jsonb::Error::OutOfMemory(error)) => crate::memory::raise(error),
        Err(error) => error,
    };
    let (code, hint) = match error {
        amax_jsonb::Error::TextTooLong => (
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            Some("Lower amax.arrow_batch_size, or select parts of the documents.".to_owned()),
        ),
        _ => (PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, None),
    };
    raise(
        code,
        "could not make columns of a document",
        Some(format!("{error}.")),
        hint,
    )
}
