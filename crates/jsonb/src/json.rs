//! JSON text to jsonb and back.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use crate::{Builder, Error, TextWriter, Value, root};

/// The payload of a JSON text, the bytes `jsonb_in` makes: numbers exact with their display scale,
/// keys sorted, the last of duplicate keys kept, root scalars wrapped. Any depth.
///
/// # Errors
/// [`Error::Syntax`] for what is not JSON and for `\u0000`, which jsonb cannot hold;
/// [`Error::NumericOverflow`]; [`Error::TooLarge`].
pub fn parse(text: &str) -> Result<Vec<u8>, Error> {
    let mut builder = Builder::new();
    parse_into(text, &mut builder)?;
    builder.finish()
}

/// Gives one JSON text to `builder` as a value, wherever that stands. After an error the builder
/// holds part of the value.
///
/// # Errors
/// As [`parse`], but for what only [`Builder::finish`] finds.
pub fn parse_into(text: &str, builder: &mut Builder) -> Result<(), Error> {
    let mut parser = Parser::new(text);
    // For each open container, whether it is an object.
    let mut open = Vec::new();
    let mut peek = parser.peek()?;
    loop {
        match peek {
            Peek::Array => {
                builder.begin_array();
                if let Some(first) = parser.run(Jiter::known_array)? {
                    open.push(false);
                    peek = first;
                    continue;
                }
                builder.end_array();
            }
            Peek::Object => {
                builder.begin_object();
                if parser.key(builder, Jiter::known_object)? {
                    open.push(true);
                    peek = parser.peek()?;
                    continue;
                }
                builder.end_object();
            }
            Peek::String => builder.string(parser.string(|jiter| jiter.known_str().map(Some))?.unwrap_or_default()),
            Peek::Null => {
                parser.run(Jiter::known_null)?;
                builder.null();
            }
            Peek::True | Peek::False => builder.bool(parser.run(|jiter| jiter.known_bool(peek))?),
            _ => parser.number(peek, builder)?,
        }
        // A value is complete: on to the next one, ending what ends before it.
        peek = loop {
            match open.last() {
                None => return parser.run(Jiter::finish),
                Some(false) => match parser.run(Jiter::array_step)? {
                    Some(next) => break next,
                    None => builder.end_array(),
                },
                Some(true) => {
                    if parser.key(builder, Jiter::next_key)? {
                        break parser.peek()?;
                    }
                    builder.end_object();
                }
            }
            open.pop();
        }
    }
}

struct Parser<'j> {
    text: &'j [u8],
    /// Where in `text` the parser's input starts.
    base: usize,
    jiter: Jiter<'j>,
}

impl<'j> Parser<'j> {
    fn new(text: &'j str) -> Self {
        Self {
            text: text.as_bytes(),
            base: 0,
            jiter: Jiter::new(text.as_bytes()),
        }
    }

    fn run<T>(&mut self, step: impl FnOnce(&mut Jiter<'j>) -> Result<T, JiterError>) -> Result<T, Error> {
        step(&mut self.jiter).map_err(|error| syntax(error, self.base))
    }

    fn peek(&mut self) -> Result<Peek, Error> {
        self.run(Jiter::peek)
    }

    /// Gives the next key to the builder; false if the object ends instead.
    fn key(
        &mut self,
        builder: &mut Builder,
        step: impl for<'s> FnOnce(&'s mut Jiter<'j>) -> Result<Option<&'s str>, JiterError>,
    ) -> Result<bool, Error> {
        Ok(self.string(step)?.map(|key| builder.key(key)).is_some())
    }

    /// The string a step reads. NUL cannot be kept.
    fn string(
        &mut self,
        step: impl for<'s> FnOnce(&'s mut Jiter<'j>) -> Result<Option<&'s str>, JiterError>,
    ) -> Result<Option<&[u8]>, Error> {
        let offset = self.base + self.jiter.current_index();
        match step(&mut self.jiter) {
            Ok(Some(string)) if string.as_bytes().contains(&0) => Err(Error::Syntax {
                offset,
                message: "\\u0000 cannot be converted to text".into(),
            }),
            Ok(string) => Ok(string.map(str::as_bytes)),
            Err(error) => Err(syntax(error, self.base)),
        }
    }

    fn number(&mut self, peek: Peek, builder: &mut Builder) -> Result<(), Error> {
        let start = self.jiter.current_index();
        let error = match self.jiter.known_number_bytes(peek) {
            Ok(number) => return push_number(number, builder),
            Err(error) => error,
        };
        if error.error_type != JiterErrorType::JsonError(JsonErrorType::NumberOutOfRange) {
            return Err(syntax(error, self.base));
        }
        // The parser refuses more than 4300 digits, numeric does not. Its state is only its place in
        // the text, so one started after the number goes on in its stead.
        let rest = &self.text[self.base + start..];
        let len = number_len(rest).ok_or_else(|| syntax(error, self.base))?;
        push_number(&rest[..len], builder)?;
        self.base += start + len;
        self.jiter = Jiter::new(&rest[len..]);
        Ok(())
    }
}

fn syntax(error: JiterError, base: usize) -> Error {
    Error::Syntax {
        offset: base + error.index,
        message: error.error_type.to_string(),
    }
}

/// The length of the JSON number that `text` starts with.
fn number_len(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let len = text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (len > 0).then_some(from + len)
    };
    let first = usize::from(text.first() == Some(&b'-'));
    let mut end = digits(first)?;
    if text[first] == b'0' && end > first + 1 {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let signed = matches!(text.get(end + 1), Some(b'+' | b'-'));
        end = digits(end + 1 + usize::from(signed))?;
    }
    Some(end)
}

/// Gives a number in JSON syntax to the builder; short plain ones without the general conversion.
fn push_number(number: &[u8], builder: &mut Builder) -> Result<(), Error> {
    let (negative, digits) = match number {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut mantissa, mut scale, mut point) = (0_i64, 0_u16, 0);
    // 18 digits and a point fit an i64.
    if digits.len() <= 19 {
        let plain = digits.iter().all(|&byte| match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(i64::from(byte - b'0'));
                scale += point;
                true
            }
            b'.' => {
                point = 1;
                true
            }
            _ => false,
        });
        if plain && digits.len() <= 18 + usize::from(point) {
            builder.decimal(if negative { -mantissa } else { mantissa }, scale);
            return Ok(());
        }
    }
    builder.number(number)
}

/// A payload in the text form of `jsonb_out`: `{"a": 1, "b": [1, 2]}`.
///
/// # Errors
/// [`Error::Truncated`] or [`Error::Corrupt`] for broken bytes and strings that are not UTF-8.
pub fn to_text(payload: &[u8]) -> Result<String, Error> {
    let mut text = Vec::with_capacity(payload.len() + payload.len() / 4);
    write_text(root(payload)?, &mut text)?;
    String::from_utf8(text).map_err(|_| Error::Corrupt("string is not UTF-8"))
}

/// As [`to_text`] for any value and encoding, appending; after an error `out` may hold part of it.
///
/// # Errors
/// As [`to_text`].
pub fn write_text(value: Value<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
    TextWriter::new(out, usize::MAX).value(value)
}
