//! Bitmap scans: the rows of the blocks that a bitmap names.

use super::descriptor::{Position, State, state};
use crate::columnar::Pick;
use crate::pg::snapshot::{is_serializable, predicate_lock};
use crate::pg::stats::count_fetch;
use crate::pg::{Relation, Slot, Snapshot};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Loads the rows of block `v` that entries with these offsets point to, or all of a lossy page's (None). False if
/// there are none.
fn load(rel: &Relation, snapshot: &Snapshot, s: &mut State, v: u32, offsets: Option<&[u16]>) -> bool {
    s.at = Position::In { row: -1 };
    // Entries past the end are of rows that came later. Under SERIALIZABLE they are looked at for conflicts, as in
    // heap.
    if v >= s.blocks && !is_serializable() {
        s.block.clear();
        return false;
    }
    let pick = match offsets {
        Some(offsets) => Pick::Indexed(offsets),
        None => {
            predicate_lock(rel, snapshot);
            Pick::All
        }
    };
    s.block.load(rel, snapshot, v, pick);
    s.block.len() > 0
}

/// Stores the next row of the block loaded; false if there is none.
fn next_row(rel: &Relation, s: &mut State, slot: &Slot) -> bool {
    let Position::In { row } = s.at else {
        return false;
    };
    let row = row + 1;
    if row as usize >= s.block.len() {
        return false;
    }
    s.at = Position::In { row };
    count_fetch(rel);
    s.block.store(rel, row as usize, slot);
    true
}

/// # Safety
/// As table_scan_bitmap_next_block() calls it.
#[cfg(not(feature = "pg18"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(scan: pg_sys::TableScanDesc, page: *mut pg_sys::TBMIterateResult) -> bool {
    // SAFETY: a scan of ours, with its relation and snapshot; the page has so many offsets.
    unsafe {
        let offsets = usize::try_from((*page).ntuples)
            .ok()
            .map(|count| (*page).offsets.as_slice(count));
        let (rel, snapshot) = (Relation::of((*scan).rs_rd), Snapshot::of((*scan).rs_snapshot));
        load(rel, snapshot, state(scan), (*page).blockno, offsets)
    }
}

/// # Safety
/// As table_scan_bitmap_next_tuple() calls it.
#[cfg(not(feature = "pg18"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    _page: *mut pg_sys::TBMIterateResult,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's slot.
    unsafe { next_row(Relation::of((*scan).rs_rd), state(scan), Slot::of(slot)) }
}

/// Since 18 the access method walks the bitmap itself (BitmapHeapScanNextBlock() in heapam_handler.c).
///
/// # Safety
/// As table_scan_bitmap_next_tuple() calls it.
#[cfg(feature = "pg18")]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    recheck: *mut bool,
    lossy_pages: *mut u64,
    exact_pages: *mut u64,
) -> bool {
    // SAFETY: a scan of ours, with its relation, snapshot and bitmap, and PostgreSQL's arguments.
    unsafe {
        let (rel, snapshot) = (Relation::of((*scan).rs_rd), Snapshot::of((*scan).rs_snapshot));
        while !next_row(rel, state(scan), Slot::of(slot)) {
            crate::memory::check_for_interrupts();
            let mut page: pg_sys::TBMIterateResult = std::mem::zeroed();
            if !pg_sys::tbm_iterate(&raw mut (*scan).st.rs_tbmiterator, &mut page) {
                state(scan).block.clear();
                return false;
            }
            *recheck = page.recheck;
            if page.lossy {
                *lossy_pages += 1;
                load(rel, snapshot, state(scan), page.blockno, None);
            } else {
                *exact_pages += 1;
                let mut offsets = [0; amax_lsm::tid::MAX_OFFSET as usize];
                let count = pg_sys::tbm_extract_page_tuple(&mut page, offsets.as_mut_ptr(), offsets.len() as u32);
                load(
                    rel,
                    snapshot,
                    state(scan),
                    page.blockno,
                    Some(&offsets[..count as usize]),
                );
            }
        }
        true
    }
}
