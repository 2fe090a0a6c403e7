//! Flush: settled row pages become a component.
//!
//! A page is *settled* when everyone sees each of its rows and nobody holds or waits for one. Its rows are shredded as
//! they are; then the page is sealed, under the cleanup lock, unless it changed meanwhile; then the component is
//! published with the pages that could be sealed. Their row pages stay as they are until no snapshot can be reading
//! them (`reclaim`). Nothing here has a transaction id. An error or crash at any point leaves pages that are sealed but
//! belong to no component; the next writer or flush unseals them.

use crate::columnar::{Width, stub, write::ComponentWriter};
use crate::heap::settled::settled;
use crate::options::Options;
use crate::pg::memory::Context;
use crate::pg::snapshot::widen_predicate_locks;
use crate::pg::vacuum::delay_point;
use crate::pg::values::Row;
use crate::pg::{Lock, Pin, Relation};
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

/// Flushes the relation's settled pages whose rows are no more than `most` bytes. The caller holds the maintenance lock
/// and has pruned what it could.
pub fn flush(rel: &Relation, oldest_xmin: pg_sys::TransactionId, most: usize) -> Flushed {
    let current = manifest::current(rel);
    let options = Options::of(rel);
    let unowned = current.unowned(meta::logical_blocks(rel));
    let candidates: Vec<(u32, u32)> = unowned
        .blocks()
        .filter_map(|v| Some((v, map::physical(rel, v)?)))
        .filter(|&(_, p)| {
            let pin = rowpage::read(rel, p);
            let _lock = pin.share();
            !rowpage::is_empty(pin.page())
        })
        .collect();
    if candidates.is_empty() || candidates.len() < options.flush_threshold as usize {
        return Flushed::default();
    }
    super::fault("flush_chosen");
    let mut writer = ComponentWriter::new(rel, options, Some(manifest::take_free(rel, space::kept)));
    let mut context = Context::new("amax flush page");
    let mut pages = Vec::new();
    for (v, p) in candidates {
        delay_point();
        pages.extend(context.within(|| write_page(rel, &mut writer, v, p, oldest_xmin, most)));
        context.reset();
    }
    // What takes much memory comes before pages are sealed.
    writer.finish_leaf(rel);
    super::fault("flush_shredded");
    let mut flushed = Flushed::default();
    let mut retired = Vec::new();
    for page in &pages {
        if seal(rel, page, oldest_xmin) {
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
    super::fault("flush_written");
    manifest::publish(rel, |manifest| {
        manifest.free.give_all(&left);
        if retired.is_empty() {
            // Every page changed meanwhile: what was written for nothing was never seen by anyone.
            return component_pages.iter().for_each(|&extent| manifest.free.give(extent));
        }
        component.id = manifest.next_component;
        manifest.next_component += 1;
        manifest.components.push(component);
        manifest.retire(RetiredPages::Rows(retired));
    });
    super::fault("flush_published");
    flushed
}

/// Writes the rows of a settled page.
fn write_page(
    rel: &Relation,
    writer: &mut ComponentWriter,
    v: u32,
    p: u32,
    oldest_xmin: pg_sys::TransactionId,
    most: usize,
) -> Option<Page> {
    let pin = Pin::read(rel, p);
    let (page, offsets) = {
        let lock = pin.share();
        if rowpage::is_sealed(pin.page()) {
            None
        } else {
            examine(rel, &pin, &lock, v, oldest_xmin)
        }
    }
    .or_else(|| recover(rel, &pin, v, oldest_xmin))?;
    let bytes = bytes_out_of_line(rel, &pin, &offsets)?;
    if bytes > most || !writer.has_room(rel, shredding(bytes)) {
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

/// What the rows hold out of line, decompressed; None if one of them does not fit the stub that it may need.
fn bytes_out_of_line(rel: &Relation, pin: &Pin, offsets: &[u16]) -> Option<usize> {
    let mut row = Row::new(rel.desc().natts());
    let of_stubs = Width::of_whole_stubs(rel);
    let mut bytes = 0;
    for &offset in offsets {
        let Some(mut tuple) = heap_tuple(rel, pin, offset) else {
            continue;
        };
        let external = tuple.header().infomask() & pg_sys::HEAP_HASEXTERNAL as u16 != 0;
        if !external && of_stubs.is_none() {
            continue;
        }
        let values = row.deform(&mut tuple, rel.desc());
        if of_stubs.as_ref().is_some_and(|w| w.is_for_heap(values)) {
            return None;
        }
        bytes += values.varying_bytes(rel.desc());
    }
    Some(bytes)
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
    examine(rel, pin, &pin.share(), v, oldest_xmin)
}

/// The page's rows if it is settled: what sealing needs to know, and the offsets of the rows.
fn examine(
    rel: &Relation,
    pin: &Pin,
    lock: &Lock,
    v: u32,
    oldest_xmin: pg_sys::TransactionId,
) -> Option<(Page, Vec<u16>)> {
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
            Item::Dead => return None,
            Item::Redirect(to) => page.aliases.push((offset, to)),
            Item::Normal { .. } => {
                let mut tuple = heap_tuple(rel, pin, offset)?;
                if !settled(&mut tuple, lock, oldest_xmin) {
                    return None;
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
        return None;
    }
    page.rows = offsets.len() as u64;
    page.signature = crc32c::crc32c(&signed);
    Some((page, offsets))
}

/// Seals the page if it is still what was written; its stubs' rows are as if never touched.
fn seal(rel: &Relation, page: &Page, oldest_xmin: pg_sys::TransactionId) -> bool {
    let pin = Pin::read(rel, page.p);
    {
        let Some(lock) = pin.try_cleanup() else {
            return false;
        };
        match examine(rel, &pin, &lock, page.v, oldest_xmin) {
            Some((now, _)) if now.signature == page.signature => {}
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
