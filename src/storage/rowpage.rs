//! Row pages: ordinary heap pages in our main fork (the memory component).

use super::buffer::{Lock, Pin};
use super::damage::corrupt;
use pgrx::pg_sys;
use std::cell::Cell;

/// Set in t_infomask2 of a stub, a bit that heap does not use (htup_details.h).
pub const STUB: u16 = 0x0800;

/// `pd_prune_xid` of a page that is being flushed or has been: no writer may touch it any more. PageSetPrunable() never
/// stores it, and everything that prunes row pages is ours.
const SEALED: u32 = 2; // FrozenTransactionId

/// The free space of a page without a row, as far as the free space map tells (freespace.c: MaxFSMRequestSize).
pub const EMPTY: usize = pg_sys::BLCKSZ as usize - super::buffer::PAGE_HEADER - 8;

thread_local! {
    static IN_HEAP: Cell<u32> = const { Cell::new(0) };
}

/// While one of these lives, the relation's size is what the storage manager says: hio.c must see physical blocks.
/// Otherwise it is the number of logical blocks, which is what TIDs, BRIN, ANALYZE and TABLESAMPLE count in (invariant
/// T2).
pub struct InHeap(());

impl InHeap {
    pub fn enter() -> InHeap {
        IN_HEAP.with(|depth| depth.set(depth.get() + 1));
        InHeap(())
    }

    pub fn active() -> bool {
        IN_HEAP.with(|depth| depth.get() > 0)
    }
}

/// Puts [`InHeap`] out of force for code that heap calls back.
pub struct Outside(u32);

impl InHeap {
    pub fn suspend() -> Outside {
        Outside(IN_HEAP.with(|depth| depth.replace(0)))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        IN_HEAP.with(|depth| depth.set(self.0));
    }
}

impl Drop for InHeap {
    fn drop(&mut self) {
        IN_HEAP.with(|depth| depth.set(depth.get() - 1));
    }
}

fn header(page: pg_sys::Page) -> *mut pg_sys::PageHeaderData {
    page as *mut pg_sys::PageHeaderData
}

/// Whether the page is sealed. The caller holds its content lock, or a pin on a page known to have been open under that
/// pin.
pub fn is_sealed(page: pg_sys::Page) -> bool {
    u32::from(unsafe { (*header(page)).pd_prune_xid }) == SEALED
}

/// Whether pruning may find something: a hint, read without a lock.
pub fn is_prunable(page: pg_sys::Page) -> bool {
    pg_sys::TransactionIdIsNormal(unsafe { (*header(page)).pd_prune_xid })
}

/// Hides the page's free space and marks it. Pruning resets `pd_prune_xid` without a record, so what a replay finds
/// there may differ from ours: the record holds all of the field, being in one word (see `wal`).
pub fn seal(page: pg_sys::Page) {
    unsafe {
        let h = header(page);
        (*h).pd_upper = (*h).pd_lower;
        (*h).pd_prune_xid = pg_sys::TransactionId::from(SEALED);
    }
}

/// Undoes [`seal`].
pub fn unseal(page: pg_sys::Page) {
    unsafe { (*header(page)).pd_prune_xid = pg_sys::InvalidTransactionId };
    free_space_to_lowest(page);
}

/// Makes the page's free space what lies below its lowest tuple, without moving any: on a standby somebody may be
/// looking at them. Heap counts on this for an empty page: it logs the insertion of the first tuple as that into a new
/// page, which is what a replay makes.
pub fn free_space_to_lowest(page: pg_sys::Page) {
    unsafe {
        let h = header(page);
        let lowest = offsets(page)
            .filter_map(|o| tuple_at(page, o).map(|(data, _)| data as usize - page as usize))
            .min()
            .unwrap_or((*h).pd_special as usize);
        (*h).pd_upper = lowest as u16;
    }
}

pub fn max_offset(page: pg_sys::Page) -> u16 {
    let lower = unsafe { (*header(page)).pd_lower } as usize;
    (lower.saturating_sub(super::buffer::PAGE_HEADER) / 4) as u16
}

/// PageIsNew() (bufpage.h).
pub fn is_new(page: pg_sys::Page) -> bool {
    unsafe { (*header(page)).pd_upper == 0 }
}

/// Whether a change of the page was ever logged, or anything was put on it. (hio.c formats a page before it logs a
/// tuple on it.)
pub fn was_written(pin: &Pin) -> bool {
    let page = pin.page();
    let logged = unsafe { (*header(page)).pd_lsn };
    !is_new(page) && ((logged.xlogid, logged.xrecoff) != (0, 0) || max_offset(page) > 0 || pin.seems_ours())
}

/// Pins the row page of a logical block.
pub fn read(rel: pg_sys::Relation, p: u32) -> Pin {
    let pin = Pin::read(rel, p);
    check(rel, &pin);
    pin
}

/// Raises an error if a page that a logical block was mapped to has nothing on it: to heap it would be an empty page. A
/// row was on it before it was mapped.
pub fn check(rel: pg_sys::Relation, pin: &Pin) {
    if is_new(pin.page()) {
        corrupt(rel, pin.block(), "A row page is empty.");
    }
}

