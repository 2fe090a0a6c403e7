//! Long columns in blocks, each encoded, compressed and checked by itself, so that reading one row does not decode the column.
//!
//! A column whose values have a dictionary stays whole: the dictionary is what the values have in common, and its codes are small.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::assemble::{of_bytes, Scalar};
use crate::encode::compress::{decompress_into, Codec};
use crate::encode::values as value_codec;
use crate::error::{corrupt, Error, Result};
use crate::kind::Kind;
use crate::load::{check, unpack, Budget};
use crate::page0::Blob;
use crate::types::ReadAt;
use crate::values::{ByteVec, Values};
use crate::Compression;

/// Values of a block at most: what decoding one of them for a single row costs.
const VALUES: usize = 1024;
/// Bytes of a block's strings, about; compressors find little more in longer ones.
const BYTES: usize = 4 << 10;

/// Where the blocks of a column are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    /// Values of each block but the last, which may have fewer.
    pub(crate) values: u32,
    /// The blocks; offsets are from the column's megapage.
    pub(crate) list: Vec<Blob>,
}

/// What a column's values became.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    /// The first byte, which names the encoding.
    pub(crate) encoding: u8,
    /// As encoded if whole, else the stored blocks one behind the other.
    pub(crate) bytes: Vec<u8>,
    pub(crate) blocks: Option<Blocks>,
}

/// Encodes the values of a column, in blocks if there are many.
pub(crate) fn encode(values: &Values, compression: Compression) -> Result<Encoded> {
    let count = values.len();
    // Strings first show whole whether they have a dictionary; of numbers, blocks lose nothing.
    let whole = match values {
        Values::Int(_) | Values::Decimal { .. } | Values::Float4(_) | Values::Float8(_)
            if count >= 2 * VALUES =>
        {
            None
        }
        _ => Some(value_codec::encode(values, compression)?),
    };
    let encoding = whole.as_ref().and_then(|raw| raw.first()).copied();
    let per = match values {
        Values::Bytes(bytes) if encoding.is_some_and(value_codec::splits) => {
            let mean = bytes.data.len() / count.max(1);
            (BYTES / mean.max(1)).clamp(16, VALUES)
        }
        Values::Int(_) | Values::Decimal { .. } | Values::Float4(_) | Values::Float8(_) => VALUES,
        _ => usize::MAX,
    };
    match whole {
        Some(bytes) if count / 2 < per => {
            return Ok(Encoded {
                encoding: encoding.unwrap_or(0),
                bytes,
                blocks: None,
            });
        }
        whole => drop(whole),
    }
    let mut encoded = Encoded::default();
    let mut blocks = Blocks {
        values: per as u32,
        list: Vec::with_capacity(count.div_ceil(per)),
    };
    for start in (0..count).step_by(per) {
        amax_memory::check("encoding a column")?;
        let block = values.slice(start..(start + per).min(count));
        let raw = match encoding {
            Some(encoding) => value_codec::encode_as(&block, encoding, compression)?,
            None => value_codec::encode(&block, compression)?,
        };
        if start == 0 {
            encoded.encoding = raw.first().copied().unwrap_or(0);
        }
        let (mut blob, stored) = Blob::of(&raw, compression)?;
        blob.offset = encoded.bytes.len() as u64;
        blocks.list.push(blob);
        amax_memory::extend(&mut encoded.bytes, &stored, "encoding a column")?;
    }
    encoded.blocks = Some(blocks);
    Ok(encoded)
}

impl Blocks {
    /// The megapage that holds them.
    pub(crate) fn blob(&self) -> Result<Blob> {
        let len = self
            .list
            .iter()
            .map(|b| u64::from(b.stored_len))
            .sum::<u64>();
        let len = u32::try_from(len).map_err(|_| Error::Limit("4 GiB in one megapage"))?;
        Ok(Blob {
            codec: Codec::Plain,
            stored_len: len,
            raw_len: len,
            crc: 0,
            offset: 0,
        })
    }

    /// Bytes decompressed.
    pub(crate) fn raw_len(&self) -> u64 {
        self.list.iter().map(|b| u64::from(b.raw_len)).sum()
    }

    /// How many values block `at` of a column of `count` has.
    fn count(&self, at: usize, count: usize) -> usize {
        let per = self.values as usize;
        count.saturating_sub(at.saturating_mul(per)).min(per)
    }

