//! Reading jsonb in place.
//!
//! A container is a header word, one JEntry per child (an object's keys first, then its values) and
//! the children's data. A JEntry holds the child's length or its end offset; a child's data includes
//! the padding before an int-aligned numeric or container.

use crate::layout::*;
use crate::{Error, numeric};

/// One jsonb value, borrowed from the bytes it was read from.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// JSON null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A number: the numeric's bytes after its varlena header; see [`numeric`].
    Numeric(&'a [u8]),
    /// A string in the database's encoding, unescaped.
    String(&'a [u8]),
    /// An array.
    Array(Container<'a>),
    /// An object.
    Object(Container<'a>),
}

/// An array or object. Its header and the extent of its JEntries have been checked; the children are
/// checked as they are read.
#[derive(Clone, Copy)]
pub struct Container<'a> {
    /// Header, JEntries, data; without leading padding.
    bytes: &'a [u8],
    /// First byte after the JEntries.
    data_start: usize,
}

/// Reads the root of a jsonb payload (`VARDATA` of the datum). A root scalar, which PostgreSQL
/// stores as a one-element array flagged `JB_FSCALAR`, comes out as the scalar.
///
/// # Errors
/// [`Error::Truncated`] or [`Error::Corrupt`] if the root container's header or JEntries are not
/// sound. Children are checked when they are read.
pub fn root(bytes: &[u8]) -> Result<Value<'_>, Error> {
    let header = word(bytes, 0).ok_or(Error::Truncated)?;
    if header & JB_FSCALAR == 0 {
        return Container::read(bytes);
    }
    if header != (JB_FSCALAR | JB_FARRAY | 1) {
        return Err(Error::Corrupt("root scalar with other than one element"));
    }
    let container = Container::with_entries(bytes, 1)?;
    match container.get_index(0)? {
        Some(Value::Array(_) | Value::Object(_)) => Err(Error::Corrupt("container in place of a root scalar")),
        Some(value) => Ok(value),
        None => Err(Error::Truncated),
    }
}

impl<'a> Container<'a> {
    /// Reads a container header, as the value it announces.
    fn read(bytes: &'a [u8]) -> Result<Value<'a>, Error> {
        let header = word(bytes, 0).ok_or(Error::Truncated)?;
        let count = (header & JB_CMASK) as usize;
        match header & !JB_CMASK {
            JB_FARRAY => Ok(Value::Array(Self::with_entries(bytes, count)?)),
            JB_FOBJECT => Ok(Value::Object(Self::with_entries(bytes, count * 2)?)),
            _ => Err(Error::Corrupt("unexpected container flags")),
        }
    }

    /// Reads a container header, as the container.
    pub(crate) fn nested(bytes: &'a [u8]) -> Option<Self> {
        match Self::read(bytes) {
            Ok(Value::Array(container) | Value::Object(container)) => Some(container),
            _ => None,
        }
    }

    fn with_entries(bytes: &'a [u8], entries: usize) -> Result<Self, Error> {
        let data_start = WORD + entries * WORD;
        if data_start > bytes.len() {
            return Err(Error::Truncated);
        }
        Ok(Self { bytes, data_start })
    }

    /// Elements of an array, pairs of an object.
    #[inline]
    pub fn len(&self) -> usize {
        (self.header() & JB_CMASK) as usize
    }

    /// Whether there are no elements or pairs.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is an object rather than an array.
    #[inline]
    pub fn is_object(&self) -> bool {
        self.header() & JB_FOBJECT != 0
    }

    /// The container's own bytes: a jsonb payload of its own, since all alignment inside it is
    /// relative to its start.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The elements of an array in order, each in constant time; of an object, nothing.
    pub fn elements(&self) -> Elements<'a> {
        let entries = if self.is_object() { &[] } else { self.entries() };
        Elements {
            entries: entries.iter(),
            data: self.data(),
            offset: 0,
        }
    }

    /// The pairs of an object in stored order (by key length, then bytes), each in constant time;
    /// of an array, nothing.
    pub fn pairs(&self) -> Pairs<'a> {
        let (keys, values) = if self.is_object() {
            self.entries().split_at(self.len())
        } else {
            Default::default()
        };
        Pairs {
            keys: Elements {
                entries: keys.iter(),
                data: self.data(),
                offset: 0,
            },
            values: Elements {
                entries: values.iter(),
                data: self.data(),
                offset: start_of(keys, keys.len()),
            },
        }
    }

    /// The values of an object in the order of its keys, if those are stored as in the object that `keys` were taken of:
    /// then they are the same.
    #[inline]
    pub fn values_of(&self, keys: &StoredKeys) -> Option<Elements<'a>> {
        let data = self.data();
        if !self.bytes.starts_with(&keys.head) || !data.starts_with(&keys.names) {
            return None;
        }
        Some(Elements {
            entries: self.entries()[self.len()..].iter(),
            data,
            offset: keys.names.len(),
        })
    }

    /// The value of `key`, by binary search on (length, bytes) as `getKeyJsonValueFromContainer`
    /// does; `None` if the key is absent or this is an array.
    ///
    /// # Errors
    /// If a JEntry looked at does not fit the data.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value<'a>>, Error> {
        if !self.is_object() {
            return Ok(None);
        }
        let (entries, data, count) = (self.entries(), self.data(), self.len());
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = load(&entries[middle]);
            // A length needs no walk to the preceding offset; most probes end with it.
            let order = if entry & JENTRY_HAS_OFF == 0 && offlen(entry) != key.len() {
                offlen(entry).cmp(&key.len())
            } else {
                let start = start_of(entries, middle);
                let found = data.get(start..end_of(entry, start)).ok_or(Error::Truncated)?;
                found.len().cmp(&key.len()).then_with(|| found.cmp(key))
            };
            match order {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.child(count + middle).map(Some),
            }
        }
        Ok(None)
    }

    /// The array element `i`, from zero; `None` past the end or if this is an object.
    ///
    /// # Errors
    /// If the element's JEntry does not fit the data.
    pub fn get_index(&self, i: usize) -> Result<Option<Value<'a>>, Error> {
        if self.is_object() || i >= self.len() {
            return Ok(None);
        }
        self.child(i).map(Some)
    }

    #[inline]
    fn header(&self) -> u32 {
        word(self.bytes, 0).unwrap_or(0)
    }

    #[inline]
    pub(crate) fn entries(&self) -> &'a [[u8; WORD]] {
        self.bytes[WORD..self.data_start].as_chunks().0
    }

    #[inline]
    pub(crate) fn data(&self) -> &'a [u8] {
        &self.bytes[self.data_start..]
    }

    fn child(&self, index: usize) -> Result<Value<'a>, Error> {
        let entry = load(&self.entries()[index]);
        let start = start_of(self.entries(), index);
        decode(entry, self.data(), start, end_of(entry, start))
    }
}

