//! Flush: settled row pages become a component.
//!
//! A page is *settled* when everyone sees each of its rows and nobody holds or waits for one. Its rows are shredded as
//! they are; then the page is sealed, under the cleanup lock, unless it changed meanwhile; then the component is
//! published with the pages that could be sealed. Their row pages stay as they are until no snapshot can be reading
//! them (`reclaim`); then the chunks of their values out of line are killed, so no other version may share those
//! (invariant T8). Nothing here has a transaction id. An error or crash at any point leaves pages that are sealed but
//! belong to no component; the next writer or flush unseals them.

use crate::columnar::{Width, stub, write::ComponentWriter};
use crate::counters::{self, Written};
use crate::heap::settled::settled;
use crate::memory;
use crate::options::Options;
use crate::pg::memory::Context;
use crate::pg::progress;
use crate::pg::snapshot::widen_predicate_locks;
use crate::pg::vacuum::delay_point;
use crate::pg::values::Row;
use crate::pg::{Lock, Pin, Relation, stats};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, Item, heap_tuple};
use crate::storage::{manifest, map, meta, space};
use amax_lsm::{Key, RetiredPages, tid};
use pgrx::pg_sys;

/// What shredding so many bytes of rows takes beside the leaf being built: they are there as they are stored, as they
/// are, shredded, and grown; and of a document of small pairs, each key that is new takes many times what it has in the
/// document, up to a number of keys.
fn shredding(bytes: usize) -> usize {
    5 * bytes + (20 * bytes).min(64 << 20)
}

#[derive(Default)]
pub struct Flushed {
    pub pages: u64,
    pub rows: u64,
    /// Rows of components whose stubs were on those pages.
    pub released: Vec<Key>,
}

/// A page whose rows have been written.
struct Page {
    v: u32,
    p: u32,
    rows: u64,
    signature: u32,
    stubs: Vec<(Key, u16)>,
    aliases: Vec<(u16, u16)>,
}

/// Why a row page stays one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// It has no rows, or those of a flush that is under way.
    Empty,
    /// Rows are not settled.
    Changing,
    /// VACUUM has to see to rows that are dead.
    Dead,
    /// An UPDATE left values out of line alone: dead versions may share them until VACUUM has removed those.
    Shared,
    /// Rows are so wide that heap may refuse their stubs.
    Wide,
    /// Rows are too large together for a leaf.
    Large,
}

/// What a flush goes by.
#[derive(Clone, Copy)]
pub struct Limits {
    /// What ended before is over for everyone.
    pub oldest_xmin: pg_sys::TransactionId,
    /// A page's rows may be so many bytes.
    pub most: usize,
    /// Rows that are fewer bytes than so many pages, with what they hold out of line, are left alone.
    pub least: usize,
    /// Every version that has values out of line and ended before `oldest_xmin` has been pruned.
    pub pruned: bool,
}

/// Of how many pages VACUUM makes a component: an eighth of what `amax.flush_threshold` says of commits, for it comes
/// seldom, and what it leaves stays for long.
pub fn least_for_vacuum(rel: &Relation) -> usize {
    Options::of(rel).flush_threshold as usize / 8
}

/// Bytes in row pages, values out of line included, that are worth a VACUUM: as PostgreSQL does with rows, some, and a part
/// of what is there.
pub fn due_for_vacuum(rel: &Relation) -> usize {
    let columnar = manifest::current(rel).pages() as f64 * stats::vacuum_insert_scale();
    (least_for_vacuum(rel) + columnar as usize) * pg_sys::BLCKSZ as usize
}