/// What is wrong with the page of a logical block, as far as can be told without its rows' columns. The caller has
/// locked it.
pub fn problem(pin: &Pin) -> Option<String> {
    let page = pin.page();
    if is_new(page) {
        return Some("which is empty".into());
    }
    if pin.seems_ours() {
        return Some("which is no row page".into());
    }
    let leads_nowhere = |&o: &u16| match (tuple_at(page, o), item(page, o)) {
        (Some((data, len)), _) => !is_within(page, data, len),
        (None, Item::Redirect(to)) => to == 0 || to > max_offset(page),
        (None, _) => false,
    };
    let offset = offsets(page).find(leads_nowhere)?;
    Some(format!("whose line pointer {offset} leads to no tuple"))
}

/// Whether the page is new or has no line pointer in use. Pages that are not row pages have none either.
pub fn is_empty(page: pg_sys::Page) -> bool {
    is_new(page) || offsets(page).all(|o| item(page, o) == Item::Unused)
}

pub fn offsets(page: pg_sys::Page) -> impl Iterator<Item = u16> {
    1..=max_offset(page)
}

/// State of a line pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Unused,
    Normal { at: u16, len: u16 },
    Redirect(u16),
    Dead,
}

/// PageGetItemId() (bufpage.h).
unsafe fn item_id(page: pg_sys::Page, offset: u16) -> *mut pg_sys::ItemIdData {
    (*header(page)).pd_linp.as_mut_ptr().add(offset as usize - 1)
}

pub fn item(page: pg_sys::Page, offset: u16) -> Item {
    if offset == 0 || offset > max_offset(page) {
        return Item::Unused;
    }
    let id = unsafe { *item_id(page, offset) };
    match id.lp_flags() {
        1 => Item::Normal {
            at: id.lp_off() as u16,
            len: id.lp_len() as u16,
        },
        2 => Item::Redirect(id.lp_off() as u16),
        3 => Item::Dead,
        _ => Item::Unused,
    }
}

/// The tuple at a normal line pointer: header and length.
pub fn tuple_at(page: pg_sys::Page, offset: u16) -> Option<(pg_sys::HeapTupleHeader, u32)> {
    match item(page, offset) {
        Item::Normal { at, len } => Some((unsafe { page.add(at as usize) } as pg_sys::HeapTupleHeader, len.into())),
        _ => None,
    }
}

/// Makes a dead line pointer unused.
pub fn set_unused(page: pg_sys::Page, offset: u16) {
    unsafe {
        let id = item_id(page, offset);
        (*id).set_lp_flags(0);
        (*id).set_lp_off(0);
        (*id).set_lp_len(0);
        // PageAddItem() looks for unused line pointers only with this hint.
        (*header(page)).pd_flags |= pg_sys::PD_HAS_FREE_LINES as u16;
    }
}

/// Whether a tuple and its header lie within the page.
fn is_within(page: pg_sys::Page, data: pg_sys::HeapTupleHeader, len: u32) -> bool {
    let at = data as usize - page as usize;
    let (end, least) = (
        at + len as usize,
        std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits),
    );
    at >= super::buffer::PAGE_HEADER
        && end <= pg_sys::BLCKSZ as usize
        && len as usize >= least
        // SAFETY: as much of it is on the page.
        && (least..=len as usize).contains(&usize::from(unsafe { (*data).t_hoff }))
}

/// A tuple descriptor for the tuple at (`pin`'s block, `offset`), TID physical.
pub fn heap_tuple(rel: pg_sys::Relation, pin: &Pin, offset: u16) -> Option<pg_sys::HeapTupleData> {
    heap_tuple_of(rel, pin.page(), pin.block(), offset)
}

/// The same of a page, or a copy of it, whose number is `block`.
pub fn heap_tuple_of(
    rel: pg_sys::Relation,
    page: pg_sys::Page,
    block: u32,
    offset: u16,
) -> Option<pg_sys::HeapTupleData> {
    let (data, len) = tuple_at(page, offset)?;
    if !is_within(page, data, len) {
        let detail = format!("Line pointer {offset} leads to no tuple.");
        corrupt(rel, block, &detail);
    }
    let mut t_self = pg_sys::ItemPointerData::default();
    set_tid(&mut t_self, block, offset);
    Some(pg_sys::HeapTupleData {
        t_len: len,
        t_self,
        t_tableOid: unsafe { (*rel).rd_id },
        t_data: data,
    })
}

pub fn is_stub(tuple: pg_sys::HeapTupleHeader) -> bool {
    unsafe { (*tuple).t_infomask2 & STUB != 0 }
}

/// Whether the tuple is visible to the snapshot; reports rw-conflicts to SSI. Needs at least the page's share lock.
pub fn visible(
    rel: pg_sys::Relation,
    tuple: &mut pg_sys::HeapTupleData,
    pin: &Pin,
    _lock: &Lock,
    snapshot: pg_sys::Snapshot,
) -> bool {
    unsafe {
        let valid = pg_sys::HeapTupleSatisfiesVisibility(tuple, snapshot, pin.buffer());
        pg_sys::HeapCheckForSerializableConflictOut(valid, rel, tuple, pin.buffer(), snapshot);
        valid
    }
}

pub fn set_tid(tid: &mut pg_sys::ItemPointerData, block: u32, offset: u16) {
    tid.ip_blkid.bi_hi = (block >> 16) as u16;
    tid.ip_blkid.bi_lo = block as u16;
    tid.ip_posid = offset;
}

pub fn tid_block(tid: &pg_sys::ItemPointerData) -> u32 {
    u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo)
}
