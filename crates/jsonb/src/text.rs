//! Writing the text of jsonb value by value (`JsonbToCString`, `escape_json`), in whatever encoding the strings have.

use crate::{Error, Event, Value, numeric};

/// What memory is asked for.
const WHAT: &str = "the text of a document";

/// Writes one value, with all below it, behind what is in a vector: `{"a": 1, "b": [1, 2]}`.
#[derive(Debug)]
pub struct TextWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Bytes that `out` may have.
    most: usize,
    /// Whether a comma comes before the next element or key.
    comma: bool,
}

/// A key as it is written, for who writes it often.
#[derive(Clone, Debug)]
pub struct Key(Vec<u8>);

impl Key {
    /// Of this key.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let mut writer = TextWriter::new(&mut bytes, usize::MAX);
        writer.comma = true;
        writer.key(key)?;
        Ok(Self(bytes))
    }
}

impl<'a> TextWriter<'a> {
    /// So many bytes may be left when there is said to be no room: it is made for the longest form of a number or a
    /// character.
    pub const SPARE: usize = 48;

    /// Of the value that starts at the end of `out`, which may become `most` bytes long.
    pub fn new(out: &'a mut Vec<u8>, most: usize) -> Self {
        Self {
            out,
            most,
            comma: false,
        }
    }

    /// Makes room for so many bytes.
    #[inline]
    fn room(&mut self, bytes: usize) -> Result<(), Error> {
        if self.most.saturating_sub(self.out.len()) < bytes {
            return Err(Error::TextTooLong);
        }
        Ok(amax_memory::reserve(self.out, bytes, WHAT)?)
    }

    /// Makes room for a value of so many bytes, and separates it from the one before.
    #[inline]
    fn next(&mut self, bytes: usize) -> Result<(), Error> {
        self.room(bytes + 2)?;
        if self.comma {
            self.out.extend_from_slice(b", ");
        }
        self.comma = true;
        Ok(())
    }

    #[inline]
    fn begin(&mut self, bracket: u8) -> Result<(), Error> {
        self.next(1)?;
        self.out.push(bracket);
        self.comma = false;
        Ok(())
    }

    #[inline]
    fn end(&mut self, bracket: u8) -> Result<(), Error> {
        self.room(1)?;
        self.out.push(bracket);
        self.comma = true;
        Ok(())
    }

