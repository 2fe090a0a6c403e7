//! Row pages: ordinary heap pages in our main fork (the memory component).

use super::buffer::is_ours;
use super::damage::corrupt;
use crate::pg::tuple::Header;
use crate::pg::{Page, PageMut, Pin, Relation, Tuple};
use pgrx::pg_sys;

/// Set in t_infomask2 of a stub, a bit that heap does not use (htup_details.h).
pub const STUB: u16 = 0x0800;

/// `pd_prune_xid` of a page that is being flushed or has been: no writer may touch it any more. PageSetPrunable() never
/// stores it, and everything that prunes row pages is ours.
const SEALED: u32 = 2; // FrozenTransactionId

/// The free space of a page without a row, as far as the free space map tells (freespace.c: MaxFSMRequestSize).
pub const EMPTY: usize = pg_sys::BLCKSZ as usize - super::buffer::PAGE_HEADER - 8;

/// Whether the page is sealed. The caller holds its content lock, or a pin on a page known to have been open under that
/// pin.
pub fn is_sealed(page: Page) -> bool {
    u32::from(page.prune_xid()) == SEALED
}

/// Whether pruning may find something: a hint, read without a lock.
pub fn is_prunable(page: Page) -> bool {
    pg_sys::TransactionIdIsNormal(page.prune_xid())
}

/// Hides the page's free space and marks it. Pruning resets `pd_prune_xid` without a record, so what a replay finds
/// there may differ from ours: the record holds all of the field, being in one word (see `wal`).
pub fn seal(page: &mut PageMut) {
    page.set_upper(page.lower());
    page.set_prune_xid(pg_sys::TransactionId::from(SEALED));
}

/// Undoes [`seal`].
pub fn unseal(page: &mut PageMut) {
    page.set_prune_xid(pg_sys::InvalidTransactionId);
    free_space_to_lowest(page);
}

/// Makes the page's free space what lies below its lowest tuple, without moving any: on a standby somebody may be
/// looking at them. Heap counts on this for an empty page: it logs the insertion of the first tuple as that into a new
/// page, which is what a replay makes.
pub fn free_space_to_lowest(page: &mut PageMut) {
    let tuples = offsets(**page).filter_map(|o| match item(**page, o) {
        Item::Normal { at, .. } => Some(at),
        _ => None,
    });
    let lowest = tuples.min().unwrap_or(page.special());
    page.set_upper(lowest);
}

/// Whether a change of the page was ever logged, or anything was put on it. (hio.c formats a page before it logs a
/// tuple on it.)
pub fn was_written(page: Page) -> bool {
    !page.is_new() && (page.lsn() != 0 || page.max_offset() > 0 || is_ours(page))
}

/// Pins the row page of a logical block.
pub fn read(rel: &Relation, p: u32) -> Pin {
    let pin = Pin::read(rel, p);
    check(rel, &pin);
    pin
}

/// Raises an error if a page that a logical block was mapped to has nothing on it: to heap it would be an empty page. A
/// row was on it before it was mapped.
pub fn check(rel: &Relation, pin: &Pin) {
    if pin.page().is_new() {
        corrupt(rel, pin.block(), "A row page is empty.");
    }
}

/// Raises an error if [`problem`] finds anything: heap's functions believe what a page says of its rows, and what
/// pruning notices it notices where an error ends the server. The caller has locked it.
pub fn check_rows(rel: &Relation, pin: &Pin) {
    if let Some(problem) = problem(pin.page()) {
        corrupt(rel, pin.block(), &format!("Rows are on a page {problem}."));
    }
}

