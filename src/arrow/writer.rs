//! How batches are framed: as messages of Arrow IPC, in a stream or a file, or as a Parquet file.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{Schema, SchemaRef};
use parquet::basic::Compression;

use super::error::raise_arrow;
use super::row_groups::RowGroups;

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

    /// Writes rows, which may be without columns, when what is before them has reached who reads it. Parquet takes texts as dictionaries,
    /// whatever the schema says.
    pub fn write(&mut self, schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) {
        let written = match self {
            Self::Stream(writer) => writer
                .flush()
                .and_then(|()| writer.write(&batch(schema, columns, rows))),
            Self::File(writer) => writer
                .flush()
                .and_then(|()| writer.write(&batch(schema, columns, rows))),
            Self::Parquet(groups) => return groups.write(&columns, rows),
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
            Self::Parquet(groups) => groups.output(),
        }
    }
}

/// Columns as a batch. The row count is given because a result may have rows and no columns.
pub fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options);
    batch.unwrap_or_else(|error| raise_arrow(error))
}
