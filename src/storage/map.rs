//! The page maps (crates/lsm `meta::Map`): logical block to row page, row page to logical block, stub directory.

use super::buffer::{Change, Kind, word, word_unlocked};
use super::cache::{self, Kept};
use super::checked;
use super::meta::BLOCK as META;
use super::{meta, rowpage, space};
use crate::disguise::size::Physical;
use crate::memory;
use crate::pg::buffer::Locked;
use crate::pg::snapshot::check_readers;
use crate::pg::{Pin, Relation, free_space, relation::FileId, xid};
use amax_lsm::meta::{self as layout, Map, Slot, get_u32, put_u32};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ops::Range;

/// The entry at `index`; 0 when there is none.
pub fn get(rel: &Relation, map: Map, index: u32) -> u32 {
    match slot(rel, map, index) {
        Slot::Inline(at) => meta::read(rel, |page| get_u32(page, at)).unwrap_or(0),
        Slot::Tree { low, .. } => match leaf(rel, map, index) {
            0 => 0,
            block => read_map(rel, block, low),
        },
    }
}

/// The entries at some indices; a page of the map is read once for all that are on it.
pub fn get_all(rel: &Relation, map: Map, indices: Range<u32>) -> Vec<u32> {
    let mut found = Vec::with_capacity(indices.len());
    let mut next = indices.start;
    while next < indices.end {
        let of_page = next..indices.end.min((next / layout::MAP_FANOUT + 1) * layout::MAP_FANOUT);
        next = of_page.end;
        let (Slot::Tree { low, .. }, block) = (slot(rel, map, of_page.start), leaf(rel, map, of_page.start)) else {
            found.extend(of_page.map(|index| get(rel, map, index)));
            continue;
        };
        if block == 0 {
            found.resize(found.len() + of_page.len(), 0);
            continue;
        }
        let pin = Pin::read(rel, block);
        let lock = pin.share();
        let payload = lock.payload(rel, Kind::Map);
        found.extend((low..low + of_page.len()).map(|at| get_u32(payload, at * 4)));
    }
    found
}

/// The row page of logical block `v`, if it has one.
pub fn physical(rel: &Relation, v: u32) -> Option<u32> {
    Map::Forward.slot(v)?;
    Some(get(rel, Map::Forward, v)).filter(|&p| p != 0)
}

/// The same where the metapage itself says so, of a small table; None if it does not.
pub fn physical_inline(metapage: &[u8], v: u32) -> Option<u32> {
    match Map::Forward.slot(v)? {
        Slot::Inline(at) => Some(get_u32(metapage, at)),
        Slot::Tree { .. } => None,
    }
}

/// The logical block of row page `p`, if it has one.
pub fn logical(rel: &Relation, p: u32) -> Option<u32> {
    Map::Reverse.slot(p)?;
    get(rel, Map::Reverse, p).checked_sub(1)
}

/// The logical block of row page `p`; gives it the next one if it has none. Called by whoever put a row there, before
/// anyone else can know of the row. Pages that hio.c added and nobody used stay without.
pub fn adopt(rel: &Relation, p: u32) -> u32 {
    let (v, new) = adopt_unread(rel, p);
    if new {
        // heap_insert() has done so, but a reader could not see the row on its page then.
        check_readers(rel);
    }
    v
}

/// A row that our transaction has just put on a row page, and that nothing but its end takes away, keeps the page mapped
/// until then: only pages whose rows are settled, or that have none, are given to others. What comes next mostly goes to
/// the same page.
pub fn keep(rel: &Relation, v: u32, p: u32) {
    let kept = xid::current().map(|xid| Kept { xid, v, p });
    cache::with(rel, |c| c.kept = kept);
}

fn kept(rel: &Relation) -> Option<Kept> {
    let kept = cache::with(rel, |c| c.kept)?;
    (xid::current() == Some(kept.xid)).then_some(kept)
}

/// [`physical`], if we keep it so.
pub fn kept_physical(rel: &Relation, v: u32) -> Option<u32> {
    kept(rel).filter(|kept| kept.v == v).map(|kept| kept.p)
}

/// The same for what no reader can have missed, a stub; and whether the page had none. Nothing but a pin keeps an idle stub on its page, and the page
/// what it is: the caller has one, and has seen the stub there since.
pub fn adopt_unread(rel: &Relation, p: u32) -> (u32, bool) {
    if let Some(kept) = kept(rel).filter(|kept| kept.p == p) {
        return (kept.v, false);
    }
    if let Some(v) = logical(rel, p) {
        return (v, false);
    }
    ensure_leaf(rel, Map::Reverse, p);
    loop {
        let v = meta::logical_blocks(rel);
        ensure_leaf(rel, Map::Forward, v);
        let mut change = Change::begin(rel);
        let metapage = change.page(META, Kind::Meta);
        if layout::blocks(change.payload(metapage)) != v {
            continue;
        }
        // The metapage's lock serializes all of this.
        let reverse = Entry::open(&mut change, rel, metapage, Map::Reverse, p);
        if let Some(v) = reverse.get(&change).checked_sub(1) {
            return (v, false);
        }
        if v + 1 == pg_sys::InvalidBlockNumber {
            meta::out_of_blocks(rel);
        }
        let forward = Entry::open(&mut change, rel, metapage, Map::Forward, v);
        reverse.set(&mut change, v + 1);
        forward.set(&mut change, p);
        layout::set_blocks(change.payload_mut(metapage), v + 1);
        change.commit();
        note_growth(rel, v);
        return (v, true);
    }
}