/// What is wrong with the page of a logical block, as far as can be told without its rows' columns. The caller has
/// locked it.
pub fn problem(page: Page) -> Option<String> {
    if page.is_new() {
        return Some("which is empty".into());
    }
    if is_ours(page) {
        return Some("which is no row page".into());
    }
    const SIZE: usize = pg_sys::BLCKSZ as usize;
    let (lower, upper) = (usize::from(page.lower()), usize::from(page.upper()));
    let ordered = super::buffer::PAGE_HEADER <= lower && lower <= upper && upper <= SIZE;
    if !ordered || usize::from(page.special()) != SIZE || page.max_offset() > amax_lsm::tid::MAX_OFFSET {
        return Some("whose header is damaged".into());
    }
    // The words of eight bytes that tuples have taken.
    let mut taken = [false; SIZE / 8];
    let leads_nowhere = |&o: &u16| match item(page, o) {
        Item::Normal { at, len } => {
            let start = usize::from(at);
            start % 8 != 0
                || start < upper
                || !is_within(page, at, len)
                || taken[start / 8..(start + usize::from(len)).div_ceil(8)]
                    .iter_mut()
                    .any(|word| std::mem::replace(word, true))
        }
        Item::Redirect(to) => to == 0 || to > page.max_offset() || has_storage(page, o),
        Item::Dead => has_storage(page, o),
        Item::Unused => false,
    };
    let offset = offsets(page).find(leads_nowhere)?;
    Some(format!("whose line pointer {offset} leads to no tuple"))
}

/// ItemIdHasStorage().
fn has_storage(page: Page, offset: u16) -> bool {
    page.item_id(offset).is_some_and(|id| id.lp_len() != 0)
}

/// Whether the page is new or has no line pointer in use. Pages that are not row pages have none either.
pub fn is_empty(page: Page) -> bool {
    page.is_new() || offsets(page).all(|o| item(page, o) == Item::Unused)
}

pub fn offsets(page: Page) -> impl Iterator<Item = u16> + use<> {
    1..=page.max_offset()
}

/// State of a line pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Unused,
    Normal { at: u16, len: u16 },
    Redirect(u16),
    Dead,
}

pub fn item(page: Page, offset: u16) -> Item {
    let Some(id) = page.item_id(offset) else {
        return Item::Unused;
    };
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

/// Whether a tuple and its header lie within the page.
fn is_within(page: Page, at: u16, len: u16) -> bool {
    const LEAST: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_bits);
    const HOFF: usize = std::mem::offset_of!(pg_sys::HeapTupleHeaderData, t_hoff);
    let (at, len) = (usize::from(at), usize::from(len));
    at >= super::buffer::PAGE_HEADER
        && at + len <= pg_sys::BLCKSZ as usize
        && len >= LEAST
        && (LEAST..=len).contains(&usize::from(page.byte(at + HOFF)))
}

/// The tuple at (`pin`'s block, `offset`), TID physical.
pub fn heap_tuple<'a>(rel: &Relation, pin: &'a Pin, offset: u16) -> Option<Tuple<'a>> {
    heap_tuple_of(rel, pin.page(), pin.block(), offset)
}

/// The same of a page, or a copy of it, whose number is `block`.
pub fn heap_tuple_of<'a>(rel: &Relation, page: Page<'a>, block: u32, offset: u16) -> Option<Tuple<'a>> {
    let Item::Normal { at, len } = item(page, offset) else {
        return None;
    };
    if !is_within(page, at, len) {
        let detail = format!("Line pointer {offset} leads to no tuple.");
        corrupt(rel, block, &detail);
    }
    Some(Tuple::on_page(page, at, len, new_tid(block, offset), rel.id()))
}

pub fn is_stub(tuple: Header) -> bool {
    tuple.infomask2() & STUB != 0
}

pub fn new_tid(block: u32, offset: u16) -> pg_sys::ItemPointerData {
    let mut tid = pg_sys::ItemPointerData::default();
    set_tid(&mut tid, block, offset);
    tid
}

pub fn set_tid(tid: &mut pg_sys::ItemPointerData, block: u32, offset: u16) {
    tid.ip_blkid.bi_hi = (block >> 16) as u16;
    tid.ip_blkid.bi_lo = block as u16;
    tid.ip_posid = offset;
}

pub fn tid_block(tid: &pg_sys::ItemPointerData) -> u32 {
    u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo)
}
