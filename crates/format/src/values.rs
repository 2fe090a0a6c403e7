//! The values of one column in memory, for writing and for random access after reading.

use crate::error::{Error, Result, corrupt};
use crate::lazy::Lazy;
use crate::strings::ByteVec;

/// The values of a leaf column, in order.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Null, empty object, empty array: nothing but the number of them.
    None,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Decimal {
        mantissa: Vec<i64>,
        scale: Vec<u16>,
    },
    Bytes(ByteVec),
    /// `codes` are below `entries.len()`.
    Dictionary {
        entries: ByteVec,
        codes: Vec<u32>,
    },
    /// Raw bits, so that NaN payloads and -0 survive.
    Float4(Vec<u32>),
    Float8(Vec<u64>),
    /// Overflow: keys in jsonb's order, and a token stream per object.
    Rest {
        keys: ByteVec,
        records: ByteVec,
    },
    /// Read a block at a time, by [`crate::Leaf::lazy_column`] only.
    Lazy(Lazy),
}

/// What memory is asked for.
const WRITING: &str = "the rows of a leaf";
const READING: &str = "decoding a column";

impl Values {
    /// The byte string `i` of a `Bytes` or `Dictionary` column.
    #[inline]
    pub(crate) fn bytes(&self, i: usize) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes.get(i),
            Self::Dictionary { entries, codes } => entries.get(codes[i] as usize),
            _ => &[],
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bool(v) => v.len(),
            Self::Int(v) => v.len() * 8,
            Self::Decimal { mantissa, scale } => mantissa.len() * 8 + scale.len() * 2,
            Self::Bytes(v) => v.heap_bytes(),
            Self::Dictionary { entries, codes } => entries.heap_bytes() + codes.len() * 4,
            Self::Float4(v) => v.len() * 4,
            Self::Float8(v) => v.len() * 8,
            Self::Rest { keys, records } => keys.heap_bytes() + records.heap_bytes(),
            Self::Lazy(lazy) => lazy.heap_bytes(),
        }
    }

    /// How many there are, as far as that is known.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Bool(v) => v.len(),
            Self::Int(v) => v.len(),
            Self::Decimal { mantissa, .. } => mantissa.len(),
            Self::Bytes(v) => v.len(),
            Self::Dictionary { codes, .. } => codes.len(),
            Self::Float4(v) => v.len(),
            Self::Float8(v) => v.len(),
            Self::Rest { records, .. } => records.len(),
            Self::Lazy(lazy) => lazy.len(),
        }
    }

    /// Some of the values, of those that come in blocks.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        match self {
            Self::Bool(v) => Self::Bool(v[range].to_vec()),
            Self::Int(v) => Self::Int(v[range].to_vec()),
            Self::Decimal { mantissa, scale } => Self::Decimal {
                mantissa: mantissa[range.clone()].to_vec(),
                scale: scale[range].to_vec(),
            },
            Self::Float4(v) => Self::Float4(v[range].to_vec()),
            Self::Float8(v) => Self::Float8(v[range].to_vec()),
            Self::Bytes(v) => {
                let start = range.start.checked_sub(1).map_or(0, |before| v.ends[before]);
                let ends = &v.ends[range];
                let end = ends.last().copied().unwrap_or(start);
                Self::Bytes(ByteVec {
                    ends: ends.iter().map(|end| end - start).collect(),
                    data: v.data[start as usize..end as usize].to_vec(),
                })
            }
            _ => Self::None,
        }
    }

    /// Puts some values of a decoded column behind these, which are being written; how many bytes they take.
    pub(crate) fn take(&mut self, from: &Self, ranges: &[std::ops::Range<u32>]) -> Result<usize> {
        fn pick<T: Copy>(to: &mut Vec<T>, from: &[T], ranges: &[std::ops::Range<u32>]) -> Result<usize> {
            let before = to.len();
            for range in ranges {
                amax_memory::extend(to, &from[range.start as usize..range.end as usize], WRITING)?;
            }
            Ok((to.len() - before) * size_of::<T>())
        }
        Ok(match (self, from) {
            (Self::None, Self::None) => 0,
            (Self::Bool(v), Self::Bool(from)) => pick(v, from, ranges)?,
            (Self::Int(v), Self::Int(from)) => pick(v, from, ranges)?,
            (Self::Float4(v), Self::Float4(from)) => pick(v, from, ranges)?,
            (Self::Float8(v), Self::Float8(from)) => pick(v, from, ranges)?,
            (Self::Decimal { mantissa, scale }, Self::Decimal { mantissa: m, scale: s }) => {
                pick(mantissa, m, ranges)? + pick(scale, s, ranges)?
            }
            (Self::Bytes(v), Self::Bytes(from)) => {
                let before = v.heap_bytes();
                ranges.iter().try_for_each(|range| v.extend(from, range.clone()))?;
                v.heap_bytes() - before
            }
            (Self::Bytes(v), from @ Self::Dictionary { .. }) => {
                let before = v.heap_bytes();
                for i in ranges.iter().cloned().flatten() {
                    v.push(from.bytes(i as usize))?;
                }
                v.heap_bytes() - before
            }
            _ => return Err(Error::Misuse("values of another kind")),
        })
    }

    /// Makes room for `count` values like these, if they are likely to take no more than `limit` bytes: growing moves
    /// them again and again.
    pub(crate) fn make_room(&mut self, count: usize, limit: usize) -> Result<()> {
        let len = self.len();
        let bytes = (self.heap_bytes() / len.max(1)).saturating_mul(count);
        if len == 0 || bytes > limit {
            return Ok(());
        }
        let more = count.saturating_sub(len);
        match self {
            Self::Int(v) => amax_memory::reserve(v, more, READING)?,
            Self::Float4(v) => amax_memory::reserve(v, more, READING)?,
            Self::Float8(v) => amax_memory::reserve(v, more, READING)?,
            Self::Decimal { mantissa, scale } => {
                amax_memory::reserve(mantissa, more, READING)?;
                amax_memory::reserve(scale, more, READING)?;
            }
            Self::Bytes(v) => {
                amax_memory::reserve(&mut v.ends, more, READING)?;
                let bytes = v.data.len().div_ceil(len) * more;
                amax_memory::reserve(&mut v.data, bytes, READING)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts more values of the same kind behind these.
    pub(crate) fn append(&mut self, more: &Self) -> Result<()> {
        match (self, more) {
            (Self::Int(v), Self::Int(more)) => v.extend_from_slice(more),
            (Self::Float4(v), Self::Float4(more)) => v.extend_from_slice(more),
            (Self::Float8(v), Self::Float8(more)) => v.extend_from_slice(more),
            (Self::Decimal { mantissa, scale }, Self::Decimal { mantissa: m, scale: s }) => {
                mantissa.extend_from_slice(m);
                scale.extend_from_slice(s);
            }
            (Self::Bytes(v), Self::Bytes(more)) => v.extend(more, 0..more.len() as u32)?,
            _ => return corrupt("blocks of a column that has none"),
        }
        Ok(())
    }
}
