//! ANALYZE's sample: blocks in ascending order, all rows of each. Counts as heapam_scan_analyze_next_tuple() does.

use super::block::{Place, locate};
use super::descriptor::{Sample, state};
use super::slot;
use crate::columnar;
use crate::pg::{Pin, Relation, Tuple, xid};
use crate::storage::manifest::{Replaced, cancel_replaced};
use crate::storage::rowpage::{self, Item, heap_tuple, is_stub, set_tid};
use pgrx::pg_sys;
use pgrx::prelude::*;

#[cfg(any(feature = "pg15", feature = "pg16"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(
    scan: pg_sys::TableScanDesc,
    v: pg_sys::BlockNumber,
    _strategy: pg_sys::BufferAccessStrategy,
) -> bool {
    open(scan, v)
}

/// The next block of the sample that has rows. The stream only says which logical block that is: its own look-ahead
/// would read the physical block of that number.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(scan: pg_sys::TableScanDesc, stream: *mut pg_sys::ReadStream) -> bool {
    let mut strategy = std::ptr::null_mut();
    loop {
        crate::memory::check_for_interrupts();
        let v = pg_sys::read_stream_next_block(stream, &mut strategy);
        if v == pg_sys::InvalidBlockNumber {
            return false;
        }
        if open(scan, v) {
            return true;
        }
    }
}

unsafe fn open(scan: pg_sys::TableScanDesc, v: u32) -> bool {
    let rel = Relation::of((*scan).rs_rd);
    state(scan).sample = match locate(rel, v) {
        Place::Nowhere => None,
        Place::Hot(p) => Some(Sample::Hot {
            v,
            pin: rowpage::read(rel, p),
            next: 1,
        }),
        Place::Columnar(manifest, component) => {
            let component = &manifest.components[component];
            let rows = columnar::rows_for_analyze(rel, component, v);
            let rows = rows.unwrap_or_else(|Replaced| cancel_replaced());
            Some(Sample::Columnar { rows, v, next: 0 })
        }
    };
    state(scan).sample.is_some()
}

#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    oldest_xmin: pg_sys::TransactionId,
    live: *mut f64,
    dead: *mut f64,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let rel = Relation::of((*scan).rs_rd);
    match &mut state(scan).sample {
        None => {}
        Some(Sample::Columnar { rows, v, next }) => {
            if *next == 0 {
                *dead += rows.dead() as f64;
            }
            if *next < rows.len() {
                let mut tid = pg_sys::ItemPointerData::default();
                set_tid(&mut tid, *v, rows.offset(*next));
                slot::store_columnar(slot, rows.row(*next), tid, rel.id());
                *next += 1;
                *live += 1.0;
                return true;
            }
        }
        Some(Sample::Hot { v, pin, next }) => {
            let lock = pin.share();
            let most = pin.page().max_offset();
            while *next <= most {
                let offset = *next;
                *next += 1;
                if rowpage::item(pin.page(), offset) == Item::Dead {
                    *dead += 1.0;
                }
                let Some(mut tuple) = heap_tuple(rel, pin, offset).filter(|t| !is_stub(t.header())) else {
                    continue;
                };
                if counts(&mut tuple, oldest_xmin, pin, live, dead) {
                    let mut tid = pg_sys::ItemPointerData::default();
                    set_tid(&mut tid, *v, offset);
                    drop(lock);
                    slot::store_heap(slot, tuple.data(), tid, pin);
                    return true;
                }
            }
        }
    }
    state(scan).sample = None;
    crate::pg::executor::clear_slot(slot);
    false
}

/// Counts a tuple as live or dead; true when it belongs to the sample.
unsafe fn counts(
    tuple: &mut Tuple,
    oldest_xmin: pg_sys::TransactionId,
    pin: &Pin,
    live: *mut f64,
    dead: *mut f64,
) -> bool {
    use pg_sys::HTSV_Result::*;
    let mine = |xid| xid::is_current(xid);
    match tuple.fate(oldest_xmin, pin.buffer()) {
        HEAPTUPLE_LIVE => {}
        HEAPTUPLE_DEAD | HEAPTUPLE_RECENTLY_DEAD => {
            *dead += 1.0;
            return false;
        }
        // Others report what they insert when they end; our own is counted here.
        HEAPTUPLE_INSERT_IN_PROGRESS => {
            if !mine(tuple.header().xmin()) {
                return false;
            }
        }
        _ => {
            let xmax = tuple.header().update_xid();
            if mine(xmax) {
                *dead += 1.0;
                return false;
            }
        }
    }
    *live += 1.0;
    true
}
