//! What all families of types make: a column that is filled with the values of one batch.

use std::collections::HashMap;

use super::value::Value;
use crate::arrow::error::Unrepresentable;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field};

/// A column being filled with the values of one batch.
pub trait Column {
    /// Appends a value of the column's type and returns how many bytes it takes, roughly. CurrentMemoryContext may be
    /// allocated in and is reset after the row.
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable>;

    /// Appends SQL NULL.
    fn append_null(&mut self);

    /// Hands over the batch's values and starts the next batch.
    fn finish(&mut self) -> ArrayRef;
}

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
