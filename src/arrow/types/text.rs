//! Text as Utf8: text, varchar, bpchar, json, name, and types known by what their output function prints.
//!
//! 32-bit offsets are safe: a batch ends at 512 MB at most (guc.rs), so before its last row a column holds less than
//! that, and a value is at most 1 GB.

use std::borrow::Cow;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

use amax_exec::{Scalar, StringTable, Type, Vector};
use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::DataType;
use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{BadRow, Column, Made, append_nulls, room};
use super::value::Value;
use crate::arrow::error::{Unrepresentable, raise_arrow};
use crate::arrow::scope::Scope;
use crate::encoding;
use crate::query::encode_decimal;

/// Bytes in the server's encoding as UTF-8.
pub fn to_utf8(bytes: &[u8]) -> Result<Cow<'_, str>, Unrepresentable> {
    let text = match encoding::to_utf8(bytes) {
        Cow::Borrowed(text) => std::str::from_utf8(text).map(Cow::Borrowed),
        Cow::Owned(text) => String::from_utf8(text)
            .map(Cow::Owned)
            .map_err(|error| error.utf8_error()),
    };
    text.map_err(|error| {
        Unrepresentable::new(
            PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
            format!("The text is not valid UTF-8 at byte {}.", error.valid_up_to()),
            "Arrow text is UTF-8. Cast the column to bytea.",
        )
    })
}

/// How a value becomes text.
pub trait Render {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8];
}

/// Strings under construction.
struct Strings {
    /// Where each one ends.
    ends: Vec<i32>,
    text: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Strings {
    /// Appends one, and returns how many bytes it takes.
    fn push(&mut self, text: &str) -> usize {
        room(&self.text, text.as_bytes());
        self.text.extend_from_slice(text.as_bytes());
        self.end_value(true);
        text.len() + size_of::<i32>()
    }

    fn end_value(&mut self, present: bool) {
        self.ends.push(self.text.len() as i32);
        self.nulls.append(present);
    }

    /// Appends the first strings of a vector as they are, and returns how many bytes they take.
    fn push_all(&mut self, vector: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        let words = &vector.words[..rows];
        let Some(strings) = &vector.strings else {
            unreachable!("a vector of strings")
        };
        let string = |row: usize| match vector.is_valid(row) {
            true => strings.get(words[row] as usize),
            false => &[],
        };
        let before = self.text.len();
        let run = vector.valid.is_none().then(|| run_of(words, strings)).flatten();
        if let Some((start, ends)) = run {
            let text = &strings.data[start..ends[rows - 1] as usize];
            room(&self.text, text);
            self.text.extend_from_slice(text);
            let ends = ends.iter().map(|&end| (before + end as usize - start) as i32);
            self.ends.extend(ends);
        } else if let Some(short) = short_ones(vector, strings) {
            for (row, &word) in words.iter().enumerate() {
                let (text, length) = if vector.is_valid(row) {
                    short[word as usize]
                } else {
                    Default::default()
                };
                let end = self.text.len() + length;
                self.text.extend_from_slice(&text);
                self.text.truncate(end);
                self.ends.push(end as i32);
            }
        } else {
            let bytes = (0..rows).map(|row| string(row).len()).sum();
            if bytes >= amax_memory::SMALL {
                crate::memory::ask(2 * (before + bytes), "a record batch");
            }
            self.text.reserve(bytes);
            for row in 0..rows {
                self.text.extend_from_slice(string(row));
                self.ends.push(self.text.len() as i32);
            }
        }
        append_nulls(&mut self.nulls, vector, rows);
        let ends = &self.ends[self.ends.len() - rows..];
        let text = std::str::from_utf8(&self.text[before..]);
        if !text.is_ok_and(|text| ends.iter().all(|&end| text.is_char_boundary(end as usize - before))) {
            let bad = (0..rows).find_map(|row| Some((row, to_utf8(string(row)).err()?)));
            return Err(bad.expect("if all of them are, so are they together"));
        }
        Ok(self.text.len() - before + rows * size_of::<i32>())
    }

    fn finish(&mut self) -> ArrayRef {
        let ends = std::iter::once(0).chain(self.ends.drain(..)).collect::<Vec<i32>>();
        let text = Buffer::from_vec(std::mem::take(&mut self.text));
        let array = StringArray::try_new(OffsetBuffer::new(ends.into()), text, self.nulls.finish());
        Arc::new(array.unwrap_or_else(|error| raise_arrow(error)))
    }
}

/// Where strings that words stand for begin and end, if these lie one behind the other.
fn run_of<'s>(words: &[i64], strings: &'s StringTable<'_>) -> Option<(usize, &'s [u32])> {
    let first = *words.first()? as usize;
    let is_run = words.iter().enumerate().all(|(i, &word)| word as usize == first + i);
    let start = if first == 0 { 0 } else { strings.ends[first - 1] };
    is_run.then(|| (start as usize, &strings.ends[first..first + words.len()]))
}

