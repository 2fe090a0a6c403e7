//! Columns read a block at a time, for those who want few of their values.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::blob::check;
use crate::blocks::Blocks;
use crate::budget::Budget;
use crate::bytes::Reader;
use crate::encode::compress::{Codec, decompress_into};
use crate::encode::{ints, value};
use crate::error::{Result, corrupt};
use crate::kind::Kind;
use crate::scalar::{Scalar, of_bytes};
use crate::types::ReadAt;

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
    /// Of integers, or mantissas, that cost as much one by one: all of them.
    ints: Vec<i64>,
    /// Their scales.
    scales: Vec<i64>,
}

impl Block {
    /// Number `i` of `n`, which are decoded with the first.
    fn number(&mut self, bytes: &[u8], kind: Kind, n: usize, i: usize) -> Result<Scalar<'static>> {
        if self.ints.is_empty() {
            let mut reader = Reader::new(bytes);
            if kind == Kind::Decimal {
                self.scales = ints::decode(&mut reader, n)?;
            }
            self.ints = ints::decode(&mut reader, n)?;
        }
        Ok(match kind {
            Kind::Decimal => Scalar::Decimal {
                mantissa: self.ints[i],
                scale: value::scale_of(self.scales[i])?,
            },
            _ => Scalar::Int(self.ints[i]),
        })
    }
}

/// A value of a block.
#[derive(Clone, Copy)]
struct Look {
    /// Values of the block.
    n: usize,
    /// Which one of them.
    i: usize,
    /// Whether the one before was of the same block.
    again: bool,
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
                spare.extend(block.filter(|block| spare.len() < SPARES && block.raw.capacity() <= SPARE_BYTES));
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

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.count
    }

    /// Float `i`.
    pub(crate) fn float<const N: usize>(&self, i: usize) -> Result<[u8; N]> {
        self.read(i, |bytes, _, look| value::float_at(bytes, look.n, look.i))
    }

    /// Passes value `i`, of a kind that scalars have, to `f`.
    pub(crate) fn visit<T>(&self, i: usize, f: impl FnOnce(Scalar<'_>) -> Result<T>) -> Result<T> {
        let (kind, limit) = (self.0.kind, self.0.limit);
        self.read(i, |bytes, block, look| {
            let (n, i) = (look.n, look.i);
            if let Some(start) = block.start {
                let from = i.checked_sub(1).map_or(0, |before| block.ends[before]);
                return match bytes.get(start + from as usize..start + block.ends[i] as usize) {
                    Some(bytes) => f(of_bytes(kind, bytes)),
                    None => corrupt("string past the end of its block"),
                };
            }
            let numbers = matches!(kind, Kind::Int | Kind::Decimal);
            if numbers && (!block.ints.is_empty() || ints::is_best_whole(bytes, look.again)) {
                return f(block.number(bytes, kind, n, i)?);
            }
            let mut buf = VALUE.take();
            let result = value::decode_at(bytes, kind, n, i, limit, &mut buf).and_then(f);
            VALUE.set(buf);
            result
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

    /// Passes the block that value `i` is in to `f`: as encoded, and what is known of it.
    fn read<T>(&self, i: usize, f: impl FnOnce(&[u8], &mut Block, Look) -> Result<T>) -> Result<T> {
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
        let look = Look {
            n,
            i: within,
            again: known,
        };
        if known && !block.raw.is_empty() {
            let raw = std::mem::take(&mut block.raw);
            let result = f(&raw, block, look);
            block.raw = raw;
            return result;
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
            // Who asks a second time will ask a third.
            let in_place = place != 0 && blob.codec == Codec::Plain && !known;
            let mut raw = std::mem::take(&mut block.raw);
            raw.clear();
            if !in_place {
                Budget(this.limit).take(blob.raw_len as usize)?;
                decompress_into(stored, blob.codec, blob.raw_len as usize, &mut raw)?;
            }
            let bytes = if in_place { stored } else { &raw };
            if !known {
                block.ints.clear();
                block.start = value::plain_strings(bytes, this.kind, n, this.limit, &mut block.ends)?;
            }
            block.at = at;
            result = f.take().map(|f| f(bytes, &mut *block, look));
            block.raw = raw;
            Ok(())
        };
        this.source.visit_at(offset, blob.stored_len as usize, &mut visit)?;
        result.unwrap_or_else(|| corrupt("storage returned too few bytes"))
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        std::mem::size_of::<Inner>() + 8 * self.0.blocks.list.len()
    }
}