    /// All values of a column, from its megapage.
    pub(crate) fn decode(
        &self,
        page: &[u8],
        kind: Kind,
        count: usize,
        budget: &Budget,
        lenient: bool,
    ) -> Result<Values> {
        let mut all: Option<Values> = None;
        let raw_len = usize::try_from(self.raw_len()).unwrap_or(usize::MAX);
        amax_memory::ask(raw_len.saturating_mul(2), "decoding a column")?;
        for (at, blob) in self.list.iter().enumerate() {
            let start = blob.offset as usize;
            let Some(stored) = page.get(start..start + blob.stored_len as usize) else {
                return corrupt("block outside its column");
            };
            amax_memory::check("decoding a column")?;
            let mut raw = Budget(budget.0);
            let raw = unpack(Cow::Borrowed(stored), blob, &mut raw, lenient)?;
            let count = self.count(at, count);
            match &mut all {
                None => all = Some(value_codec::decode(&raw, kind, count, budget.0)?),
                Some(all) => {
                    value_codec::append(all, &raw, kind, count, budget.0)?;
                    if all.heap_bytes() > budget.0 {
                        return Err(Error::Limit("memory to decode a column"));
                    }
                }
            }
        }
        Ok(all.unwrap_or(Values::None))
    }
}

/// The values of a column that are read a block at a time. The last block decompressed is kept until
/// [`forget_blocks`].
#[derive(Clone)]
pub(crate) struct Lazy(Arc<Inner>);

struct Inner {
    source: Arc<dyn ReadAt + Send + Sync>,
    blocks: Arc<Blocks>,
    /// Of the megapage.
    offset: u64,
    kind: Kind,
    count: usize,
    limit: usize,
    lenient: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<Block>,
    /// Per block, the place where it was found to be sound (see [`ReadAt::visit_at`]), or 0.
    sound: Vec<u64>,
}

/// A block looked at.
#[derive(Default)]
struct Block {
    at: usize,
    /// As encoded, unless it can be read where it is stored.
    raw: Vec<u8>,
    /// Of plain strings: where the first begins, and where from there each ends.
    start: Option<usize>,
    ends: Vec<u32>,
}

thread_local! {
    /// Columns that have kept a block.
    static RECENT: RefCell<Vec<Lazy>> = const { RefCell::new(Vec::new()) };
    /// Blocks let go of: their memory is for others.
    static SPARE: RefCell<Vec<Block>> = const { RefCell::new(Vec::new()) };
    /// Where a value is put together.
    static VALUE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Blocks worth keeping for their memory, and bytes of one at most.
const SPARES: usize = 64;
const SPARE_BYTES: usize = 16 << 10;

/// Lets go of the blocks that this thread's lazy columns have read last.
pub fn forget_blocks() {
    RECENT.with_borrow_mut(|recent| {
        SPARE.with_borrow_mut(|spare| {
            for lazy in recent.drain(..) {
                let block = lazy.state().last.take();
                spare.extend(
                    block.filter(|block| {
                        spare.len() < SPARES && block.raw.capacity() <= SPARE_BYTES
                    }),
                );
            }
        });
    });
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lazy({} {:?})", self.0.count, self.0.kind)
    }
}

