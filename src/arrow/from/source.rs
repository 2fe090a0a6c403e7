//! The rows of batches as COPY's text, piece by piece.

use amax_arrow::{Batches, Columns, Error, Place, Rows, Target, Unfit, Unsuited, Unwritten};
use arrow_array::RecordBatch;
use pgrx::PgSqlErrorCode;

use super::super::error::{fail, raise};
use super::super::format::Format;
use super::columns::Column;

/// So much text at least is made before it is asked for again.
const PIECE: usize = 64 * 1024;

pub struct Source<'a, B> {
    batches: B,
    format: Format,
    columns: &'a [Column],
    fields: Vec<usize>,
    targets: Vec<Target>,
    batch: Option<Batch>,
    ended: bool,
    /// Rows of batches before this one.
    before: usize,
    text: Vec<u8>,
    taken: usize,
}

struct Batch {
    rows: Rows,
    next: usize,
}

impl<'a, B: Batches> Source<'a, B> {
    pub fn new(batches: B, columns: &'a [Column], format: Format) -> Self {
        Self {
            batches,
            format,
            columns,
            fields: columns.iter().map(|column| column.field).collect(),
            targets: columns.iter().map(|column| column.target.clone()).collect(),
            batch: None,
            ended: false,
            before: 0,
            text: Vec::new(),
            taken: 0,
        }
    }

    /// Fills a part of `to`, nothing only at the end.
    pub fn fill(&mut self, to: &mut [u8]) -> usize {
        if self.taken == self.text.len() {
            self.text.clear();
            self.taken = 0;
            self.make();
        }
        let rest = &self.text[self.taken..];
        let count = rest.len().min(to.len());
        to[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        count
    }

    /// Makes the text of the next rows, unless there are none.
    fn make(&mut self) {
        while self.text.len() < PIECE {
            let Some(batch) = &mut self.batch else {
                if !self.next_batch() {
                    return;
                }
                continue;
            };
            if batch.next == batch.rows.len() {
                self.before += batch.next;
                self.batch = None;
                continue;
            }
            if let Err((at, error)) = batch.rows.write(batch.next, &mut self.text) {
                match error {
                    Unwritten::Unfit(unfit) => raise_unfit(&self.columns[at], self.before + batch.next + 1, &unfit),
                    Unwritten::TooLong => fail(
                        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                        format!("row {} has more than 1 GB as text", self.before + batch.next + 1),
                    ),
                    Unwritten::OutOfMemory(error) => crate::memory::raise(error),
                }
            }
            batch.next += 1;
        }
    }

    /// Has `load` take batches as columns that go to these places, up to the first that does not go there as it is, or that it does not take.
    pub fn load(&mut self, places: &[Place], mut load: impl FnMut(&Columns) -> bool) {
        while let Some(batch) = self.read() {
            let columns = Columns::of(&batch, places);
            if !columns.is_some_and(|columns| load(&columns)) {
                self.begin(&batch);
                break;
            }
            self.before += batch.num_rows();
        }
    }

    /// Whether all rows have been taken.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn next_batch(&mut self) -> bool {
        let batch = self.read();
        if let Some(batch) = &batch {
            self.begin(batch);
        }
        batch.is_some()
    }

    fn read(&mut self) -> Option<RecordBatch> {
        crate::memory::check_for_interrupts();
        let batch = read(self.batches.next(&self.fields), self.format);
        self.ended = batch.is_none();
        batch
    }

    /// Its rows come next.
    fn begin(&mut self, batch: &RecordBatch) {
        let rows = Rows::new(batch, &self.targets);
        let rows = rows.unwrap_or_else(|(at, unsuited)| raise_unsuited(&self.columns[at], unsuited));
        self.batch = Some(Batch { rows, next: 0 });
    }
}

/// What is read, or its error.
pub fn read<T>(read: Result<T, Error>, format: Format) -> T {
    read.unwrap_or_else(|error| {
        let (code, detail) = match error {
            Error::OutOfMemory(error) => crate::memory::raise(error),
            Error::Damaged(detail) => (PgSqlErrorCode::ERRCODE_BAD_COPY_FILE_FORMAT, detail),
            Error::Unsupported(detail) => (PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, detail),
        };
        raise(
            code,
            format!("could not read the {}", format.input()),
            Some(detail),
            None,
        )
    })
}

fn raise_unsuited(column: &Column, unsuited: Unsuited) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
        format!(
            "column \"{}\" of type {} cannot be loaded from Arrow type {}",
            column.shown(),
            column.sql_type,
            unsuited.data_type
        ),
        None,
        Some(unsuited.hint.into()),
    )
}

fn raise_unfit(column: &Column, row: usize, unfit: &Unfit) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW,
        format!(
            "value in column \"{}\" of row {row} does not fit type {}",
            column.shown(),
            column.sql_type
        ),
        Some(unfit.detail.into()),
        Some(unfit.hint.into()),
    )
}
