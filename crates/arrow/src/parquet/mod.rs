//! Parquet as it comes in: a file, however damaged, as record batches.
//!
//! What a file says of itself is not trusted: how large a page is, and how many values it has, is asked for before it is taken; what
//! parquet's readers find out, or panic at, is damage.

mod codec;
mod delta;
mod failure;
mod hint;
mod input;
mod layout;
mod pages;
mod schema;
mod shown;
mod thrift;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::basic::{Encoding, Type};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};

use crate::batches::Batches;
use crate::error::Error;
use failure::{checked, explained};
pub use input::ReadAt;
use input::WHAT;
use layout::DEEPEST;
use pages::{Chunks, Group, rows_of};
use schema::{Columns, Reading};
use thrift::Wrong;

const MARK: &[u8; 4] = b"PAR1";
/// Of a file whose footer is encrypted.
const ENCRYPTED: &[u8; 4] = b"PARE";
/// The length of the footer, and the mark.
const TAIL: usize = 8;
/// A batch has so many rows at most, and about so many bytes.
const ROWS: usize = 8192;
const BYTES: usize = 16 << 20;
/// What a value takes at least: where it is, and whether it is one.
const VALUE: usize = 16;
/// Bytes of texts and byte strings that are looked at together, of several rows: a dictionary has them once, and rows many times.
const LOOKED_AT: u64 = 64 << 20;
/// What reads a column: tables and buffers of its decoders.
const READER: usize = 12 << 10;

/// The record batches of a file.
pub struct Parquet<R> {
    chunks: Arc<Chunks<R>>,
    metadata: ParquetMetaData,
    columns: Columns,
    /// What is wanted of them.
    reading: Option<Reading>,
    /// The row group that is read, and what is left of it.
    reader: Option<(ParquetRecordBatchReader, usize)>,
    /// What has been read, but not handed out.
    ahead: Option<RecordBatch>,
    next_group: usize,
}

impl<R: ReadAt> Parquet<R> {
    /// Reads the footer.
    ///
    /// # Errors
    /// It is none, or it contradicts itself.
    pub fn open(input: R) -> Result<Self, Error> {
        let chunks = Chunks::new(input);
        let footer = footer(&chunks)?;
        let memory = layout::memory_of(&footer).map_err(|wrong| match wrong {
            Wrong::Deep => Error::Unsupported(format!("Its schema has groups within more than {DEEPEST} groups.")),
            Wrong::Ends | Wrong::Malformed => damaged("Its footer is malformed."),
        })?;
        amax_memory::ask(memory.min(isize::MAX as usize), WHAT)?;
        let metadata = checked(&chunks, || Ok(ParquetMetaDataReader::decode_metadata(&footer)?))?;
        let file = metadata.file_metadata();
        let columns = checked(&chunks, || {
            let pause = || chunks.input.pause();
            Ok(Columns::of(file, hint::of(file)?.as_ref(), &pause))
        })?;
        let rows = metadata.row_groups().iter().try_fold(0_i64, |sum, group| {
            sum.checked_add(group.num_rows()).filter(|_| group.num_rows() >= 0)
        });
        if rows != Some(file.num_rows()) {
            return Err(damaged("Its row groups have other rows than its footer says."));
        }
        Ok(Self {
            chunks: Arc::new(chunks),
            metadata,
            columns,
            reading: None,
            reader: None,
            ahead: None,
            next_group: 0,
        })
    }

    /// Begins the next row group. False behind the last.
    fn next_group(&mut self, columns: &[usize]) -> Result<bool, Error> {
        if self.next_group == self.metadata.num_row_groups() {
            return Ok(false);
        }
        self.chunks.input.pause();
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => none.insert(checked(&self.chunks, || Ok(self.columns.reading(columns)?))?),
        };
        let row_group = self.metadata.row_group(self.next_group);
        let group = Group {
            chunks: &self.chunks,
            metadata: &self.metadata,
            number: self.next_group,
            leaves: &reading.leaves,
            at_once: rows_at_once(row_group, &reading.leaves)?,
        };
        self.next_group += 1;
        let reader = checked(&self.chunks, || {
            let levels = &reading.levels;
            Ok(ParquetRecordBatchReader::try_new_with_row_groups(
                levels,
                &group,
                group.at_once,
                None,
            )?)
        })?;
        self.reader = Some((reader, rows_of(row_group)));
        Ok(true)
    }
}

