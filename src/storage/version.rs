//! Pages as they were: where they are, and their LSNs. While these are the same, so is what is on the pages of a relation that is logged.

use super::map;
use crate::pg::{Pin, Relation, buffer, wal};
use amax_lsm::meta::Map;
use pgrx::pg_sys;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// The pages that a map has for some indices.
#[derive(Clone, Default)]
pub struct Versions {
    indices: Range<u32>,
    pages: Rc<[Version]>,
    /// Where the log ended before they were looked at. While it ends there nothing more is to be seen: a change that has been logged by then
    /// becomes visible to others only after more has been, its commit at least.
    logged: u64,
}

/// A page, or none, at block 0.
#[derive(Clone, Copy, Default)]
struct Version {
    block: u32,
    lsn: u64,
    /// Where it was seen last, which says nothing of what it is.
    buffer: pg_sys::Buffer,
}

/// One page in so many is looked up anew; see [`Pin::read_recent`].
const LOOK_UP: u32 = 8;
/// How many pages before it is looked at the processor fetches a page's header.
const AHEAD: usize = 8;

thread_local! {
    static READS: Cell<u32> = const { Cell::new(0) };
}

impl Versions {
    /// As they are now, of a relation that is logged; they may have been seen before.
    pub fn of(rel: &Relation, map: Map, indices: Range<u32>, before: Option<Versions>) -> Versions {
        debug_assert!(rel.needs_wal(), "changes are logged");
        let logged = wal::end();
        let before = match before {
            Some(before) if before.logged == logged && before.indices == indices => return before,
            before => before.filter(|before| before.indices.start == indices.start),
        };
        let blocks = map::get_all(rel, map, indices.clone());
        let seen = |at: usize| {
            let before = before.as_ref()?.pages.get(at)?;
            (before.block == *blocks.get(at)?).then_some(before)
        };
        let versions = blocks.iter().enumerate().map(|(at, &block)| {
            if let Some(next) = seen(at + AHEAD) {
                buffer::prefetch(next.buffer, 0);
            }
            Version::of(rel, block, seen(at))
        });
        Versions {
            indices,
            pages: versions.collect(),
            logged,
        }
    }

    /// Whether they are the same pages, unchanged.
    pub fn are(&self, others: &Versions) -> bool {
        let version = |version: &Version| (version.block, version.lsn);
        let is_same = || self.pages.iter().map(version).eq(others.pages.iter().map(version));
        Rc::ptr_eq(&self.pages, &others.pages) || is_same()
    }

    /// Whether there is no page.
    pub fn is_empty(&self) -> bool {
        self.pages.iter().all(|version| version.block == 0)
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.pages[..])
    }
}

impl Version {
    fn of(rel: &Relation, block: u32, before: Option<&Version>) -> Version {
        if block == 0 {
            return Version::default();
        }
        let reads = READS.replace(READS.get().wrapping_add(1));
        let recent = before
            .filter(|_| !reads.is_multiple_of(LOOK_UP))
            .and_then(|before| Pin::read_recent(rel, block, before.buffer));
        let pin = recent.unwrap_or_else(|| Pin::read(rel, block));
        // Read without the lock, an LSN is of before a change until the change is done, or no page's, of two halves: so only
        // the one that was seen says something.
        let lsn = before
            .map(|before| before.lsn)
            .filter(|&lsn| pin.page().lsn() == lsn)
            .unwrap_or_else(|| pin.share().page().lsn());
        Version {
            block,
            lsn,
            buffer: pin.buffer(),
        }
    }
}