impl std::fmt::Debug for Container<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container")
            .field("object", &self.is_object())
            .field("len", &self.len())
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// How the keys of an object are stored, to know objects with the same ones by.
#[derive(Clone, Debug)]
pub struct StoredKeys {
    /// Header and the keys' JEntries.
    head: Vec<u8>,
    names: Vec<u8>,
}

impl StoredKeys {
    /// Of an object whose pairs have all been read without an error; of an array, None.
    pub fn of(object: &Container) -> Option<StoredKeys> {
        if !object.is_object() {
            return None;
        }
        let count = object.len();
        let names = start_of(object.entries(), count);
        Some(StoredKeys {
            head: object.bytes[..WORD + count * WORD].to_vec(),
            names: object.data().get(..names)?.to_vec(),
        })
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        size_of::<StoredKeys>() + self.head.len() + self.names.len()
    }
}

/// The elements of an array; made by [`Container::elements`]. After an error it ends.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    entries: std::slice::Iter<'a, [u8; WORD]>,
    data: &'a [u8],
    offset: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Value<'a>, Error>;

    // A value that is returned goes through memory; where it is looked at at once it need not. Without optimization that takes much of the stack.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        let entry = load(self.entries.next()?);
        let end = end_of(entry, self.offset);
        let value = decode(entry, self.data, self.offset, end);
        self.offset = end;
        if value.is_err() {
            self.entries = [].iter();
        }
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