/// How many rows are read together: as many as take about so many bytes as a batch may have. An error if a column cannot be read.
fn rows_at_once(group: &RowGroupMetaData, leaves: &[usize]) -> Result<usize, Error> {
    let bytes_of = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
    let (mut bytes, mut fixed) = (0_u64, 0_usize);
    for &leaf in leaves {
        let column = group.column(leaf);
        if !codec::is_known(column.compression()) {
            let name = column.column_path().string();
            let codec = format!("{:?}", column.compression());
            let codec = codec.split('(').next().unwrap_or_default();
            return Err(Error::Unsupported(format!(
                "Column \"{name}\" is compressed with {codec}; zstd, snappy, gzip and lz4 are read."
            )));
        }
        bytes = bytes.saturating_add(bytes_of(column.uncompressed_size()));
        if column.encodings_mask().is_set(Encoding::DELTA_BYTE_ARRAY) {
            // Its values share bytes in their pages, but not in a batch.
            let apart = column.unencoded_byte_array_data_bytes();
            bytes = bytes.saturating_add(apart.map_or(0, bytes_of));
        }
        if column.column_type() == Type::FIXED_LEN_BYTE_ARRAY {
            let length = column.column_descr().type_length();
            fixed = fixed.saturating_add(usize::try_from(length).unwrap_or(0));
        }
    }
    let each = bytes / u64::try_from(rows_of(group)).unwrap_or(u64::MAX).max(1);
    let values = VALUE.saturating_mul(leaves.len());
    let width = usize::try_from(each)
        .unwrap_or(usize::MAX)
        .max(fixed)
        .saturating_add(values)
        .max(1);
    let at_once = (BYTES / width).clamp(1, ROWS);
    let readers = READER.saturating_mul(leaves.len());
    let memory = width.saturating_mul(at_once).saturating_add(readers);
    amax_memory::ask(memory.min(isize::MAX as usize), WHAT)?;
    Ok(at_once)
}

impl<R: ReadAt> Batches for Parquet<R> {
    fn schema(&self) -> &SchemaRef {
        self.columns.schema()
    }

    /// What the columns do not need is not read.
    fn next(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>, Error> {
        let batch = match self.ahead.take() {
            Some(batch) => batch,
            None => match self.read(columns)? {
                Some(batch) => batch,
                None => return Ok(None),
            },
        };
        let (batch, ahead) = shown::divided(batch, LOOKED_AT);
        self.ahead = ahead;
        let Some(reading) = &self.reading else {
            unreachable!("it has been read")
        };
        checked(&self.chunks, || {
            let pause = || self.chunks.input.pause();
            Ok(shown::shown(&batch, &reading.schema, &pause)?)
        })
        .map(Some)
    }
}

impl<R: ReadAt> Parquet<R> {
    /// The next rows, as they are read.
    fn read(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>, Error> {
        loop {
            amax_memory::check(WHAT)?;
            let Some((reader, left)) = &mut self.reader else {
                match self.next_group(columns)? {
                    true => continue,
                    false => return Ok(None),
                }
            };
            self.chunks.begin_batch();
            let batch = checked(&self.chunks, || Ok(reader.next().transpose()?))?;
            let Some(batch) = batch else {
                if *left > 0 {
                    return Err(damaged("A row group has fewer rows than its footer says."));
                }
                self.reader = None;
                continue;
            };
            let Some(rest) = left.checked_sub(batch.num_rows()) else {
                return Err(damaged("A row group has more rows than its footer says."));
            };
            *left = rest;
            return Ok(Some(batch));
        }
    }
}

fn footer<R: ReadAt>(chunks: &Chunks<R>) -> Result<Vec<u8>, Error> {
    let size = chunks.input.size();
    let read = |from, count| chunks.bytes(from, count).map_err(|error| explained(chunks, error));
    if size < (MARK.len() + TAIL) as u64 || read(0, MARK.len())? != MARK {
        return Err(damaged("It does not begin as a Parquet file does."));
    }
    let tail = read(size - TAIL as u64, TAIL)?;
    if tail[4..] == ENCRYPTED[..] {
        return Err(Error::Unsupported("It is encrypted.".into()));
    }
    if tail[4..] != MARK[..] {
        return Err(damaged("It does not end as a Parquet file does: it may be cut off."));
    }
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let Some(start) = (size - TAIL as u64)
        .checked_sub(length.into())
        .filter(|&start| start >= MARK.len() as u64)
    else {
        return Err(damaged("Its footer is longer than the file."));
    };
    read(start, length as usize)
}

fn damaged(text: &str) -> Error {
    Error::Damaged(text.to_owned())
}