/// What our transaction has added to a relation's row pages, or that it has looked at all of them.
pub struct Grown {
    pub relid: pg_sys::Oid,
    pub file: FileId,
    /// Row pages.
    pub pages: u32,
    /// Of rows too large for a page as they are, wherever they have come to lie.
    pub large_bytes: usize,
    /// The most zeros that the binary form of one of their logical blocks ends in: of 2^n pages one has n.
    pub zeros: u32,
    /// Whether it has counted the relation's rows, for ANALYZE.
    pub analyzed: bool,
}

thread_local! {
    static GROWN: RefCell<Vec<Grown>> = const { RefCell::new(Vec::new()) };
}

fn note_growth(rel: &Relation, v: u32) {
    if rel.rewrite_of().is_some() {
        // A table's new file: the relation ends with the statement. PostgreSQL forgets that it has if a savepoint is
        // rolled back later, and fails to look it up.
        return;
    }
    note(rel, |grown| {
        grown.pages += 1;
        grown.zeros = grown.zeros.max(v.trailing_zeros().min(31));
    });
}

/// A row of so many bytes has come to row pages; it counts if most of it has to be kept elsewhere.
pub fn note_row(rel: &Relation, bytes: usize) {
    const LARGE: usize = pg_sys::BLCKSZ as usize;
    if bytes >= LARGE && rel.rewrite_of().is_none() {
        note(rel, |grown| grown.large_bytes += bytes);
    }
}

pub fn note_analyzed(rel: &Relation) {
    note(rel, |grown| grown.analyzed = true);
}

fn note(rel: &Relation, add: impl FnOnce(&mut Grown)) {
    let file = rel.file();
    GROWN.with_borrow_mut(|grown| {
        let known = grown.iter().position(|g| g.file == file).unwrap_or_else(|| {
            grown.push(Grown {
                relid: rel.id(),
                file,
                pages: 0,
                large_bytes: 0,
                zeros: 0,
                analyzed: false,
            });
            grown.len() - 1
        });
        add(&mut grown[known]);
    });
}

/// What has been noted since it was last asked for.
pub fn take_grown() -> Vec<Grown> {
    GROWN.take()
}

/// Takes the mapping of `v` and `p` back: the page is about to be something else.
pub fn forget(rel: &Relation, v: u32, p: u32) {
    forget_all(rel, &[(v, p)]);
}

/// The same of many. Whoever fails in between has some left.
pub fn forget_all(rel: &Relation, pages: &[(u32, u32)]) {
    let entries = |&(v, p): &(u32, u32)| [(Map::Reverse, p), (Map::Forward, v)];
    // Those whose entries are on the same pages are one change.
    let on = |of: &(u32, u32)| entries(of).map(|(map, index)| place(rel, map, index).0);
    for together in pages.chunk_by(|a, b| on(a) == on(b)) {
        let mut change = Change::begin(rel);
        let metapage = change.page(META, Kind::Meta);
        let first = entries(&together[0]).map(|(map, index)| Entry::open(&mut change, rel, metapage, map, index));
        for of in together {
            for ((map, index), Entry { page, .. }) in entries(of).into_iter().zip(&first) {
                let at = place(rel, map, index).1;
                Entry { page: *page, at }.set(&mut change, 0);
            }
        }
        layout::bump_epoch(change.payload_mut(metapage));
        change.commit();
    }
}

/// Sets an entry that has none yet to a page made for it; returns what the entry holds then.
pub fn get_or_make(rel: &Relation, map: Map, index: u32, kind: Kind) -> u32 {
    let held = get(rel, map, index);
    if held != 0 {
        return held;
    }
    ensure_leaf(rel, map, index);
    let mut spare = None;
    loop {
        let mut change = Change::begin(rel);
        let metapage = change.page(META, Kind::Meta);
        let entry = Entry::open(&mut change, rel, metapage, map, index);
        let held = entry.get(&change);
        if held != 0 {
            drop(change);
            if let Some(block) = spare {
                space::give_back(rel, block);
            }
            return held;
        }
        let found = match spare {
            Some(block) => Some(Pin::read(rel, block).lock()),
            None => unused_row_page(rel),
        };
        if let Some(page) = found {
            let block = page.block();
            change.format(page, kind);
            entry.set(&mut change, block);
            change.commit();
            return block;
        }
        // One is made while we hold no page, and then we look again.
        drop(change);
        spare = Some(space::page(rel, space::for_manifests));
    }
}