/// Flushes the relation's settled pages. The caller holds the maintenance lock and has pruned what it could.
pub fn flush(rel: &Relation, limits: Limits) -> Flushed {
    let current = manifest::current(rel);
    let options = Options::of(rel);
    let unowned = current.unowned(meta::logical_blocks(rel));
    let mut candidates: Vec<(u32, u32)> = Vec::new();
    for v in unowned.blocks() {
        let Some(p) = map::physical(rel, v) else {
            continue;
        };
        let pin = rowpage::read(rel, p);
        let _lock = pin.share();
        if !rowpage::is_empty(pin.page()) {
            memory::make_room(&mut candidates, 1, "row pages to flush");
            candidates.push((v, p));
        }
    }
    if candidates.is_empty() || !are_enough(rel, &candidates, limits.least) {
        return Flushed::default();
    }
    super::fault("flush_chosen");
    let mut writer = ComponentWriter::new(rel, options, Some(manifest::take_free(rel, space::kept)));
    let mut context = Context::new("amax flush page");
    let mut pages = Vec::new();
    for (v, p) in candidates {
        delay_point();
        memory::make_room(&mut pages, 1, "flushed pages");
        pages.extend(context.within(|| write_page(rel, &mut writer, v, p, limits)));
        context.reset();
        progress::wrote(1);
    }
    // What takes much memory comes before pages are sealed.
    writer.finish_leaf(rel);
    super::fault("flush_shredded");
    let mut flushed = Flushed::default();
    let mut retired = Vec::new();
    memory::make_room(&mut retired, pages.len(), "flushed pages");
    let stubs = pages.iter().map(|page| page.stubs.len()).sum();
    memory::make_room(&mut flushed.released, stubs, "released rows");
    for page in &pages {
        if seal(rel, page, limits.oldest_xmin) {
            writer.own(page.v);
            retired.push((page.v, page.p));
            flushed.pages += 1;
            flushed.rows += page.rows;
            flushed.released.extend(page.stubs.iter().map(|s| s.0));
        }
    }
    super::fault("flush_sealed");
    // Predicate locks on physical TIDs become one on the relation, which writers of columnar rows run into.
    widen_predicate_locks(rel);
    let (mut component, left, component_pages) = writer.finish(rel, None);
    component.rows = flushed.rows;
    let pages_written = component.pages;
    super::fault("flush_written");
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&left);
        if retired.is_empty() {
            // Every page changed meanwhile: what was written for nothing was never seen by anyone.
            return component_pages.iter().for_each(|&extent| manifest.free.give(extent));
        }
        manifest.add(component);
        manifest.retire(RetiredPages::Rows(retired));
    });
    if flushed.pages > 0 {
        counters::wrote(rel, Written::Flush, flushed.rows, pages_written);
    }
    super::fault("flush_published");
    flushed
}

/// Whether so many row pages, with the rows on them that hold values out of line, are as many bytes as `least` pages.
pub fn is_enough(pages: usize, large: usize, least: usize) -> bool {
    let page = pg_sys::BLCKSZ as usize;
    pages * page + large >= least * page
}

/// The same of these pages.
fn are_enough(rel: &Relation, pages: &[(u32, u32)], least: usize) -> bool {
    let (mut large, mut left) = (0, pages.iter());
    while !is_enough(pages.len(), large, least) {
        let Some(&(_, p)) = left.next() else {
            return false;
        };
        delay_point();
        let pin = Pin::read(rel, p);
        let _lock = pin.share();
        large += large_bytes(rel, &pin);
    }
    true
}

/// Bytes of the relation's row pages, and of the rows on them that hold values out of line.
#[derive(Default)]
pub struct Waiting {
    pub pages: usize,
    pub large: usize,
}

impl Waiting {
    /// No more than `most` are counted.
    pub fn of(rel: &Relation, most: usize) -> Waiting {
        let mut waiting = Waiting::default();
        for v in manifest::current(rel).unowned(meta::logical_blocks(rel)).blocks() {
            if waiting.pages + waiting.large >= most {
                break;
            }
            delay_point();
            if let Some(p) = map::physical(rel, v) {
                let pin = rowpage::read(rel, p);
                let _lock = pin.share();
                if !rowpage::is_empty(pin.page()) {
                    waiting.pages += pg_sys::BLCKSZ as usize;
                    waiting.large += large_bytes(rel, &pin);
                }
            }
        }
        waiting
    }
}

