//! Text as a dictionary: each value once, and for each row which it is. What is in memory of a column is known from batch to batch, so that most
//! have no new values; one that has grown large begins anew.

use std::str::from_utf8;
use std::sync::Arc;

use amax_exec::{Type, Vector};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;
use pgrx::pg_sys;

use super::column::{BadRow, Column, Made};
use super::text::{Function, Name, Render, Varlena, row_text, to_utf8};
use super::value::Value;
use crate::arrow::error::{Unrepresentable, raise_arrow};
use crate::arrow::scope::Scope;
use crate::encoding;

/// Values and bytes of them from which on a column's dictionary is no longer kept: it is sent whole whenever it has grown.
const LARGEST: (usize, usize) = (64 * 1024, 1024 * 1024);

/// Types whose stored bytes are their text.
pub fn varlena() -> Made<'static> {
    coded(Varlena)
}

/// The type name.
pub fn name() -> Made<'static> {
    coded(Name)
}

/// Labels of enums.
pub fn labels(scope: Scope<'_>) -> Made<'_> {
    coded(Function::new(pg_sys::F_ENUM_OUT.into(), scope))
}

fn coded<'r>(render: impl Render + 'r) -> Made<'r> {
    let data_type = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let column = Coded {
        values: StringDictionaryBuilder::new(),
        render,
    };
    (data_type, Box::new(column))
}

struct Coded<R> {
    values: StringDictionaryBuilder<Int32Type>,
    render: R,
}

impl<R> Coded<R> {
    fn push(&mut self, text: &str) -> usize {
        if text.len() >= amax_memory::SMALL {
            crate::memory::ask(2 * text.len(), "a record batch");
        }
        self.values.append_value(text);
        text.len() + size_of::<i32>()
    }

    /// Takes rows of a leaf's dictionary, if that is smaller than they are and they have nothing but texts. Of the leaf's values those of these rows
    /// alone: others may be of rows that nobody is to see.
    fn push_dictionary(&mut self, vector: &Vector<'_>, rows: usize) -> Option<usize> {
        let strings = vector.strings.as_ref().filter(|_| vector.dictionary)?;
        if rows == 0 || strings.len() > rows / 4 {
            return None;
        }
        let (mut data, mut ends) = (Vec::new(), vec![0]);
        let mut taken: Vec<Option<i32>> = vec![None; strings.len()];
        let mut codes = Vec::with_capacity(rows);
        for row in 0..rows {
            if !vector.is_valid(row) {
                codes.push(0);
                continue;
            }
            let word = vector.words[row] as usize;
            let code = &mut taken[word];
            if code.is_none() {
                let text = from_utf8(strings.get(word)).ok()?;
                if text.len() >= amax_memory::SMALL {
                    crate::memory::ask(2 * (data.len() + text.len()), "a record batch");
                }
                *code = Some(ends.len() as i32 - 1);
                data.extend_from_slice(text.as_bytes());
                ends.push(i32::try_from(data.len()).ok()?);
            }
            codes.push(code.unwrap_or(0));
        }
        let bytes = data.len() + rows * size_of::<i32>();
        let values = StringArray::try_new(OffsetBuffer::new(ends.into()), Buffer::from_vec(data), None);
        let valid = vector.valid.as_deref().map(|valid| NullBuffer::from(&valid[..rows]));
        let added = values.and_then(|values| {
            let codes = Int32Array::try_new(codes.into(), valid)?;
            let array = DictionaryArray::try_new(codes, Arc::new(values))?;
            let array = array.downcast_dict::<StringArray>().expect("a dictionary of strings");
            self.values.extend_dictionary(&array)
        });
        added.unwrap_or_else(|error| raise_arrow(error));
        Some(bytes)
    }
}

impl<R: Render> Column for Coded<R> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let text = to_utf8(self.render.render(value))?;
        Ok(self.push(&text))
    }

    fn append_null(&mut self) {
        self.values.append_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        if values.ty == Type::Text
            && !encoding::is_converted()
            && let Some(bytes) = self.push_dictionary(values, rows)
        {
            return Ok(bytes);
        }
        let mut bytes = 0;
        for row in 0..rows {
            bytes += match row_text(values, row).map_err(|problem| (row, problem))? {
                Some(text) => self.push(&text),
                None => {
                    self.values.append_null();
                    1
                }
            };
        }
        Ok(bytes)
    }

    fn finish(&mut self) -> ArrayRef {
        let array = self.values.finish_preserve_values();
        let values = array.values().as_string::<i32>();
        if values.len() > LARGEST.0 || values.value_data().len() > LARGEST.1 {
            self.values = StringDictionaryBuilder::new();
        }
        Arc::new(array)
    }
}
