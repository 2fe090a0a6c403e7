//! The types of the interface.

use crate::encode::compress::Compression;
use crate::error::{Error, Result};

/// The kind of an SQL column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// `boolean`.
    Bool,
    /// Any type passed by value that is an integer inside, widened to 64 bits.
    Int,
    /// `real`.
    Float4,
    /// `double precision`.
    Float8,
    /// `numeric`: the bytes after the varlena header.
    Numeric,
    /// Any other type: its bytes, without a varlena header.
    Bytes,
    /// `jsonb`: the bytes after the varlena header (`VARDATA`).
    Json,
}

impl ColumnType {
    pub(crate) fn to_u8(self) -> u8 {
        match self {
            Self::Bool => 0,
            Self::Int => 1,
            Self::Float4 => 2,
            Self::Float8 => 3,
            Self::Numeric => 4,
            Self::Bytes => 5,
            Self::Json => 6,
        }
    }

    pub(crate) fn from_u8(v: u8) -> Result<Self> {
        Ok(match v {
            0 => Self::Bool,
            1 => Self::Int,
            2 => Self::Float4,
            3 => Self::Float8,
            4 => Self::Numeric,
            5 => Self::Bytes,
            6 => Self::Json,
            _ => return Err(Error::Corrupt(format!("unknown column type {v}"))),
        })
    }
}

/// One SQL value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Of a [`ColumnType::Bool`] column.
    Bool(bool),
    /// Of a [`ColumnType::Int`] column.
    Int(i64),
    /// Of a [`ColumnType::Float4`] column; kept to the bit.
    Float4(f32),
    /// Of a [`ColumnType::Float8`] column; kept to the bit.
    Float8(f64),
    /// Of a [`ColumnType::Numeric`], [`ColumnType::Bytes`] or [`ColumnType::Json`] column.
    Bytes(&'a [u8]),
}

/// One step of a path into a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The value of a key; missing in anything but an object.
    Key(Vec<u8>),
    /// An array's element, from zero, or from -1 backwards from its end; missing in anything but an array.
    Index(i32),
    /// The same, but a scalar counts as an array of itself: PostgreSQL's `-> integer`.
    Item(i32),
    /// A key in an object, an element in an array: what `#>` and subscripts make of digits.
    KeyOrIndex(Vec<u8>, i32),
}

impl PathStep {
    /// The key that it looks for in an object.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Key(key) | Self::KeyOrIndex(key, _) => Some(key),
            _ => None,
        }
    }

    /// The element that it looks for in an array.
    pub(crate) fn index(&self) -> Option<i32> {
        match self {
            Self::Index(i) | Self::Item(i) | Self::KeyOrIndex(_, i) => Some(*i),
            Self::Key(_) => None,
        }
    }

    /// Whether it leads from a scalar to itself.
    pub(crate) fn keeps_scalar(&self) -> bool {
        matches!(self, Self::Item(0 | -1))
    }
}

/// Choices of a leaf's writer.
#[derive(Clone, Copy, Debug)]
pub struct LeafOptions {
    /// Of megapages and Page 0.
    pub compression: Compression,
    /// Columns a document column is shredded into at most; the most frequent paths win, the others go to
    /// overflow columns. Rows' and arrays' own kinds are kept beyond the cap.
    pub path_cap: usize,
    /// A path with fewer values than this goes to the overflow column in any case.
    pub min_path_values: usize,
    /// Usable bytes per page of the storage.
    pub page_size: usize,
    /// The fraction of a page that may stay empty so that the next megapage starts on its own page.
    pub empty_page_tolerance: f64,
}

/// What a column costs in the directory and in starting an encoding makes fewer values cheaper in the
/// overflow (measured on documents with thousands of paths that are met once or twice).
const MIN_PATH_VALUES: usize = 48;

impl Default for LeafOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            path_cap: 4000,
            min_path_values: MIN_PATH_VALUES,
            page_size: 8168,
            empty_page_tolerance: 0.15,
        }
    }
}

/// The bytes of a leaf image, wherever they are.
pub trait ReadAt {
    /// The `len` bytes from `offset` of the image, all of them.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Corrupt`] if they cannot be read.
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>>;

    /// Passes the same bytes to `f`, without a copy where the storage has them in memory, and the number of the place
    /// they are in: what was read there before and told the same number, but 0, has been there since, or come back: it
    /// is not checked again.
    ///
    /// # Errors
    /// As [`ReadAt::read_at`], and those of `f`.
    fn visit_at(&self, offset: u64, len: usize, f: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        f(&self.read_at(offset, len)?, 0)
    }

    /// Tells that the bytes at `offset` will soon be visited.
    fn expect(&self, _offset: u64) {}
}

impl ReadAt for &[u8] {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..)?.get(..len));
        match bytes {
            Some(bytes) => Ok(amax_memory::copy(bytes, "reading a column")?),
            None => Err(Error::Corrupt("leaf image is truncated".into())),
        }
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.as_slice().read_at(offset, len)
    }
}

impl<R: ReadAt + ?Sized> ReadAt for std::sync::Arc<R> {
    fn read_at(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        (**self).read_at(offset, len)
    }

    fn visit_at(&self, offset: u64, len: usize, f: &mut dyn FnMut(&[u8], u64) -> Result<()>) -> Result<()> {
        (**self).visit_at(offset, len, f)
    }

    fn expect(&self, offset: u64) {
        (**self).expect(offset);
    }
}
