//! Bitmap scans: the rows of the blocks that a bitmap names.

use super::descriptor::{Position, state};
use crate::columnar::Pick;
use crate::pg::snapshot::{is_serializable, predicate_lock};
use crate::pg::stats::count_fetch;
use crate::pg::{Relation, Snapshot};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// Loads the rows of block `v` that entries with these offsets point to, or all of a lossy page's (None). False if
/// there are none.
unsafe fn load(scan: pg_sys::TableScanDesc, v: u32, offsets: Option<&[u16]>) -> bool {
    let s = state(scan);
    s.at = Position::In { row: -1 };
    // Entries past the end are of rows that came later. Under SERIALIZABLE they are looked at for conflicts, as in
    // heap.
    if v >= s.blocks && !is_serializable() {
        s.block.clear();
        return false;
    }
    let rel = Relation::of((*scan).rs_rd);
    let pick = match offsets {
        Some(offsets) => Pick::Indexed(offsets),
        None => {
            predicate_lock(rel, Snapshot::of((*scan).rs_snapshot));
            Pick::All
        }
    };
    s.block.load(rel, Snapshot::of((*scan).rs_snapshot), v, pick);
    s.block.len() > 0
}

/// Stores the next row of the block loaded; false if there is none.
unsafe fn next_row(scan: pg_sys::TableScanDesc, slot: *mut pg_sys::TupleTableSlot) -> bool {
    let s = state(scan);
    let Position::In { row } = s.at else {
        return false;
    };
    let row = row + 1;
    if row as usize >= s.block.len() {
        return false;
    }
    s.at = Position::In { row };
    count_fetch(Relation::of((*scan).rs_rd));
    s.block.store(Relation::of((*scan).rs_rd), row as usize, slot);
    true
}

#[cfg(not(feature = "pg18"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(scan: pg_sys::TableScanDesc, page: *mut pg_sys::TBMIterateResult) -> bool {
    let offsets = usize::try_from((*page).ntuples)
        .ok()
        .map(|count| (*page).offsets.as_slice(count));
    load(scan, (*page).blockno, offsets)
}

#[cfg(not(feature = "pg18"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    _page: *mut pg_sys::TBMIterateResult,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    next_row(scan, slot)
}

/// Since 18 the access method walks the bitmap itself (BitmapHeapScanNextBlock() in heapam_handler.c).
#[cfg(feature = "pg18")]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    slot: *mut pg_sys::TupleTableSlot,
    recheck: *mut bool,
    lossy_pages: *mut u64,
    exact_pages: *mut u64,
) -> bool {
    while !next_row(scan, slot) {
        crate::memory::check_for_interrupts();
        let mut page: pg_sys::TBMIterateResult = std::mem::zeroed();
        if !pg_sys::tbm_iterate(&raw mut (*scan).st.rs_tbmiterator, &mut page) {
            state(scan).block.clear();
            return false;
        }
        *recheck = page.recheck;
        if page.lossy {
            *lossy_pages += 1;
            load(scan, page.blockno, None);
        } else {
            *exact_pages += 1;
            let mut offsets = [0; amax_lsm::tid::MAX_OFFSET as usize];
            let count = pg_sys::tbm_extract_page_tuple(&mut page, offsets.as_mut_ptr(), offsets.len() as u32);
            load(scan, page.blockno, Some(&offsets[..count as usize]));
        }
    }
    true
}