impl<'a> Elements<'a> {
    /// The next child as an object's key.
    #[inline]
    fn next_string(&mut self) -> Option<Result<&'a [u8], Error>> {
        let entry = load(self.entries.next()?);
        if entry & JENTRY_TYPEMASK != JENTRY_ISSTRING {
            return Some(Err(Error::Corrupt("object key is not a string")));
        }
        let start = self.offset;
        self.offset = end_of(entry, start);
        Some(self.data.get(start..self.offset).ok_or(Error::Truncated))
    }
}

/// The pairs of an object; made by [`Container::pairs`]. After an error it ends.
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    keys: Elements<'a>,
    values: Elements<'a>,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], Value<'a>), Error>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next(&mut self) -> Option<Self::Item> {
        let error = match self.keys.next_string()? {
            Ok(key) => match self.values.next()? {
                Ok(value) => return Some(Ok((key, value))),
                Err(error) => error,
            },
            Err(error) => error,
        };
        self.keys.entries = [].iter();
        Some(Err(error))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.keys.size_hint()
    }
}

#[inline]
pub(crate) fn load(entry: &[u8; WORD]) -> u32 {
    u32::from_le_bytes(*entry)
}

/// The length or offset a JEntry holds.
#[inline]
pub(crate) fn offlen(entry: u32) -> usize {
    (entry & JENTRY_OFFLENMASK) as usize
}

/// Where the child that starts at `start` ends (`JBE_ADVANCE_OFFSET`).
#[inline]
pub(crate) fn end_of(entry: u32, start: usize) -> usize {
    if entry & JENTRY_HAS_OFF != 0 {
        offlen(entry)
    } else {
        start + offlen(entry)
    }
}

/// Where child `index` starts: the lengths back to the nearest stored offset (`getJsonbOffset`).
pub(crate) fn start_of(entries: &[[u8; WORD]], index: usize) -> usize {
    let mut offset = 0;
    for entry in entries[..index].iter().rev() {
        let entry = load(entry);
        offset += offlen(entry);
        if entry & JENTRY_HAS_OFF != 0 {
            break;
        }
    }
    offset
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn decode(entry: u32, data: &[u8], start: usize, end: usize) -> Result<Value<'_>, Error> {
    let bytes = data.get(start..end).ok_or(Error::Truncated)?;
    match entry & JENTRY_TYPEMASK {
        JENTRY_ISSTRING => Ok(Value::String(bytes)),
        JENTRY_ISNUMERIC => {
            let bytes = bytes.get(int_align(start) - start..).ok_or(Error::Truncated)?;
            let header = word(bytes, 0).ok_or(Error::Truncated)?;
            // PostgreSQL stores numerics with a full varlena header, its length in the upper 30 bits.
            if header & 3 != 0 || (header >> 2) as usize != bytes.len() {
                return Err(Error::Corrupt("numeric length differs from its entry"));
            }
            let payload = &bytes[WORD..];
            numeric::check(payload)?;
            Ok(Value::Numeric(payload))
        }
        JENTRY_ISCONTAINER => Container::read(bytes.get(int_align(start) - start..).ok_or(Error::Truncated)?),
        JENTRY_ISNULL => Ok(Value::Null),
        JENTRY_ISBOOL_TRUE => Ok(Value::Bool(true)),
        JENTRY_ISBOOL_FALSE => Ok(Value::Bool(false)),
        _ => Err(Error::Corrupt("unknown entry type")),
    }
}
