//! The token form of values in the overflow column: compact, and quick to replay.
//!
//! A value is a varint whose low three bits are a tag. Keys are indexes in the column's sorted key
//! dictionary, so an object's keys ascend.

use crate::bytes::{Reader, put_varint, unzigzag, zigzag};
use crate::error::{Error, Result, corrupt};
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::sink::Sink;
use crate::strings::ByteVec;

const SIMPLE: u64 = 0;
const INT: u64 = 1;
const DECIMAL: u64 = 2;
const NUMERIC: u64 = 3;
const STRING: u64 = 4;
const PAYLOAD: u64 = 5;
const BEGIN: u64 = 6;
/// Ends an object; in place of a key.
const END: u64 = 7;

/// Payloads of [`SIMPLE`] and [`BEGIN`].
const NULL: u64 = 0;
const FALSE: u64 = 1;
const TRUE: u64 = 2;
const OBJECT: u64 = 0;
const ARRAY: u64 = 1;

/// Nesting of a token stream; deeper values are embedded as jsonb.
pub(crate) const MAX_DEPTH: usize = 256;

/// Nesting a reader follows: a record may embed such a value below the shredder's own nesting.
const MAX_READ_DEPTH: usize = 2 * MAX_DEPTH;

/// A [`Sink`] that writes tokens; keys must be in `keys`.
pub(crate) struct TokenSink<'a> {
    pub(crate) out: Vec<u8>,
    pub(crate) keys: &'a hashbrown::HashMap<Vec<u8>, u32>,
}

impl TokenSink<'_> {
    fn token(&mut self, tag: u64, payload: u64) {
        if payload >> 61 == 0 {
            put_varint(&mut self.out, payload << 3 | tag);
        } else {
            // A ninth of the integers do not leave room for the tag: escape, then all 64 bits.
            put_varint(&mut self.out, (3 << 3) | SIMPLE);
            put_varint(&mut self.out, tag);
            put_varint(&mut self.out, payload);
        }
    }

    fn sized(&mut self, tag: u64, bytes: &[u8]) {
        self.token(tag, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
    }
}

impl Sink for TokenSink<'_> {
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()> {
        match scalar {
            Scalar::Null => self.token(SIMPLE, NULL),
            Scalar::Bool(b) => self.token(SIMPLE, if b { TRUE } else { FALSE }),
            Scalar::Int(v) => self.token(INT, zigzag(v)),
            Scalar::Decimal { mantissa, scale } => {
                self.token(DECIMAL, u64::from(scale));
                put_varint(&mut self.out, zigzag(mantissa));
            }
            Scalar::Numeric(payload) => self.sized(NUMERIC, payload),
            Scalar::String(s) => self.sized(STRING, s),
            Scalar::Payload(EMPTY_OBJECT) => {
                self.begin_object()?;
                self.end_object()?;
            }
            Scalar::Payload(EMPTY_ARRAY) => {
                self.begin_array()?;
                self.end_array()?;
            }
            Scalar::Payload(payload) => self.sized(PAYLOAD, payload),
        }
        Ok(())
    }

    fn begin_object(&mut self) -> Result<()> {
        self.token(BEGIN, OBJECT);
        Ok(())
    }

    fn key(&mut self, key: &[u8]) -> Result<()> {
        let Some(&id) = self.keys.get(key) else {
            return Err(Error::Misuse("overflow key is not in the dictionary"));
        };
        // Zero ends the object.
        put_varint(&mut self.out, u64::from(id) + 1);
        Ok(())
    }

    fn end_object(&mut self) -> Result<()> {
        put_varint(&mut self.out, 0);
        Ok(())
    }

    fn begin_array(&mut self) -> Result<()> {
        self.token(BEGIN, ARRAY);
        Ok(())
    }

    fn end_array(&mut self) -> Result<()> {
        self.token(END, 0);
        Ok(())
    }
}

/// The pairs of one overflow record: key, then [`replay`] or [`skip`] its value.
pub(crate) struct Pairs<'a> {
    reader: Reader<'a>,
    keys: &'a ByteVec,
    previous: Option<u32>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(record: &'a [u8], keys: &'a ByteVec) -> Self {
        Self {
            reader: Reader::new(record),
            keys,
            previous: None,
        }
    }

    /// The index of the next pair's key.
    #[inline]
    pub(crate) fn next_key(&mut self) -> Result<Option<u32>> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let key = read_key(&mut self.reader, self.keys, self.previous)?;
        if key.is_none() {
            return corrupt("overflow record ends early");
        }
        self.previous = key;
        Ok(key)
    }

    /// Passes the value of the pair to `sink`.
    pub(crate) fn replay<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        replay(&mut self.reader, self.keys, sink, 0)
    }

    /// Passes over the value of the pair.
    pub(crate) fn skip(&mut self) -> Result<()> {
        replay(&mut self.reader, self.keys, &mut Nowhere, 0)
    }
}

