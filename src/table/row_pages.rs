//! Row pages that a session scans again, unchanged: their rows are kept as a leaf in memory.
//!
//! A page is as it was while it is at the same place and has the same LSN, which every change gives it, in a relation that is
//! logged. What everyone saw then everyone sees now: rows that were settled, as a flush has it, and nothing of those that
//! were dead to everyone. A page with any other row is read row by row.

use crate::columnar::{OpenLeaf, PageLeaf, page_leaf};
use crate::guc;
use crate::hash::QuickMap;
use crate::heap::prune;
use crate::heap::settled::settled;
use crate::pg::memory::Context;
use crate::pg::relation::FileId;
use crate::pg::snapshot::is_serializable;
use crate::pg::values::Row;
use crate::pg::{Relation, xid};
use crate::storage::rowpage::{self, heap_tuple, is_stub};
use crate::storage::version::Versions;
use crate::storage::{manifest, map};
use amax_format::Error;
use amax_lsm::meta::Map;
use amax_lsm::tid;
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// Blocks of a leaf: those from one multiple of this to the next.
const BLOCKS: u32 = 64;
/// Scans that read pages row by row, before a leaf of them pays: to make one takes about twice as long.
const SCANS: u32 = 1;
/// The most scans between two looks at rows that are not settled.
const LONGEST: u32 = 50;
/// Leaves of which something is remembered.
const MOST: usize = 1 << 12;

/// What a session knows of some row pages.
struct Known {
    pages: Versions,
    /// Scans that have met them so, since somebody looked.
    scans: u32,
    /// How many come before the next look.
    wait: u32,
    found: Found,
}

impl Known {
    /// The next look comes after twice as many scans.
    fn put_off(&mut self) {
        (self.scans, self.wait, self.found) = (0, (2 * self.wait).min(LONGEST), Found::Unknown);
    }
}

/// The rows of some row pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Not looked for, or some were neither settled nor dead, which they may have become.
    Unknown,
    /// There is none that anyone sees.
    None,
    /// All that are not dead are settled; they are on so many pages.
    Settled(u64),
}

thread_local! {
    static KNOWN: RefCell<QuickMap<(FileId, u32), Known>> = RefCell::default();
}

/// Whether the relation's pages say by their LSNs whether they have changed, to a session that may remember: under SSI each look at a row counts,
/// on a standby pages change with others' horizons.
pub fn may_be_kept(rel: &Relation) -> bool {
    guc::decode_cache_bytes() > 0 && rel.needs_wal() && !manifest::on_standby() && !is_serializable()
}

/// Which blocks from `v` on, below `end`, are looked at together, none of them in a component; none where `v` is in the midst of such.
pub fn together(rel: &Relation, v: u32, end: u32) -> Range<u32> {
    let manifest = manifest::current(rel);
    let is_hot = |v: u32| manifest.component_of(v).is_none();
    if !v.is_multiple_of(BLOCKS) && is_hot(v - 1) {
        return v..v;
    }
    let most = end.min((v / BLOCKS + 1) * BLOCKS);
    let first_other = (v..most).find(|&v| !is_hot(v));
    v..first_other.unwrap_or(most)
}

/// Rows of row pages: none, or a leaf of those on so many pages.
pub type Rows = Option<(Rc<OpenLeaf>, u64)>;

/// The rows of these blocks; None if they have to be read one by one.
pub fn read(rel: &Relation, blocks: Range<u32>) -> Option<Rows> {
    let before = KNOWN.with_borrow(|known| Some(known.get(&(rel.file(), blocks.start))?.pages.clone()));
    let pages = Versions::of(rel, Map::Forward, blocks.clone(), before);
    match met(rel, blocks.start, pages) {
        (Found::None, _) => Some(None),
        (Found::Settled(pages), _) => {
            let leaf = page_leaf(rel, blocks.start);
            if leaf.is_none() {
                // The cache has let go of it, and may do so again.
                note(rel, blocks.start, Found::Unknown);
            }
            Some(Some((leaf?, pages)))
        }
        (Found::Unknown, false) => None,
        (Found::Unknown, true) => {
            // Also if an error ends it, the next look comes later.
            note(rel, blocks.start, Found::Unknown);
            let (found, leaf) = make(rel, blocks.clone());
            note(rel, blocks.start, found);
            match found {
                Found::None => Some(None),
                Found::Settled(pages) => Some(Some((leaf?, pages))),
                Found::Unknown => None,
            }
        }
    }
}