/// Pages of the free space map that are looked at.
const CANDIDATES: u32 = 16;

/// A row page without a row and without a logical block, locked for the caller, who makes something else of it: whoever
/// finds it in the free space map looks again under its lock. We wait for none, as the caller holds other pages.
fn unused_row_page(rel: &Relation) -> Option<Locked> {
    let guard = Physical::enter();
    for _ in 0..CANDIDATES {
        let p = free_space::find(rel, rowpage::EMPTY);
        if p >= rel.physical_blocks() {
            break;
        }
        let pin = Pin::read(rel, p);
        let Some(lock) = pin.try_exclusive() else {
            continue;
        };
        let unused = !lock.is_ours() && rowpage::is_empty(pin.page()) && !is_mapped(rel, p);
        // The free space map does not hear of every use of a page.
        let left = if unused { 0 } else { pin.page().heap_free_space() };
        free_space::record(rel, p, left);
        if unused {
            lock.keep();
            drop(guard);
            return Some(pin.locked());
        }
    }
    None
}

/// Whether row page `p`, which the caller has locked and found empty, has a logical block: it gets one only when a row
/// is on it. The caller may hold the metapage.
fn is_mapped(rel: &Relation, p: u32) -> bool {
    let v = match slot(rel, Map::Reverse, p) {
        Slot::Inline(at) => word_unlocked(rel, META, at),
        Slot::Tree { low, .. } => match leaf(rel, Map::Reverse, p) {
            0 => 0,
            block => word_unlocked(rel, block, low * 4),
        },
    };
    v != 0
}

/// Takes back an entry that leads to a page of kind `kind`, if `f` agrees, which may note that on the page; returns the
/// page.
pub fn take_back(rel: &Relation, map: Map, index: u32, kind: Kind, f: impl FnOnce(&mut [u8]) -> bool) -> Option<u32> {
    if get(rel, map, index) == 0 {
        return None;
    }
    let mut change = Change::begin(rel);
    let metapage = change.page(META, Kind::Meta);
    let entry = Entry::open(&mut change, rel, metapage, map, index);
    let block = entry.get(&change);
    if block == 0 {
        return None;
    }
    let page = change.page(block, kind);
    if !f(change.payload_mut(page)) {
        return None;
    }
    entry.set(&mut change, 0);
    change.commit();
    Some(block)
}

/// An entry within a change that has locked the metapage.
struct Entry {
    page: usize,
    at: usize,
}

impl Entry {
    /// The entry's map page must exist.
    fn open(change: &mut Change, rel: &Relation, metapage: usize, map: Map, index: u32) -> Entry {
        let (block, at) = place(rel, map, index);
        let page = match block {
            None => metapage,
            Some(block) => change.page(block, Kind::Map),
        };
        Entry { page, at }
    }

    fn get(&self, change: &Change) -> u32 {
        get_u32(change.payload(self.page), self.at)
    }

    fn set(&self, change: &mut Change, value: u32) {
        put_u32(change.payload_mut(self.page), self.at, value)
    }
}

/// The map page that has an entry, none if it is the metapage, and where.
fn place(rel: &Relation, map: Map, index: u32) -> (Option<u32>, usize) {
    match slot(rel, map, index) {
        Slot::Inline(at) => (None, at),
        Slot::Tree { low, .. } => (Some(leaf(rel, map, index)), low * 4),
    }
}

fn slot(rel: &Relation, map: Map, index: u32) -> Slot {
    map.slot(index).unwrap_or_else(|| meta::out_of_blocks(rel))
}

/// The lower map page for `index`, 0 when it does not exist. Map pages never move while a relation keeps its
/// relfilenode, so they are remembered.
pub fn leaf(rel: &Relation, map: Map, index: u32) -> u32 {
    let Slot::Tree { table, mid, .. } = slot(rel, map, index) else {
        return 0;
    };
    let key = (map, index / layout::MAP_FANOUT);
    if let Some(block) = cache::with(rel, |c| c.map_pages.get(&key).copied()) {
        return block;
    }
    // A reader that holds the metapage (see `Change`) must not lock it again: it is read without a lock, which is sound
    // for one aligned word that only ever goes from 0 to its final value.
    let upper = word_unlocked(rel, META, table);
    let block = if upper == 0 { 0 } else { read_map(rel, upper, mid) };
    if block != 0 {
        cache::with(rel, |c| c.map_pages.insert(key, block));
    }
    block
}