/// The bytes of those pages that may be flushed once others have ended, values out of line included.
pub fn unsettled_bytes(rel: &Relation, limits: &Limits) -> usize {
    let mut bytes = 0;
    for v in manifest::current(rel).unowned(meta::logical_blocks(rel)).blocks() {
        delay_point();
        if let Some(p) = map::physical(rel, v) {
            let left = look_at(rel, v, p, limits);
            if left.rows > 0 && matches!(left.why, None | Some(Kept::Changing)) {
                bytes += pg_sys::BLCKSZ as usize + left.large;
            }
        }
    }
    bytes
}

/// Bytes of those rows of a page, which the caller has locked, that hold values out of line.
fn large_bytes(rel: &Relation, pin: &Pin) -> usize {
    let mut row = Row::new(rel.desc().natts());
    let tuples = rowpage::offsets(pin.page()).filter_map(|offset| heap_tuple(rel, pin, offset));
    let large = tuples.filter(|tuple| tuple.header().has_external() && stub::key_of(tuple).is_none());
    large
        .map(|mut tuple| row.deform(&mut tuple, rel.desc()).varying_bytes(rel.desc()))
        .sum()
}

/// What a row page holds that is in no component, and why it stays, if it does.
pub struct Left {
    pub rows: u64,
    /// Values out of line included.
    pub bytes: u64,
    /// As [`is_enough`] counts them.
    pub large: usize,
    pub why: Option<Kept>,
}

/// Looks at a row page as a flush would.
pub fn look_at(rel: &Relation, v: u32, p: u32, limits: &Limits) -> Left {
    let pin = Pin::read(rel, p);
    let lock = pin.share();
    let mut left = Left {
        rows: 0,
        bytes: 0,
        large: large_bytes(rel, &pin),
        why: None,
    };
    let mut row = Row::new(rel.desc().natts());
    for offset in rowpage::offsets(pin.page()) {
        let Some(mut tuple) = heap_tuple(rel, &pin, offset) else {
            continue;
        };
        let dead = tuple.fate(limits.oldest_xmin, lock.buffer()) == pg_sys::HTSV_Result::HEAPTUPLE_DEAD;
        if dead || stub::key_of(&tuple).is_some() {
            continue;
        }
        left.rows += 1;
        left.bytes += match tuple.header().has_external() {
            true => row.deform(&mut tuple, rel.desc()).varying_bytes(rel.desc()),
            false => tuple.len(),
        } as u64;
    }
    let examined = examine(rel, &pin, &lock, v, limits.oldest_xmin);
    drop(lock);
    let allowed = examined.and_then(|(_, offsets)| bytes_out_of_line(rel, &pin, &offsets, limits));
    left.why = allowed.err();
    left
}

/// Writes the rows of a settled page.
fn write_page(rel: &Relation, writer: &mut ComponentWriter, v: u32, p: u32, limits: Limits) -> Option<Page> {
    let pin = Pin::read(rel, p);
    let examined = {
        let lock = pin.share();
        examine(rel, &pin, &lock, v, limits.oldest_xmin).ok()
    };
    let (page, offsets) = examined.or_else(|| recover(rel, &pin, v, limits.oldest_xmin))?;
    let bytes = bytes_out_of_line(rel, &pin, &offsets, &limits).ok()?;
    if !writer.has_room(rel, shredding(bytes)) {
        return None;
    }
    let mut values = Row::new(rel.desc().natts());
    for offset in offsets {
        // Settled rows may be locked or deleted from here on; their attributes stay, and sealing looks again.
        let mut tuple = heap_tuple(rel, &pin, offset)?;
        let xid = tuple.header().xmin().into_inner();
        writer.push(rel, tid::key(v, offset), xid, values.deform(&mut tuple, rel.desc()));
    }
    for &(alias, offset) in &page.aliases {
        writer.alias(v, alias, offset);
    }
    Some(page)
}