/// One scan more of pages, from block `v` on: what is known of them as they are, and whether it is time to look.
fn met(rel: &Relation, v: u32, pages: Versions) -> (Found, bool) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.clear();
        }
        let known = known.entry((rel.file(), v)).or_insert(Known {
            pages: Versions::default(),
            scans: 0,
            wait: SCANS,
            found: Found::Unknown,
        });
        if !known.pages.are(&pages) {
            (known.scans, known.wait, known.found) = (0, SCANS, Found::Unknown);
        }
        known.pages = pages;
        known.scans = known.scans.saturating_add(1);
        (known.found, known.scans > known.wait || looks_at_once())
    })
}

/// What has been found on pages, as they were met last.
fn note(rel: &Relation, v: u32, found: Found) {
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known.get_mut(&(rel.file(), v)) {
            known.found = found;
            if found == Found::Unknown && known.scans > 0 {
                known.put_off();
            }
        }
    });
}

/// For tests.
fn looks_at_once() -> bool {
    #[cfg(feature = "test_hooks")]
    return guc::fault_point().as_deref() == Some("page_leaves");
    #[cfg(not(feature = "test_hooks"))]
    false
}

/// Makes a leaf of the rows of blocks, if all are settled or dead, and there is memory.
fn make(rel: &Relation, blocks: Range<u32>) -> (Found, Option<Rc<OpenLeaf>>) {
    let mut context = Context::new("amax row pages");
    let (mut leaf, mut pages) = (PageLeaf::new(rel), 0);
    let oldest_xmin = xid::oldest_xmin(rel);
    for v in blocks.clone() {
        crate::memory::check_for_interrupts();
        let added = context.within(|| add(rel, &mut leaf, v, oldest_xmin));
        context.reset();
        match added {
            Ok(Some(rows)) => pages += u64::from(rows > 0),
            // What cannot be read is an error to who asks for it.
            Ok(None) | Err(_) => return unknown(),
        }
    }
    match leaf.finish(rel, blocks.start) {
        Ok(None) => (Found::None, None),
        Ok(leaf) => (Found::Settled(pages), leaf),
        Err(_) => unknown(),
    }
}

/// Rows that are read as they are, be it for want of memory.
fn unknown() -> (Found, Option<Rc<OpenLeaf>>) {
    amax_memory::forget();
    (Found::Unknown, None)
}

/// Adds the rows of a block: how many; None if some are neither settled nor dead, or have values out of line, or if there is no room.
fn add(
    rel: &Relation,
    leaf: &mut PageLeaf,
    v: u32,
    oldest_xmin: pg_sys::TransactionId,
) -> Result<Option<usize>, Error> {
    let Some(p) = map::physical(rel, v) else {
        return Ok(Some(0));
    };
    let pin = rowpage::read(rel, p);
    prune::if_worth(rel, &pin);
    if leaf.is_full(rel) {
        return Ok(None);
    }
    let mut offsets = Vec::new();
    {
        let lock = pin.share();
        for offset in rowpage::offsets(pin.page()) {
            let Some(mut tuple) = heap_tuple(rel, &pin, offset).filter(|tuple| !is_stub(tuple.header())) else {
                continue;
            };
            if settled(&mut tuple, &lock, oldest_xmin) && !tuple.header().has_external() {
                offsets.push(offset);
            } else if tuple.fate(oldest_xmin, lock.buffer()) != pg_sys::HTSV_Result::HEAPTUPLE_DEAD {
                return Ok(None);
            }
        }
    }
    // They stay where they are while the page is pinned.
    let mut values = Row::new(rel.desc().natts());
    for &offset in &offsets {
        let Some(mut tuple) = heap_tuple(rel, &pin, offset) else {
            return Ok(None);
        };
        let xid = tuple.header().stored_xmin().into_inner();
        leaf.push(tid::key(v, offset), xid, values.deform(&mut tuple, rel.desc()))?;
    }
    Ok(Some(offsets.len()))
}
