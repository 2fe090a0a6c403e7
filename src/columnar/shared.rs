//! Decoded columns that all sessions share, parallel workers among them: a session finds what another has decoded.
//!
//! An [`Index`] in a segment of shared memory says where they lie in others (crates/cache). A column is found by a hash
//! of its leaf's place and content and of what it is of the leaf, so that nothing has to be forgotten when tables
//! change. A segment that the cache has given up goes when the last session has let go of it, which a session does when
//! it next begins a scan or opens a leaf. As long as idle sessions keep too many, nothing is added.

use crate::guc;
use crate::pg::shm::{self, InShared, Kept, Segment};
pub use amax_cache::Key;
use amax_cache::{Index, Place};
use amax_format::Dense;
use pgrx::pg_sys;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes of a segment at least, unless the cache is smaller. PostgreSQL has room for a few hundred segments, for all
/// uses.
const SEGMENT: usize = 8 << 20;

/// Whoever has the same finds the same index. The last number is that of the form of images and of the index.
const NAME: &str = concat!("amax ", env!("CARGO_PKG_VERSION"), " decoded columns 3");

// SAFETY: numbers alone.
unsafe impl InShared for Index {}

struct Cache {
    index: Kept<Index>,
    /// Segments that this process has mapped, by number.
    mapped: RefCell<BTreeMap<u64, Arc<Segment>>>,
    /// There was no memory for a segment: not tried again.
    full: Cell<bool>,
}

/// A column in shared memory, and the number of the segment it is in.
pub struct Found {
    pub dense: Dense,
    pub segment: u64,
}

thread_local! {
    /// None if there can be none in this server.
    static CACHE: OnceCell<Option<Cache>> = const { OnceCell::new() };
}

/// Whether this session may share anything.
pub fn is_on() -> bool {
    // SAFETY: a flag of the process.
    guc::shared_cache_bytes() > 0 && unsafe { pg_sys::IsUnderPostmaster }
}

/// Runs `f` unless there is no such cache.
fn with<R>(f: impl FnOnce(&Cache) -> Option<R>) -> Option<R> {
    if !is_on() {
        return None;
    }
    CACHE.with(|cache| {
        let make = || {
            Some(Cache {
                index: Kept::find(NAME, c"amax_decoded_columns")?,
                mapped: RefCell::default(),
                full: Cell::new(false),
            })
        };
        cache.get_or_init(make).as_ref().and_then(f)
    })
}

/// The column that a key stands for, if anyone has decoded it.
pub fn get(key: Key) -> Option<Found> {
    with(|cache| {
        let place = cache.read(|index| index.find(key))??;
        cache.view(place)
    })
}

/// Gives others a column. It is the same in shared memory, unless there is no room.
pub fn put(key: Key, dense: &Dense) -> Option<Found> {
    with(|cache| {
        if let Some(place) = cache.read(|index| index.find(key)).flatten() {
            // Somebody else was as quick.
            return cache.view(place);
        }
        let place = cache.reserve(dense.image_len())?;
        let segment = cache.map(place)?;
        // SAFETY: the place is ours until the index says what is there.
        let image = unsafe {
            let start = segment.address().add(place.offset);
            std::slice::from_raw_parts_mut(start.as_ptr(), place.len)
        };
        dense.write_image(image);
        cache.write(|index| index.insert(key, place))?;
        cache.view(place)
    })
}

/// Lets go of segments that have been given up; whatever is in segments up to this number is to be dropped, too.
pub fn drop_stale() -> u64 {
    let drop_stale = |cache: &Cache| {
        cache.full.set(false);
        let gone = cache.read(Index::gone)?;
        cache.mapped.borrow_mut().retain(|&number, _| number > gone);
        Some(gone)
    };
    // Also in a session that does without now.
    let known = |cache: &OnceCell<Option<Cache>>| cache.get()?.as_ref().and_then(drop_stale);
    CACHE.with(known).unwrap_or(0)
}

/// Segments, their bytes, columns in them, and segments that have been given up.
pub fn state() -> (u64, u64, usize, u64) {
    let state = with(|cache| cache.read(|index| (index.segments(), index.bytes(), index.len(), index.gone())));
    state.unwrap_or_default()
}

impl Cache {
    fn create(&self, bytes: usize) -> Option<Segment> {
        if self.full.get() {
            return None;
        }
        let made = Segment::create(bytes);
        self.full.set(made.is_none());
        made
    }

    fn read<R>(&self, f: impl FnOnce(&Index) -> R) -> Option<R> {
        self.index.read(f)
    }

    fn write<R>(&self, f: impl FnOnce(&mut Index) -> R) -> Option<R> {
        self.index.write(|bytes| self.create(bytes), f)
    }

    /// Room for so many bytes, in a new segment if need be.
    fn reserve(&self, len: usize) -> Option<Place> {
        let limit = guc::shared_cache_bytes();
        if len > limit / 2 {
            return None;
        }
        if let Some(place) = self.write(|index| index.reserve(len))? {
            return Some(place);
        }
        self.lay_ghosts(limit)?;
        let size = len.max((limit / 32).max(SEGMENT).min(limit / 2));
        let made = self.create(size)?;
        made.pin();
        let handle = made.handle();
        let (place, given_up) = self.write(|index| match index.reserve(len) {
            // Somebody else was as quick.
            Some(place) => (Some(place), vec![handle]),
            None => {
                let given_up = index.append(handle, size, limit);
                (index.reserve(len), given_up)
            }
        })?;
        if let Some(place) = place.filter(|place| place.handle == handle) {
            let mapped = &mut *self.mapped.borrow_mut();
            mapped.insert(place.segment, Arc::new(made));
        }
        given_up.into_iter().for_each(shm::unpin);
        place
    }

    /// Looks which of the segments that were given up have gone; None if too many are still mapped.
    fn lay_ghosts(&self, limit: usize) -> Option<()> {
        let mut gone = self.read(Index::ghosts)?;
        gone.retain(|&handle| !Segment::is_there(handle));
        let may = self.write(|index| {
            index.forget(&gone);
            index.may_append(limit)
        });
        may?.then_some(())
    }

    fn map(&self, place: Place) -> Option<Arc<Segment>> {
        if let Some(segment) = self.mapped.borrow().get(&place.segment) {
            return Some(segment.clone());
        }
        let segment = Arc::new(Segment::attach(place.handle)?);
        let mapped = &mut *self.mapped.borrow_mut();
        mapped.insert(place.segment, segment.clone());
        Some(segment)
    }

    fn view(&self, place: Place) -> Option<Found> {
        let image = self.map(place)?.bytes(place.offset, place.len);
        let dense = Dense::of_image(image).unwrap_or_else(|e| super::error::raise(e));
        Some(Found {
            dense,
            segment: place.segment,
        })
    }
}