fn read_key(reader: &mut Reader<'_>, keys: &ByteVec, previous: Option<u32>) -> Result<Option<u32>> {
    let key = reader.count(keys.len(), "overflow key")? as u32;
    if key == 0 {
        return Ok(None);
    }
    let key = key - 1;
    if previous.is_some_and(|previous| previous >= key) {
        return corrupt("overflow keys do not ascend");
    }
    Ok(Some(key))
}

fn replay<S: Sink>(reader: &mut Reader<'_>, keys: &ByteVec, sink: &mut S, depth: usize) -> Result<()> {
    let token = reader.varint()?;
    value(token, reader, keys, sink, depth)
}

fn value<S: Sink>(token: u64, reader: &mut Reader<'_>, keys: &ByteVec, sink: &mut S, depth: usize) -> Result<()> {
    if depth > MAX_READ_DEPTH {
        return corrupt("overflow value is nested too deeply");
    }
    let (mut tag, mut payload) = (token & 7, token >> 3);
    if token == (3 << 3) | SIMPLE {
        tag = reader.varint()?;
        payload = reader.varint()?;
    }
    match (tag, payload) {
        (SIMPLE, NULL) => sink.scalar(Scalar::Null),
        (SIMPLE, FALSE) => sink.scalar(Scalar::Bool(false)),
        (SIMPLE, TRUE) => sink.scalar(Scalar::Bool(true)),
        (INT, v) => sink.scalar(Scalar::Int(unzigzag(v))),
        (DECIMAL, scale) => {
            let Ok(scale) = u16::try_from(scale) else {
                return corrupt("decimal scale out of range");
            };
            sink.scalar(Scalar::Decimal {
                mantissa: reader.zigzag()?,
                scale,
            })
        }
        (NUMERIC, n) => sink.scalar(Scalar::Numeric(sized(reader, n)?)),
        (STRING, n) => sink.scalar(Scalar::String(sized(reader, n)?)),
        (PAYLOAD, n) => sink.scalar(Scalar::Payload(sized(reader, n)?)),
        (BEGIN, OBJECT) => {
            sink.begin_object()?;
            let mut previous = None;
            while let Some(key) = read_key(reader, keys, previous)? {
                sink.key(keys.get(key as usize))?;
                replay(reader, keys, sink, depth + 1)?;
                previous = Some(key);
            }
            sink.end_object()
        }
        (BEGIN, ARRAY) => {
            sink.begin_array()?;
            loop {
                let token = reader.varint()?;
                if token == END {
                    return sink.end_array();
                }
                value(token, reader, keys, sink, depth + 1)?;
            }
        }
        _ => corrupt("unknown overflow token"),
    }
}

fn sized<'a>(reader: &mut Reader<'a>, n: u64) -> Result<&'a [u8]> {
    reader.bytes(usize::try_from(n).unwrap_or(usize::MAX))
}

/// Discards what it is given.
struct Nowhere;

impl Sink for Nowhere {
    fn scalar(&mut self, _: Scalar<'_>) -> Result<()> {
        Ok(())
    }
    fn begin_object(&mut self) -> Result<()> {
        Ok(())
    }
    fn key(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
    fn end_object(&mut self) -> Result<()> {
        Ok(())
    }
    fn begin_array(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_array(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Passes a whole jsonb payload to `sink`, value by value down to `depth` and embedded below.
pub(crate) fn replay_jsonb<S: Sink>(value: amax_jsonb::Value<'_>, sink: &mut S, depth: usize) -> Result<()> {
    match value {
        amax_jsonb::Value::Object(c) if depth < MAX_DEPTH => {
            sink.begin_object()?;
            for pair in c.pairs() {
                let (key, value) = pair?;
                sink.key(key)?;
                replay_jsonb(value, sink, depth + 1)?;
            }
            sink.end_object()
        }
        amax_jsonb::Value::Array(c) if depth < MAX_DEPTH => {
            sink.begin_array()?;
            for element in c.elements() {
                replay_jsonb(element?, sink, depth + 1)?;
            }
            sink.end_array()
        }
        amax_jsonb::Value::Object(c) | amax_jsonb::Value::Array(c) => sink.scalar(Scalar::Payload(c.bytes())),
        amax_jsonb::Value::Null => sink.scalar(Scalar::Null),
        amax_jsonb::Value::Bool(b) => sink.scalar(Scalar::Bool(b)),
        amax_jsonb::Value::Numeric(n) => sink.scalar(Scalar::of_numeric(n)),
        amax_jsonb::Value::String(s) => sink.scalar(Scalar::String(s)),
    }
}