    /// Begins an object.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn begin_object(&mut self) -> Result<(), Error> {
        self.begin(b'{')
    }

    /// Ends it.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn end_object(&mut self) -> Result<(), Error> {
        self.end(b'}')
    }

    /// Begins an array.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn begin_array(&mut self) -> Result<(), Error> {
        self.begin(b'[')
    }

    /// Ends it.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn end_array(&mut self) -> Result<(), Error> {
        self.end(b']')
    }

    /// The key of the value that comes next.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.string(key)?;
        self.room(2)?;
        self.out.extend_from_slice(b": ");
        self.comma = false;
        Ok(())
    }

    /// The same.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    #[inline]
    pub fn known_key(&mut self, Key(bytes): &Key) -> Result<(), Error> {
        self.room(bytes.len())?;
        let from = if self.comma { 0 } else { 2 };
        self.out.extend_from_slice(&bytes[from..]);
        self.comma = false;
        Ok(())
    }

    /// A string.
    ///
    /// # Errors
    /// [`Error::TextTooLong`], or memory was refused.
    #[inline]
    pub fn string(&mut self, value: &[u8]) -> Result<(), Error> {
        self.next(value.len() + 2)?;
        self.out.push(b'"');
        // All are looked at, several at once: few strings have any.
        if value.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
            self.escape(value)?;
        } else {
            self.out.extend_from_slice(value);
        }
        self.out.push(b'"');
        Ok(())
    }

    /// A string's bytes, as `escape_json`, with room for a quote behind them.
    fn escape(&mut self, mut rest: &[u8]) -> Result<(), Error> {
        while let Some(at) = rest.iter().position(|&byte| is_escaped(byte)) {
            // The longest is `\u001f`.
            self.room(rest.len() + 7)?;
            self.out.extend_from_slice(&rest[..at]);
            match rest[at] {
                b'"' => self.out.extend_from_slice(b"\\\""),
                b'\\' => self.out.extend_from_slice(b"\\\\"),
                0x08 => self.out.extend_from_slice(b"\\b"),
                0x0C => self.out.extend_from_slice(b"\\f"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'\r' => self.out.extend_from_slice(b"\\r"),
                b'\t' => self.out.extend_from_slice(b"\\t"),
                byte => {
                    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
                    let code = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
                    self.out.extend_from_slice(&code);
                }
            }
            rest = &rest[at + 1..];
        }
        self.out.extend_from_slice(rest);
        Ok(())
    }

    /// JSON null.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn null(&mut self) -> Result<(), Error> {
        self.word(b"null")
    }

    /// A boolean.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn bool(&mut self, value: bool) -> Result<(), Error> {
        self.word(if value { b"true" } else { b"false" })
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Error> {
        self.next(word.len())?;
        self.out.extend_from_slice(word);
        Ok(())
    }

    /// An integer.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    #[inline]
    pub fn int(&mut self, value: i64) -> Result<(), Error> {
        self.next(DIGITS + 1)?;
        let (digits, from) = digits(value.unsigned_abs());
        if value < 0 {
            self.out.push(b'-');
        }
        self.out.extend_from_slice(&digits[from..]);
        Ok(())
    }

    /// `mantissa` / 10^`scale`, with so many digits behind the point.
    ///
    /// # Errors
    /// As [`TextWriter::string`].
    pub fn decimal(&mut self, mantissa: i64, scale: u16) -> Result<(), Error> {
        let scale = usize::from(scale);
        self.next(DIGITS + scale + 3)?;
        let (digits, from) = digits(mantissa.unsigned_abs());
        let digits = &digits[from..];
        if mantissa < 0 {
            self.out.push(b'-');
        }
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        self.out.extend_from_slice(if whole.is_empty() { b"0" } else { whole });
        if scale > 0 {
            self.out.push(b'.');
            self.out.resize(self.out.len() + scale - fraction.len(), b'0');
            self.out.extend_from_slice(fraction);
        }
        Ok(())
    }

    /// A numeric's bytes (`numeric_out`).
    ///
    /// # Errors
    /// As [`TextWriter::string`], and [`Error::Corrupt`] if the bytes are no numeric.
    pub fn numeric(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut text = Vec::new();
        numeric::write_text(payload, &mut text)?;
        self.word(&text)
    }

    /// A whole value.
    ///
    /// # Errors
    /// As [`TextWriter::string`], and [`Error::Truncated`] or [`Error::Corrupt`] for broken bytes.
    pub fn value(&mut self, value: Value<'_>) -> Result<(), Error> {
        crate::walk(value).try_for_each(|event| match event? {
            Event::Scalar(Value::Bool(value)) => self.bool(value),
            Event::Scalar(Value::Numeric(payload)) => self.numeric(payload),
            Event::Scalar(Value::String(value)) => self.string(value),
            // A walk reports containers as other events.
            Event::Scalar(Value::Null | Value::Array(_) | Value::Object(_)) => self.null(),
            Event::Key(key) => self.key(key),
            Event::BeginArray(_) => self.begin_array(),
            Event::EndArray => self.end_array(),
            Event::BeginObject(_) => self.begin_object(),
            Event::EndObject => self.end_object(),
        })
    }
}

/// Whether it is not written as it is.
#[inline]
fn is_escaped(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

/// Digits of the largest number.
const DIGITS: usize = 20;

/// A number's digits, the last at the end of the array, and where they begin.
#[inline]
fn digits(mut value: u64) -> ([u8; DIGITS], usize) {
    let mut digits = [b'0'; DIGITS];
    let mut from = DIGITS;
    while value >= 100 {
        let pair = (value % 100) as u8;
        value /= 100;
        from -= 2;
        digits[from] += pair / 10;
        digits[from + 1] += pair % 10;
    }
    if value >= 10 {
        from -= 2;
        digits[from] += value as u8 / 10;
        digits[from + 1] += value as u8 % 10;
    } else {
        from -= 1;
        digits[from] += value as u8;
    }
    (digits, from)
}
