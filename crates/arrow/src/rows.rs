//! Rows of a record batch as COPY's text format.

use arrow_array::RecordBatch;

use crate::cell::{Cell, Form, append, room};
use crate::error::{Unsuited, Unwritten};
use crate::target::Target;
use crate::values::cell;

/// The rows of a batch, as lines of COPY's text format with its defaults: tabs between values, `\N` for NULL.
pub struct Rows {
    cells: Vec<Cell>,
    rows: usize,
    value: Vec<u8>,
}

impl Rows {
    /// # Errors
    /// A column, by its number in the batch, that its target cannot take.
    pub fn new(batch: &RecordBatch, targets: &[Target]) -> Result<Self, (usize, Unsuited)> {
        let schema = batch.schema_ref();
        let columns = batch.columns().iter().zip(schema.fields()).zip(targets).enumerate();
        let cells = columns
            .map(|(at, ((array, field), target))| cell(array, field, target, false).map_err(|unsuited| (at, unsuited)));
        Ok(Self {
            cells: cells.collect::<Result<_, _>>()?,
            rows: batch.num_rows(),
            value: Vec::new(),
        })
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends a row and its line end.
    ///
    /// # Errors
    /// A column, by its number in the batch, whose value in this row is not written.
    pub fn write(&mut self, row: usize, to: &mut Vec<u8>) -> Result<(), (usize, Unwritten)> {
        for (at, cell) in self.cells.iter().enumerate() {
            if at > 0 {
                to.push(b'\t');
            }
            if cell.is_null(row) {
                to.extend(b"\\N");
                continue;
            }
            let unwritten = |error| (at, error);
            room(to, 0).map_err(unwritten)?;
            match cell.form {
                Form::Number | Form::Word => cell.put(row, to).map_err(unwritten)?,
                Form::Text | Form::Nested => {
                    self.value.clear();
                    cell.put(row, &mut self.value).map_err(unwritten)?;
                    escape(&self.value, to).map_err(unwritten)?;
                }
            }
        }
        to.push(b'\n');
        Ok(())
    }
}

/// A value between COPY's delimiters.
fn escape(mut value: &[u8], to: &mut Vec<u8>) -> Result<(), Unwritten> {
    room(to, value.len())?;
    while let Some(at) = value
        .iter()
        .position(|&byte| matches!(byte, b'\\' | b'\t' | b'\n' | b'\r'))
    {
        append(to, &value[..at])?;
        to.push(b'\\');
        to.push(match value[at] {
            b'\t' => b't',
            b'\n' => b'n',
            b'\r' => b'r',
            byte => byte,
        });
        value = &value[at + 1..];
    }
    append(to, value)
}
