//! Writing jsonb in place, for who knows how many values a container has before they come, and has keys in order.

use crate::builder::{Entries, pad};
use crate::layout::*;
use crate::{Error, numeric};

/// What memory is asked for.
const WHAT: &str = "a document";

/// Writes one container, with all below it, behind what is in a vector: the bytes that a [`Builder`](crate::Builder)
/// makes.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    base: usize,
}

/// A container begun: so many values are to be written to it, of an object all keys before.
#[derive(Debug)]
pub struct Open {
    start: usize,
    entries: Entries,
    children: usize,
}

/// The beginning of an object: what its keys take, which is the same in all objects that have them.
#[derive(Clone, Debug)]
pub struct Keys {
    /// Header, entries and keys.
    bytes: Vec<u8>,
    entries: Entries,
    children: usize,
}

impl Keys {
    /// Of an object with these keys, in order.
    ///
    /// # Errors
    /// As [`Writer::begin_object`].
    pub fn new<'k>(keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        let mut open = writer.begin_object(keys.len())?;
        for key in keys {
            writer.string(&mut open, key)?;
        }
        let Open { entries, children, .. } = open;
        Ok(Self {
            bytes,
            entries,
            children,
        })
    }
}

impl<'a> Writer<'a> {
    /// Of the value that starts at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        let base = out.len();
        Self { out, base }
    }

    /// Makes room for a value of so many bytes.
    #[inline]
    fn room(&mut self, bytes: usize) -> Result<(), Error> {
        if self.out.len() - self.base + bytes > JENTRY_OFFLENMASK as usize {
            return Err(Error::TooLarge);
        }
        Ok(amax_memory::reserve(self.out, bytes + 2 * WORD, WHAT)?)
    }

    /// Begins an object of so many pairs.
    ///
    /// # Errors
    /// [`Error::TooLarge`], or memory was refused.
    pub fn begin_object(&mut self, pairs: usize) -> Result<Open, Error> {
        self.begin(JB_FOBJECT, pairs, 2 * pairs)
    }

    /// Begins an array of so many elements.
    ///
    /// # Errors
    /// As [`Writer::begin_object`].
    pub fn begin_array(&mut self, elements: usize) -> Result<Open, Error> {
        self.begin(JB_FARRAY, elements, elements)
    }

    /// Begins an object and writes its keys.
    ///
    /// # Errors
    /// As [`Writer::begin_object`].
    #[inline]
    pub fn begin_with_keys(&mut self, keys: &Keys) -> Result<Open, Error> {
        self.room(keys.bytes.len())?;
        let start = self.out.len();
        pad(self.out, self.base);
        let entries = keys.entries.at(self.out.len());
        self.out.extend_from_slice(&keys.bytes);
        Ok(Open {
            start,
            entries,
            children: keys.children,
        })
    }

    fn begin(&mut self, flag: u32, count: usize, children: usize) -> Result<Open, Error> {
        self.room(children.saturating_mul(WORD))?;
        let start = self.out.len();
        pad(self.out, self.base);
        let entries = Entries::begin(self.out, flag | count as u32, children);
        Ok(Open {
            start,
            entries,
            children,
        })
    }

    /// Ends a container, the last begun, which is a value of `outer`, or the whole.
    ///
    /// # Errors
    /// [`Error::Misuse`] if it does not have the values that were announced.
    pub fn end(&mut self, open: &Open, outer: Option<&mut Open>) -> Result<(), Error> {
        if open.entries.count() != open.children {
            return Err(Error::Misuse("container of another size"));
        }
        match outer {
            Some(outer) => self.entry(outer, JENTRY_ISCONTAINER, open.start),
            None => Ok(()),
        }
    }

    /// A string.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::Misuse`] if the container is full, or memory was refused.
    #[inline]
    pub fn string(&mut self, open: &mut Open, value: &[u8]) -> Result<(), Error> {
        self.room(value.len())?;
        let start = self.out.len();
        self.out.extend_from_slice(value);
        self.entry(open, JENTRY_ISSTRING, start)
    }

    /// JSON null.
    ///
    /// # Errors
    /// As [`Writer::string`].
    pub fn null(&mut self, open: &mut Open) -> Result<(), Error> {
        self.entry(open, JENTRY_ISNULL, self.out.len())
    }

    /// A boolean.
    ///
    /// # Errors
    /// As [`Writer::string`].
    pub fn bool(&mut self, open: &mut Open, value: bool) -> Result<(), Error> {
        let kind = if value { JENTRY_ISBOOL_TRUE } else { JENTRY_ISBOOL_FALSE };
        self.entry(open, kind, self.out.len())
    }

    /// A numeric's bytes.
    ///
    /// # Errors
    /// As [`Writer::string`], and if the bytes are no numeric.
    pub fn numeric(&mut self, open: &mut Open, payload: &[u8]) -> Result<(), Error> {
        numeric::check(payload)?;
        self.number(open, payload.len(), |out| {
            out.extend_from_slice(payload);
            Ok(())
        })
    }

    /// An integer.
    ///
    /// # Errors
    /// As [`Writer::string`].
    #[inline]
    pub fn int(&mut self, open: &mut Open, value: i64) -> Result<(), Error> {
        self.number(open, 4 * WORD, |out| {
            numeric::encode_int(value, out);
            Ok(())
        })
    }

    /// `mantissa` / 10^`scale`.
    ///
    /// # Errors
    /// As [`Writer::string`], and [`Error::NumericOverflow`].
    #[inline]
    pub fn decimal(&mut self, open: &mut Open, mantissa: i64, scale: u16) -> Result<(), Error> {
        self.number(open, 4 * WORD, |out| numeric::encode_decimal(mantissa, scale, out))
    }

    #[inline]
    fn number(
        &mut self,
        open: &mut Open,
        room: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.room(room)?;
        let start = self.out.len();
        pad(self.out, self.base);
        let at = self.out.len();
        self.out.extend_from_slice(&[0; WORD]);
        write(self.out)?;
        let size = (self.out.len() - at) as u32;
        self.out[at..at + WORD].copy_from_slice(&(size << 2).to_le_bytes());
        self.entry(open, JENTRY_ISNUMERIC, start)
    }

    /// A container that is canonical.
    ///
    /// # Errors
    /// As [`Writer::string`].
    pub fn container(&mut self, open: &mut Open, payload: &[u8]) -> Result<(), Error> {
        self.room(payload.len())?;
        let start = self.out.len();
        pad(self.out, self.base);
        self.out.extend_from_slice(payload);
        self.entry(open, JENTRY_ISCONTAINER, start)
    }

    #[inline]
    fn entry(&mut self, open: &mut Open, kind: u32, start: usize) -> Result<(), Error> {
        if open.entries.count() == open.children {
            return Err(Error::Misuse("container of another size"));
        }
        let len = self.out.len() - start;
        open.entries.push(self.out, kind, len);
        Ok(())
    }
}
