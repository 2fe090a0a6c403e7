//! What all families of types make: a column that is filled with the values of one batch.

use std::collections::HashMap;

use super::value::Value;
use crate::arrow::error::Unrepresentable;
use amax_exec::Vector;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field};
use std::sync::Arc;

/// A column being filled with the values of one batch.
pub trait Column {
    /// Appends a value of the column's type and returns how many bytes it takes, roughly. CurrentMemoryContext may be
    /// allocated in and is reset after the row.
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable>;

    /// Appends SQL NULL.
    fn append_null(&mut self);

    /// Appends the first `rows` values of a vector, and returns how many bytes they take, roughly; or which of them it cannot
    /// hold. Only where the column's type has vectors.
    fn append_all(&mut self, _values: &Vector<'_>, _rows: usize) -> Result<usize, BadRow> {
        unreachable!("values of this type have no vectors")
    }

    /// Hands over the batch's values and starts the next batch.
    fn finish(&mut self) -> ArrayRef;
}

/// Which row of a vector, and why.
pub type BadRow = (usize, Unrepresentable);

/// A column with its Arrow type.
pub struct TypedColumn<'a> {
    pub data_type: DataType,
    /// Name of the Arrow extension type, if the values have one.
    pub extension: Option<&'static str>,
    /// The SQL type as `format_type` shows it.
    pub sql_type: String,
    pub column: Box<dyn Column + 'a>,
}

impl TypedColumn<'_> {
    /// The Arrow field: always nullable, with the SQL type in the metadata key `postgresql.type`.
    pub fn field(&self, name: &str) -> Field {
        let mut metadata = HashMap::from([("postgresql.type".to_owned(), self.sql_type.clone())]);
        if let Some(extension) = self.extension {
            metadata.insert("ARROW:extension:name".to_owned(), extension.to_owned());
            metadata.insert("ARROW:extension:metadata".to_owned(), String::new());
        }
        Field::new(name, self.data_type.clone(), true).with_metadata(metadata)
    }
}

pub type Made<'a> = (DataType, Box<dyn Column + 'a>);

/// Asks for the memory that a value takes behind others, whose builder doubles its vector.
pub fn room(values: &[u8], value: &[u8]) {
    if value.len() >= amax_memory::SMALL {
        crate::memory::ask(2 * (values.len() + value.len()), "a record batch");
    }
}

/// Numbers of fixed width under construction.
pub struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
    data_type: DataType,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub fn new(data_type: DataType) -> Self {
        Self {
            values: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            data_type,
        }
    }

    /// Returns how many bytes it takes.
    pub fn push(&mut self, value: T::Native) -> usize {
        self.values.push(value);
        self.nulls.append_non_null();
        size_of::<T::Native>()
    }

    pub fn push_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    /// What `of` makes of the first words of a vector.
    pub fn push_all(&mut self, vector: &Vector<'_>, rows: usize, of: impl Fn(i64) -> T::Native) -> usize {
        let words = vector.words[..rows].iter();
        match vector.valid.as_deref() {
            None => self.values.extend(words.map(|&word| of(word))),
            Some(valid) => {
                let values = words.zip(valid);
                self.values
                    .extend(values.map(|(&word, &valid)| if valid { of(word) } else { T::Native::default() }));
            }
        }
        append_nulls(&mut self.nulls, vector, rows);
        rows * size_of::<T::Native>()
    }

    /// The same, if it makes something of them all.
    pub fn try_push_all(
        &mut self,
        vector: &Vector<'_>,
        rows: usize,
        of: impl Fn(i64) -> Result<T::Native, Unrepresentable>,
    ) -> Result<usize, BadRow> {
        for (row, &word) in vector.words[..rows].iter().enumerate() {
            self.values.push(match vector.is_valid(row) {
                true => of(word).map_err(|problem| (row, problem))?,
                false => T::Native::default(),
            });
        }
        append_nulls(&mut self.nulls, vector, rows);
        Ok(rows * size_of::<T::Native>())
    }

    pub fn finish(&mut self) -> ArrayRef {
        let values = std::mem::take(&mut self.values);
        let array = PrimitiveArray::<T>::new(values.into(), self.nulls.finish());
        Arc::new(array.with_data_type(self.data_type.clone()))
    }
}

/// Which of the first rows of a vector are NULL.
pub fn append_nulls(nulls: &mut NullBufferBuilder, vector: &Vector<'_>, rows: usize) {
    match vector.valid.as_deref() {
        None => nulls.append_n_non_nulls(rows),
        Some(valid) => nulls.append_slice(&valid[..rows]),
    }
}
