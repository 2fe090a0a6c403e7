//! Receivers of the events of values.

use amax_jsonb::Builder;
use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::scalar::{EMPTY_ARRAY, EMPTY_OBJECT, Scalar};
use crate::strings::ByteVec;

/// Receives the events of one value; keys come in jsonb's order.
pub(crate) trait Sink {
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()>;
    fn begin_object(&mut self) -> Result<()>;
    fn key(&mut self, key: &[u8]) -> Result<()>;
    /// Key `at` of a tree's.
    #[inline]
    fn key_of(&mut self, keys: &ByteVec, at: u32) -> Result<()> {
        self.key(keys.get(at as usize))
    }
    fn end_object(&mut self) -> Result<()>;
    fn begin_array(&mut self) -> Result<()>;
    fn end_array(&mut self) -> Result<()>;
}

/// Builds jsonb of so many values at most: a damaged column must not take all memory.
pub(crate) struct JsonSink<'a> {
    pub(crate) builder: &'a mut Builder,
    pub(crate) left: usize,
}

impl JsonSink<'_> {
    #[inline]
    fn count(&mut self) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or(Error::Limit("values of one document"))?;
        Ok(())
    }
}

impl Sink for JsonSink<'_> {
    #[inline]
    fn scalar(&mut self, scalar: Scalar<'_>) -> Result<()> {
        self.count()?;
        match scalar {
            Scalar::Null => self.builder.null(),
            Scalar::Bool(b) => self.builder.bool(b),
            Scalar::Int(v) => self.builder.int(v),
            Scalar::Decimal { mantissa, scale } => self.builder.decimal(mantissa, scale),
            Scalar::Numeric(payload) => self.builder.numeric(payload),
            Scalar::String(s) => self.builder.string(s),
            Scalar::Payload(EMPTY_OBJECT) => {
                self.builder.begin_object();
                self.builder.end_object();
            }
            Scalar::Payload(EMPTY_ARRAY) => {
                self.builder.begin_array();
                self.builder.end_array();
            }
            Scalar::Payload(payload) => self.builder.value(amax_jsonb::root(payload)?),
        }
        Ok(())
    }

    fn begin_object(&mut self) -> Result<()> {
        self.count()?;
        self.builder.begin_object();
        Ok(())
    }

    #[inline]
    fn key(&mut self, key: &[u8]) -> Result<()> {
        self.builder.key(key);
        Ok(())
    }

    fn end_object(&mut self) -> Result<()> {
        self.builder.end_object();
        Ok(())
    }

    fn begin_array(&mut self) -> Result<()> {
        self.count()?;
        self.builder.begin_array();
        Ok(())
    }

    fn end_array(&mut self) -> Result<()> {
        self.builder.end_array();
        Ok(())
    }
}

thread_local! {
    /// Its buffers are worth keeping between documents.
    static BUILDER: RefCell<Builder> = RefCell::new(Builder::new());
}

/// Builds one jsonb payload, of at most `max_values` values, in place of what is in `out`.
pub(crate) fn build(
    out: &mut Vec<u8>,
    max_values: usize,
    emit: impl FnOnce(&mut JsonSink<'_>) -> Result<()>,
) -> Result<()> {
    BUILDER.with_borrow_mut(|builder| {
        builder.reset();
        out.clear();
        emit(&mut JsonSink {
            builder,
            left: max_values,
        })?;
        Ok(builder.finish_into(out)?)
    })
}