impl Lazy {
    pub(crate) fn new(
        source: Arc<dyn ReadAt + Send + Sync>,
        blocks: Arc<Blocks>,
        offset: u64,
        kind: Kind,
        count: usize,
        limit: usize,
        lenient: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            source,
            blocks,
            offset,
            kind,
            count,
            limit,
            lenient,
            state: Mutex::default(),
        }))
    }

    /// Float `i`.
    pub(crate) fn float<const N: usize>(&self, i: usize) -> Result<[u8; N]> {
        self.read(i, |bytes, _, n, i| value_codec::float_at(bytes, n, i))
    }

    /// Passes value `i`, of a kind that scalars have, to `f`.
    pub(crate) fn visit<T>(&self, i: usize, f: impl FnOnce(Scalar<'_>) -> Result<T>) -> Result<T> {
        let (kind, limit) = (self.0.kind, self.0.limit);
        self.read(i, |bytes, block, n, i| {
            let Some(start) = block.start else {
                let mut buf = VALUE.take();
                let result = value_codec::decode_at(bytes, kind, n, i, limit, &mut buf).and_then(f);
                VALUE.set(buf);
                return result;
            };
            let from = i.checked_sub(1).map_or(0, |before| block.ends[before]);
            match bytes.get(start + from as usize..start + block.ends[i] as usize) {
                Some(bytes) => f(of_bytes(kind, bytes)),
                None => corrupt("string past the end of its block"),
            }
        })
    }

    /// Tells the storage where value `i` is.
    pub(crate) fn expect(&self, i: usize) {
        let this = &*self.0;
        let per = this.blocks.values as usize;
        let Some(blob) = this.blocks.list.get(i / per) else {
            return;
        };
        let start = this.offset + blob.offset;
        this.source.expect(start);
        if blob.codec == Codec::Plain {
            // Values of a block are about equally long.
            let n = this.blocks.count(i / per, this.count).max(1);
            this.source
                .expect(start + u64::from(blob.stored_len) * (i % per) as u64 / n as u64);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A reader that panicked left nothing behind.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the block that value `i` is in to `f`: as encoded, what is known of it, its number of values and the value's place among them.
    fn read<T>(
        &self,
        i: usize,
        f: impl FnOnce(&[u8], &Block, usize, usize) -> Result<T>,
    ) -> Result<T> {
        let this = &*self.0;
        let per = this.blocks.values as usize;
        let (at, within) = (i / per, i % per);
        let n = this.blocks.count(at, this.count);
        let Some(blob) = this.blocks.list.get(at).filter(|_| within < n) else {
            return corrupt("value past the blocks of its column");
        };
        let state = &mut *self.state();
        if state.sound.is_empty() {
            state.sound.resize(this.blocks.list.len(), 0);
        }
        if state.last.is_none() {
            RECENT.with_borrow_mut(|recent| recent.push(self.clone()));
        }
        let known = state.last.as_ref().is_some_and(|block| block.at == at);
        let block = state.last.get_or_insert_with(|| {
            let spare = SPARE.with_borrow_mut(Vec::pop);
            spare.unwrap_or_default()
        });
        if known && !block.raw.is_empty() {
            return f(&block.raw, block, n, within);
        }
        // Not known, should anything below fail.
        block.at = usize::MAX;
        let (mut f, mut result) = (Some(f), None);
        let offset = this.offset + blob.offset;
        let mut visit = |stored: &[u8], place: u64| {
            if place == 0 || state.sound[at] != place {
                check(stored, blob, this.lenient)?;
                state.sound[at] = place;
            }
            let in_place = place != 0 && blob.codec == Codec::Plain;
            if in_place {
                block.raw.clear();
            } else {
                Budget(this.limit).take(blob.raw_len as usize)?;
                let raw_len = blob.raw_len as usize;
                decompress_into(stored, blob.codec, raw_len, &mut block.raw)?;
            }
            let bytes = if in_place { stored } else { &block.raw };
            if !known {
                block.start =
                    value_codec::plain_strings(bytes, this.kind, n, this.limit, &mut block.ends)?;
            }
            block.at = at;
            result = f.take().map(|f| f(bytes, block, n, within));
            Ok(())
        };
        this.source
            .visit_at(offset, blob.stored_len as usize, &mut visit)?;
        result.unwrap_or_else(|| corrupt("storage returned too few bytes"))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        std::mem::size_of::<Inner>() + 8 * self.0.blocks.list.len()
    }
}

impl Values {
    /// How many there are, as far as that is known.
    fn len(&self) -> usize {
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
            Self::Lazy(lazy) => lazy.0.count,
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
                let start = range
                    .start
                    .checked_sub(1)
                    .map_or(0, |before| v.ends[before]);
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

    /// Puts more values of the same kind behind these.
    pub(crate) fn append(&mut self, more: &Self) -> Result<()> {
        match (self, more) {
            (Self::Int(v), Self::Int(more)) => v.extend_from_slice(more),
            (Self::Float4(v), Self::Float4(more)) => v.extend_from_slice(more),
            (Self::Float8(v), Self::Float8(more)) => v.extend_from_slice(more),
            (
                Self::Decimal { mantissa, scale },
                Self::Decimal {
                    mantissa: m,
                    scale: s,
                },
            ) => {
                mantissa.extend_from_slice(m);
                scale.extend_from_slice(s);
            }
            (Self::Bytes(v), Self::Bytes(more)) => {
                let base = v.data.len();
                if u32::try_from(base + more.data.len()).is_err() {
                    return Err(Error::Limit("4 GiB of values in one column"));
                }
                amax_memory::extend(&mut v.data, &more.data, "decoding a column")?;
                v.ends.extend(more.ends.iter().map(|end| end + base as u32));
            }
            _ => return corrupt("blocks of a column that has none"),
        }
        Ok(())
    }
}