/// A string of few bytes, filled up with others, and its length: a constant number of bytes is copied faster.
type Short = ([u8; 16], usize);

/// The strings of a dictionary if they are few and short.
fn short_ones(vector: &Vector<'_>, strings: &StringTable<'_>) -> Option<Vec<Short>> {
    let short = |at: usize| {
        let string = strings.get(at);
        let mut text = [0; 16];
        text.get_mut(..string.len())?.copy_from_slice(string);
        Some((text, string.len()))
    };
    let few = vector.dictionary && strings.len() <= vector.len() / 4;
    few.then(|| (0..strings.len()).map(short).collect()).flatten()
}

pub struct Text<R> {
    values: Strings,
    render: R,
}

impl<R> Text<R> {
    pub fn new(render: R) -> Self {
        let values = Strings {
            ends: Vec::new(),
            text: Vec::new(),
            nulls: NullBufferBuilder::new(0),
        };
        Self { values, render }
    }

    /// Appends a text, and returns how many bytes it takes.
    pub fn push(&mut self, text: &str) -> usize {
        self.values.push(text)
    }
}

impl<R: Render> Column for Text<R> {
    fn append(&mut self, value: Value) -> Result<usize, Unrepresentable> {
        let text = to_utf8(self.render.render(value))?;
        Ok(self.values.push(&text))
    }

    fn append_null(&mut self) {
        self.values.end_value(false);
    }

    fn append_all(&mut self, values: &Vector<'_>, rows: usize) -> Result<usize, BadRow> {
        if values.ty == Type::Text && !encoding::is_converted() {
            return self.values.push_all(values, rows);
        }
        let mut bytes = 0;
        for row in 0..rows {
            bytes += match row_text(values, row).map_err(|problem| (row, problem))? {
                Some(text) => self.values.push(&text),
                None => {
                    self.values.end_value(false);
                    1
                }
            };
        }
        Ok(bytes)
    }

    fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }
}

/// A value of a vector of strings or numerics as text.
pub fn row_text<'v>(values: &'v Vector<'_>, row: usize) -> Result<Option<Cow<'v, str>>, Unrepresentable> {
    Ok(Some(match values.get(row) {
        Scalar::Null => return Ok(None),
        Scalar::Text(text) => to_utf8(text)?,
        Scalar::Numeric(payload) => number(payload).into(),
        Scalar::Decimal { mantissa, scale } => {
            let mut payload = Vec::new();
            encode_decimal(mantissa, scale, &mut payload);
            number(&payload).into()
        }
        _ => unreachable!("a vector of strings or of numerics"),
    }))
}

/// A numeric as its output function prints it.
fn number(payload: &[u8]) -> String {
    amax_jsonb::numeric::to_text(payload).expect("a vector's numerics are numerics")
}

fn text<'r>(render: impl Render + 'r) -> Made<'r> {
    (DataType::Utf8, Box::new(Text::new(render)))
}

pub struct Varlena;

impl Render for Varlena {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        value.payload()
    }
}

/// Types whose stored bytes are their text.
pub fn varlena() -> Made<'static> {
    text(Varlena)
}

pub struct Name;

impl Render for Name {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        value.name().to_bytes()
    }
}

/// The type name.
pub fn name() -> Made<'static> {
    text(Name)
}

/// An output function, which may keep what it needs for as long as the scope.
pub struct Function<'a>(pg_sys::FmgrInfo, PhantomData<&'a ()>);

impl Render for Function<'_> {
    fn render<'a>(&mut self, value: Value<'a>) -> &'a [u8] {
        // SAFETY: the output function of the column's type; it returns a palloc'd string.
        unsafe { CStr::from_ptr(pg_sys::OutputFunctionCall(&mut self.0, value.datum())).to_bytes() }
    }
}

impl<'a> Function<'a> {
    pub fn new(function: pg_sys::Oid, _scope: Scope<'a>) -> Self {
        let mut info = pg_sys::FmgrInfo::default();
        // SAFETY: it looks the function up. The memory lives as long as the scope.
        unsafe { pg_sys::fmgr_info_cxt(function, &mut info, pg_sys::CurrentMemoryContext) };
        Self(info, PhantomData)
    }
}

/// Whatever `function` prints, the type's output function.
pub fn output(function: pg_sys::Oid, scope: Scope<'_>) -> Made<'_> {
    text(Function::new(function, scope))
}
