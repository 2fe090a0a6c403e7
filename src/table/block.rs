//! All rows of one logical block, wherever they live. Every kind of scan is a walk over these.
//!
//! A block is looked up in the current manifest: when a flush moves it from a row page to a component while a
//! scan runs, both copies hold the same rows for every snapshot that can be in use (only settled pages are flushed), so
//! either is right.

use super::slot;
use crate::columnar::{self, LeafRows, Pick};
use crate::heap::modify::search_chain;
use crate::heap::prune;
use crate::pg::snapshot::{is_serializable, predicate_lock};
use crate::pg::{Lock, Page, Pin, Relation, Slot, Snapshot};
use crate::storage::manifest::{self, Replaced};
use crate::storage::rowpage::{self, heap_tuple, heap_tuple_of, is_stub, new_tid};
use crate::storage::watch::Watch;
use crate::storage::{checked, map, meta};
use pgrx::pg_sys;

/// Where a logical block's rows are.
pub enum Place {
    /// In the row page at this physical block.
    Hot(u32),
    /// In this component of the manifest.
    Columnar(std::rc::Rc<amax_lsm::Manifest>, usize),
    /// Nowhere: handed out and never used, or used by a load that was rolled back.
    Nowhere,
}

pub fn locate(rel: &Relation, v: u32) -> Place {
    // Most rows are looked for where they were found a moment ago.
    if let Some(component) = in_known_component(rel, v) {
        return component;
    }
    for _ in 0..2 {
        let (manifest, inline) = manifest::current_and(rel, |metapage| map::physical_inline(metapage, v));
        if let Some(component) = manifest.component_of(v) {
            return Place::Columnar(manifest, component);
        }
        let found = match inline.flatten() {
            Some(p) => Some(p).filter(|&p| p != 0),
            None => map::physical(rel, v),
        };
        if let Some(p) = found {
            return Place::Hot(p);
        }
        // Neither: or published and reclaimed between the two looks. Then the manifest is newer by now.
    }
    Place::Nowhere
}

/// The component of the block by the manifest that we know, if that is the current one and the metapage is as it was
/// when it was last found sound.
fn in_known_component(rel: &Relation, v: u32) -> Option<Place> {
    let metapage = meta::pinned(rel)?;
    let manifest = checked::is_known(rel, &metapage).then(|| manifest::known(rel, &metapage))??;
    let component = manifest.component_of(v)?;
    Some(Place::Columnar(manifest, component))
}

/// The same by what the caller watches, if anything.
fn locate_watched(rel: &Relation, watch: Option<&Watch>, v: u32) -> Place {
    let Some(watch) = watch else { return locate(rel, v) };
    for _ in 0..2 {
        let manifest = watch.manifest(rel);
        if let Some(component) = manifest.component_of(v) {
            return Place::Columnar(manifest, component);
        }
        if let Some(p) = watch.physical(rel, v) {
            return Place::Hot(p);
        }
    }
    Place::Nowhere
}

/// The same for a reader. Under SSI a block that is nowhere may be one of a load that goes on, which looks for locks on
/// the relation when it publishes its rows.
pub fn locate_to_read(rel: &Relation, watch: Option<&Watch>, v: u32, snapshot: &Snapshot) -> Place {
    match locate_watched(rel, watch, v) {
        Place::Nowhere if is_serializable() => {
            predicate_lock(rel, snapshot);
            locate(rel, v)
        }
        place => place,
    }
}

/// Reads block `v` where it is, and again where it is by then, if on a standby it has moved meanwhile.
pub fn read<R>(rel: &Relation, v: u32, snapshot: &Snapshot, f: impl FnMut(Place) -> Result<R, Replaced>) -> R {
    read_watched(rel, None, v, snapshot, f)
}

/// The same by what the caller watches, if anything.
pub fn read_watched<R>(
    rel: &Relation,
    watch: Option<&Watch>,
    v: u32,
    snapshot: &Snapshot,
    mut f: impl FnMut(Place) -> Result<R, Replaced>,
) -> R {
    loop {
        match f(locate_to_read(rel, watch, v, snapshot)) {
            Ok(result) => return result,
            Err(Replaced) => {
                crate::memory::check_for_interrupts();
            }
        }
    }
}

