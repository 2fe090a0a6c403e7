//! Text for Parquet, whose columns are texts and whose pages may have dictionaries: batches of rows that have leaves' dictionaries go as such,
//! and all others as text. The schema says text.

use std::collections::HashMap;
use std::str::from_utf8;
use std::sync::Arc;

use amax_exec::{Type, Vector};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::DataType;

use super::column::{BadRow, Column, Made, append_nulls};
use super::text::{Text, Varlena};
use super::value::Value;
use crate::arrow::error::{Unrepresentable, raise_arrow};
use crate::encoding;

/// Bytes of a batch's different texts, at most.
const LARGEST: usize = 64 * 1024;

/// Types whose stored bytes are their text.
pub fn varlena() -> Made<'static> {
    let column = Either {
        codes: Codes::new(),
        texts: Text::new(Varlena),
        is_text: false,
    };
    (DataType::Utf8, Box::new(column))
}

struct Either {
    /// The batch's rows, until one is none of a dictionary.
    codes: Codes,
    texts: Text<Varlena>,
    is_text: bool,
}

/// Rows as which text each has.
struct Codes {
    texts: Vec<String>,
    places: HashMap<String, i32>,
    /// Of the texts.
    bytes: usize,
    rows: Vec<i32>,
    nulls: NullBufferBuilder,
}

/// A text of the leaf's that no row has had yet.
const NONE: i32 = -1;

impl Codes {
    fn new() -> Self {
        Self {
            texts: Vec::new(),
            places: HashMap::new(),
            bytes: 0,
            rows: Vec::new(),
            nulls: NullBufferBuilder::new(0),
        }
    }

    /// Takes rows of a leaf's dictionary, if that is smaller than they are and has nothing but texts, and returns how many bytes they take.
    /// Of the leaf's texts those of these rows alone: others may be of rows that nobody is to see.
    fn push_all(&mut self, vector: &Vector<'_>, rows: usize) -> Option<usize> {
        let strings = vector.strings.as_ref().filter(|_| vector.dictionary)?;
        if rows == 0 || strings.len() > rows / 4 {
            return None;
        }
        let before = self.rows.len();
        let mut known = vec![NONE; strings.len()];
        let valid = vector.valid.as_deref();
        for (row, &word) in vector.words[..rows].iter().enumerate() {
            if valid.is_some_and(|valid| !valid[row]) {
                self.rows.push(0);
                continue;
            }
            let code = &mut known[word as usize];
            if *code == NONE {
                let Some(new) = self.code_of(strings.get(word as usize)) else {
                    self.rows.truncate(before);
                    return None;
                };
                *code = new;
            }
            self.rows.push(*code);
        }
        append_nulls(&mut self.nulls, vector, rows);
        Some(rows * size_of::<i32>())
    }

    /// None if it is no text, or there is no room for it.
    fn code_of(&mut self, text: &[u8]) -> Option<i32> {
        let text = from_utf8(text).ok()?;
        if let Some(&known) = self.places.get(text) {
            return Some(known);
        }
        self.bytes += text.len() + size_of::<i32>();
        if self.bytes > LARGEST {
            return None;
        }
        let new = self.texts.len() as i32;
        self.texts.push(text.to_owned());
        self.places.insert(text.to_owned(), new);
        Some(new)
    }

    fn finish(&mut self) -> ArrayRef {
        let Self {
            texts, rows, mut nulls, ..
        } = std::mem::replace(self, Self::new());
        let made = Int32Array::try_new(rows.into(), nulls.finish())
            .and_then(|rows| DictionaryArray::try_new(rows, Arc::new(StringArray::from_iter_values(texts))));
        Arc::new(made.unwrap_or_else(|error| raise_arrow(error)))
    }
}

impl Either {
    /// From here on the batch is text.
    fn texts(&mut self) -> &mut Text<Varlena> {
        if !self.is_text {
            let Codes {
                texts, rows, mut nulls, ..
            } = std::mem::replace(&mut self.codes, Codes::new());
            let nulls = nulls.finish();
            for (row, code) in rows.into_iter().enumerate() {
                match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    true => self.texts.append_null(),
                    false => {
                        self.texts.push(&texts[code as usize]);
                    }
                }
            }
            self.is_text = true;
        }
        &mut self.texts
    }
}

impl Column for Either {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        self.texts().append(value)
    }

    fn append_null(&mut self) {
        self.texts().append_null();
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        if !self.is_text
            && values.ty == Type::Text
            && !encoding::is_converted()
            && let Some(bytes) = self.codes.push_all(values, rows)
        {
            return Ok(bytes);
        }
        self.texts().append_all(values, rows)
    }

    fn finish(&mut self) -> ArrayRef {
        match std::mem::take(&mut self.is_text) {
            true => self.texts.finish(),
            false => self.codes.finish(),
        }
    }
}