/// What the rows hold out of line, decompressed, if they may be flushed.
fn bytes_out_of_line(rel: &Relation, pin: &Pin, offsets: &[u16], limits: &Limits) -> Result<usize, Kept> {
    let mut row = Row::new(rel.desc().natts());
    let of_stubs = Width::of_whole_stubs(rel);
    let mut bytes = 0;
    for &offset in offsets {
        let Some(mut tuple) = heap_tuple(rel, pin, offset) else {
            continue;
        };
        let external = tuple.header().has_external();
        if external && !limits.pruned && tuple.header().is_updated() {
            return Err(Kept::Shared);
        }
        if !external && of_stubs.is_none() {
            continue;
        }
        let values = row.deform(&mut tuple, rel.desc());
        if of_stubs.as_ref().is_some_and(|w| w.is_for_heap(values)) {
            return Err(Kept::Wide);
        }
        bytes += values.varying_bytes(rel.desc());
    }
    if bytes > limits.most {
        Err(Kept::Large)
    } else {
        Ok(bytes)
    }
}

/// A page that an earlier flush sealed and never published: unsealed, it is a page like others.
fn recover(rel: &Relation, pin: &Pin, v: u32, oldest_xmin: pg_sys::TransactionId) -> Option<(Page, Vec<u16>)> {
    {
        let _lock = pin.share();
        if !rowpage::is_sealed(pin.page()) {
            return None;
        }
    }
    super::unseal(rel, pin.block());
    examine(rel, pin, &pin.share(), v, oldest_xmin).ok()
}

/// The page's rows if it is settled: what sealing needs to know, and the offsets of the rows.
fn examine(
    rel: &Relation,
    pin: &Pin,
    lock: &Lock,
    v: u32,
    oldest_xmin: pg_sys::TransactionId,
) -> Result<(Page, Vec<u16>), Kept> {
    if rowpage::is_sealed(pin.page()) {
        return Err(Kept::Empty);
    }
    let mut page = Page {
        v,
        p: pin.block(),
        rows: 0,
        signature: 0,
        stubs: Vec::new(),
        aliases: Vec::new(),
    };
    let mut offsets = Vec::new();
    let mut signed = Vec::new();
    for offset in rowpage::offsets(pin.page()) {
        match rowpage::item(pin.page(), offset) {
            Item::Unused => continue,
            Item::Dead => return Err(Kept::Dead),
            Item::Redirect(to) => page.aliases.push((offset, to)),
            Item::Normal { .. } => {
                let mut tuple = heap_tuple(rel, pin, offset).ok_or(Kept::Changing)?;
                if !settled(&mut tuple, lock, oldest_xmin) {
                    return Err(Kept::Changing);
                }
                signed.extend_from_slice(&tuple.header().stored_xmin().into_inner().to_le_bytes());
                match stub::key_of(&tuple) {
                    Some(key) => page.stubs.push((key, offset)),
                    None => offsets.push(offset),
                }
            }
        }
        signed.extend_from_slice(&offset.to_le_bytes());
        if let Item::Normal { at, len } = rowpage::item(pin.page(), offset) {
            signed.extend_from_slice(&at.to_le_bytes());
            signed.extend_from_slice(&len.to_le_bytes());
        }
    }
    if offsets.is_empty() {
        // Nothing to flush: its space is for new rows.
        return Err(Kept::Empty);
    }
    page.rows = offsets.len() as u64;
    page.signature = crc32c::crc32c(&signed);
    Ok((page, offsets))
}

/// Seals the page if it is still what was written; its stubs' rows are as if never touched.
fn seal(rel: &Relation, page: &Page, oldest_xmin: pg_sys::TransactionId) -> bool {
    let pin = Pin::read(rel, page.p);
    {
        let Some(lock) = pin.try_cleanup() else {
            return false;
        };
        match examine(rel, &pin, &lock, page.v, oldest_xmin) {
            Ok((now, _)) if now.signature == page.signature => {}
            _ => return false,
        }
        super::fault("flush_sealing");
        let mut change = Change::begin(rel);
        let handle = change.borrowed(&lock);
        rowpage::seal(&mut change.whole(handle));
        change.commit();
    }
    super::fault("flush_page_sealed");
    for &(row, offset) in &page.stubs {
        stub::release(rel, row, (page.p, offset));
    }
    true
}