/// The rows of a block that a snapshot sees, in TID order.
#[derive(Default)]
pub struct Block {
    v: u32,
    rows: Rows,
    /// Hardly any of the blocks around it are read.
    pub is_alone: bool,
}

#[derive(Default)]
enum Rows {
    #[default]
    None,
    Hot {
        page: HotPage,
        offsets: Vec<u16>,
    },
    Columnar(LeafRows),
}

/// A row page in use. On a standby no snapshot keeps the primary from emptying a page whose rows it has flushed, and a
/// pin would only have replay wait: the page is copied.
enum HotPage {
    Pinned(Pin),
    Copied(u32, Box<PageImage>),
}

/// With the alignment of tuples.
#[repr(align(8))]
struct PageImage([u8; pg_sys::BLCKSZ as usize]);

impl HotPage {
    fn page(&self) -> Page<'_> {
        match self {
            HotPage::Pinned(pin) => pin.page(),
            // SAFETY: a page, aligned, which nobody changes.
            HotPage::Copied(_, image) => unsafe { Page::of(image.0.as_ptr() as pg_sys::Page) },
        }
    }

    /// The lock that the page has to be read with: line pointers may come, but for a copy.
    fn share(&self) -> Option<Lock<'_>> {
        match self {
            HotPage::Pinned(pin) => Some(pin.share()),
            HotPage::Copied(..) => None,
        }
    }
}

impl Block {
    /// Loads the rows of logical block `v` that `snapshot` sees.
    pub fn load(&mut self, rel: &Relation, snapshot: &Snapshot, v: u32, pick: Pick) {
        self.v = v;
        // Let go of the old page before taking the next, but keep the vector.
        let mut offsets = match std::mem::take(&mut self.rows) {
            Rows::Hot { offsets, .. } => offsets,
            _ => Vec::new(),
        };
        offsets.clear();
        self.rows = read(rel, v, snapshot, |place| match place {
            Place::Nowhere => Ok(Rows::None),
            Place::Hot(p) => {
                offsets.clear();
                let page = hot_rows(rel, snapshot, (v, p), &pick, &mut offsets)?;
                let offsets = std::mem::take(&mut offsets);
                Ok(Rows::Hot { page, offsets })
            }
            Place::Columnar(manifest, component) => {
                let component = &manifest.components[component];
                let rows = columnar::rows_of_block(rel, component, v, snapshot, &pick)?;
                Ok(Rows::Columnar(rows))
            }
        });
    }

    pub fn clear(&mut self) {
        self.rows = Rows::None;
    }

