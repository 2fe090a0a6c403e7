//! Assembly of documents as text, without their binary form.

use amax_jsonb::{Key, TextWriter};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::sink::Sink;
use crate::strings::ByteVec;
use crate::types::ColumnType;

impl Column {
    /// Appends the document of `row` to `out`, which may become `most` bytes long, as PostgreSQL prints it; false for NULL.
    /// As [`Column::get_near`] otherwise.
    ///
    /// # Errors
    /// As [`Column::get`], and that the text is too long (see [`Error::is_of_long_text`]): `out` then has part of it.
    pub fn text(&self, row: usize, most: usize, out: &mut Vec<u8>) -> Result<bool> {
        if row >= self.len() || self.column_type != ColumnType::Json {
            return Err(Error::Misuse("no document there"));
        }
        let row = row as u32;
        let Some((node, instance)) = self.tree.alternative(&self.tree.roots, row) else {
            return Ok(false);
        };
        let mut sink = TextSink {
            writer: TextWriter::new(out, most),
            keys: self.tree.key_texts()?,
            left: self.tree.max_values,
        };
        self.tree.emit(node, row, instance, &mut sink)?;
        Ok(true)
    }
}

/// Writes text of so many values at most: a damaged column must not take all memory.
struct TextSink<'a> {
    writer: TextWriter<'a>,
    /// Of the tree's keys.
    keys: &'a [Key],
    left: usize,
}

impl TextSink<'_> {
    #[inline]
    fn count(&mut self) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or(Error::Limit("values of one document"))?;
        Ok(())
    }
}

impl Sink for TextSink<'_> {
    #[inline]
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()> {
        self.count()?;
        match scalar {
            Scalar::String(s) => self.writer.string(s)?,
            Scalar::Int(v) => self.writer.int(v)?,
            Scalar::Null => self.writer.null()?,
            Scalar::Bool(b) => self.writer.bool(b)?,
            Scalar::Decimal { mantissa, scale } => self.writer.decimal(mantissa, scale)?,
            Scalar::Numeric(payload) => self.writer.numeric(payload)?,
            Scalar::Payload(EMPTY_OBJECT) => {
                self.writer.begin_object()?;
                self.writer.end_object()?;
            }
            Scalar::Payload(EMPTY_ARRAY) => {
                self.writer.begin_array()?;
                self.writer.end_array()?;
            }
            Scalar::Payload(payload) => self.writer.value(amax_jsonb::root(payload)?)?,
        }
        Ok(())
    }

    #[inline]
    fn begin_object(&mut self) -> Result<()> {
        self.count()?;
        Ok(self.writer.begin_object()?)
    }

    fn key(&mut self, key: &[u8]) -> Result<()> {
        Ok(self.writer.key(key)?)
    }

    #[inline]
    fn key_of(&mut self, _: &ByteVec, at: u32) -> Result<()> {
        Ok(self.writer.known_key(&self.keys[at as usize])?)
    }

    #[inline]
    fn end_object(&mut self) -> Result<()> {
        Ok(self.writer.end_object()?)
    }

    #[inline]
    fn begin_array(&mut self) -> Result<()> {
        self.count()?;
        Ok(self.writer.begin_array()?)
    }

    #[inline]
    fn end_array(&mut self) -> Result<()> {
        Ok(self.writer.end_array()?)
    }
}