/// A map page, sound; None if there is none.
pub fn pinned(rel: &Relation, block: u32) -> Option<Pin> {
    let pin = (block != 0).then(|| Pin::read(rel, block))?;
    pin.share().payload(rel, Kind::Map);
    Some(pin)
}

fn read_map(rel: &Relation, block: u32, low: usize) -> u32 {
    let pin = Pin::read(rel, block);
    if checked::is_known(rel, &pin) {
        // Found to be such a page, and not changed since: what one word says held a moment ago needs no lock.
        return word(&pin, low * 4);
    }
    let lock = pin.share();
    get_u32(lock.payload(rel, Kind::Map), low * 4)
}

/// Makes the map pages on the way to `index`.
fn ensure_leaf(rel: &Relation, map: Map, index: u32) {
    let Slot::Tree { table, mid, .. } = slot(rel, map, index) else {
        return;
    };
    while leaf(rel, map, index) == 0 {
        let block = space::page(rel, space::for_manifests);
        let mut change = Change::begin(rel);
        let metapage = change.page(META, Kind::Meta);
        let upper = get_u32(change.payload(metapage), table);
        let (page, at) = if upper == 0 {
            (metapage, table)
        } else {
            (change.page(upper, Kind::Map), mid * 4)
        };
        if get_u32(change.payload(page), at) == 0 {
            change.format(Pin::read(rel, block).lock(), Kind::Map);
            put_u32(change.payload_mut(page), at, block);
            change.commit();
        } else {
            drop(change);
            space::give_back(rel, block);
        }
    }
}

/// A page of the maps or of the stub directory, and the word that leads to it.
pub struct Link {
    pub page: u32,
    kind: Kind,
    from: (u32, Kind),
    at: usize,
}

/// All such pages, those that are led to from others after those; and all row pages that have a logical block.
pub fn walk(rel: &Relation) -> (Vec<Link>, Vec<u32>) {
    let (mut upper, mut lower, mut stubs) = (Vec::new(), Vec::new(), Vec::new());
    let mut row_pages = Vec::new();
    let link = |page, kind, from, at| Link { page, kind, from, at };
    let fanout = layout::MAP_FANOUT;
    for map in [Map::Forward, Map::Reverse, Map::Stubs] {
        let (table, inline) = meta::read(rel, |meta| {
            let (at, count) = map.table();
            let table = (0..count).map(|i| (at + i * 4, get_u32(meta, at + i * 4)));
            let inline = (0..layout::INLINE).filter(|&i| match map.slot(i) {
                Some(Slot::Inline(at)) => get_u32(meta, at) != 0,
                _ => false,
            });
            (table.collect::<Vec<_>>(), inline.collect::<Vec<u32>>())
        })
        .unwrap_or_default();
        if map == Map::Reverse {
            row_pages.extend(inline);
        }
        for (top, (at, page)) in table.into_iter().enumerate().filter(|t| t.1.1 != 0) {
            upper.push(link(page, Kind::Map, (META, Kind::Meta), at));
            for (mid, leaf) in entries_of(rel, page) {
                crate::memory::check_for_interrupts();
                lower.push(link(leaf, Kind::Map, (page, Kind::Map), mid as usize * 4));
                let first = (top as u32 * fanout + mid) * fanout;
                memory::make_room(&mut row_pages, fanout as usize, "pages of a table");
                memory::make_room(&mut stubs, fanout as usize, "pages of a table");
                for (low, value) in entries_of(rel, leaf) {
                    match map {
                        Map::Forward => break,
                        Map::Reverse => row_pages.push(first + low),
                        Map::Stubs => {
                            let from = (leaf, Kind::Map);
                            stubs.push(link(value, Kind::Stubs, from, low as usize * 4));
                        }
                    }
                }
            }
        }
    }
    stubs.append(&mut lower);
    stubs.append(&mut upper);
    (stubs, row_pages)
}

/// The entries in use of a map page: (place, value).
fn entries_of(rel: &Relation, block: u32) -> Vec<(u32, u32)> {
    let pin = Pin::read(rel, block);
    let lock = pin.share();
    let payload = lock.payload(rel, Kind::Map);
    let entries = (0..layout::MAP_FANOUT).map(|i| (i, get_u32(payload, i as usize * 4)));
    entries.filter(|e| e.1 != 0).collect()
}

/// Moves the page of a link to a free page. Nobody else may be using the relation, and what backends remember of it is
/// void.
pub fn relocate(rel: &Relation, link: &Link, to: u32) {
    let content = Pin::read(rel, link.page).share().payload(rel, link.kind).to_vec();
    let mut change = Change::begin(rel);
    let from = change.page(link.from.0, link.from.1);
    let page = change.format(Pin::read(rel, to).lock(), link.kind);
    change.payload_mut(page).copy_from_slice(&content);
    put_u32(change.payload_mut(from), link.at, to);
    change.commit();
}