    /// Lets go without releasing the page: its pin went with the resource owner of what failed.
    pub fn abandon(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        if let Rows::Hot {
            page: HotPage::Pinned(pin),
            ..
        } = rows
        {
            std::mem::forget(pin);
        }
    }

    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::None => 0,
            Rows::Hot { offsets, .. } => offsets.len(),
            Rows::Columnar(rows) => rows.len(),
        }
    }

    /// The offset of the `i`th row.
    pub fn offset(&self, i: usize) -> u16 {
        match &self.rows {
            Rows::None => 0,
            Rows::Hot { offsets, .. } => offsets[i],
            Rows::Columnar(rows) => rows.offset(i),
        }
    }

    /// The row at `offset`, if it is among those loaded with [`Pick::All`].
    pub fn find(&self, offset: u16) -> Option<usize> {
        // Offsets are from 1: it is the last of so many at most, and where none is missing before it, it is that.
        let (mut low, mut high) = (0, self.len().min(usize::from(offset)));
        let mut middle = high.saturating_sub(1);
        while low < high {
            match self.offset(middle).cmp(&offset) {
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
            middle = (low + high) / 2;
        }
        None
    }

    /// Maps a row's offset to the offset its index entries hold: the root of its HOT chain.
    pub fn roots(&self) -> impl Fn(u16) -> u16 {
        let mut roots = [0u16; amax_lsm::tid::MAX_OFFSET as usize];
        if let Rows::Hot { page, .. } = &self.rows {
            let _lock = page.share();
            // SAFETY: as many as a page has line pointers.
            unsafe { pg_sys::heap_get_root_tuples(page.page().raw(), roots.as_mut_ptr()) };
        }
        let aliases = match &self.rows {
            Rows::Columnar(rows) => rows.aliases(),
            _ => Vec::new(),
        };
        move |offset| {
            let alias = aliases.iter().find(|a| a.1 == offset).map(|a| a.0);
            let root = roots.get(offset as usize - 1).copied().filter(|&root| root != 0);
            alias.or(root).unwrap_or(offset)
        }
    }

    /// The largest offset in use in the block, seen by the snapshot or not.
    pub fn max_offset(&self) -> u16 {
        match &self.rows {
            Rows::None => 0,
            Rows::Hot { page, .. } => {
                let _lock = page.share();
                page.page().max_offset()
            }
            Rows::Columnar(rows) => rows.max_offset(),
        }
    }

    pub fn number(&self) -> u32 {
        self.v
    }

    /// Stores the `i`th row in a slot.
    pub fn store(&self, rel: &Relation, i: usize, into: &Slot) {
        let tid = new_tid(self.v, self.offset(i));
        match &self.rows {
            Rows::None => unreachable!("no rows to store"),
            Rows::Hot { page, offsets } => {
                // The tuple was there when the page was examined, and our pin keeps it in place.
                let there = "a visible tuple stays under a pin";
                match page {
                    HotPage::Pinned(pin) => {
                        let tuple = heap_tuple(rel, pin, offsets[i]).expect(there);
                        slot::store_heap(into, tuple, tid, pin);
                    }
                    HotPage::Copied(p, _) => {
                        let tuple = heap_tuple_of(rel, page.page(), *p, offsets[i]);
                        slot::store_copy(into, &mut tuple.expect(there), tid);
                    }
                }
            }
            Rows::Columnar(rows) => {
                let row = rows.row(i);
                let row = if self.is_alone { row.of_few() } else { row };
                slot::store_columnar(into, row, tid, rel.id());
            }
        }
    }
}

/// The offsets of the tuples on a row page that the snapshot sees (heapgetpage() in heapam.c). Stubs are not rows.
fn hot_rows(
    rel: &Relation,
    snapshot: &Snapshot,
    (v, p): (u32, u32),
    pick: &Pick,
    out: &mut Vec<u16>,
) -> Result<HotPage, Replaced> {
    let pin = rowpage::read(rel, p);
    prune::if_worth(rel, &pin);
    let lock = pin.share();
    match pick {
        Pick::All => {
            for offset in rowpage::offsets(pin.page()) {
                let Some(mut tuple) = heap_tuple(rel, &pin, offset) else {
                    continue;
                };
                if !is_stub(tuple.header()) && tuple.is_visible(rel, pin.buffer(), snapshot) {
                    out.push(offset);
                }
            }
        }
        Pick::Indexed(roots) => {
            for &root in roots.iter() {
                let mut tid = new_tid(pin.block(), root);
                let found = search_chain(rel, &pin, &mut tid, snapshot, None, true);
                if found.is_some_and(|tuple| !is_stub(tuple.header())) {
                    out.push(tid.ip_posid);
                }
            }
            predicate_lock_if_sealed(rel, snapshot, &pin, &lock);
        }
    }
    if !manifest::on_standby() {
        drop(lock);
        return Ok(HotPage::Pinned(pin));
    }
    let image = Box::new(PageImage(*lock.bytes()));
    drop(lock);
    confirm_page(rel, v, p)?;
    Ok(HotPage::Copied(p, image))
}

/// On a standby, after the row page of a block was read and its lock given back: whether it was that block's. A block
/// that has lost its row page gets none again.
pub fn confirm_page(rel: &Relation, v: u32, p: u32) -> Result<(), Replaced> {
    match map::physical(rel, v) {
        Some(now) if now == p => Ok(()),
        _ => Err(Replaced),
    }
}

/// For SSI. On a row page heap's code takes predicate locks on physical TIDs, which heap's writers check. A flush turns
/// those into a lock on the relation after it has sealed the page; whoever reads a sealed page takes that lock at once,
/// like readers of components.
pub fn predicate_lock_if_sealed(rel: &Relation, snapshot: &Snapshot, pin: &Pin, _lock: &Lock) {
    if rowpage::is_sealed(pin.page()) {
        predicate_lock(rel, snapshot);
    }
}
