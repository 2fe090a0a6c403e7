//! ANALYZE's sample: blocks in ascending order, of the rows of each as many as it needs (`thinning`). Counts as heapam_scan_analyze_next_tuple() does.

use super::descriptor::{Sample, State, state};
use super::stand_in::StandIns;
use super::thinning::Thinning;
use crate::columnar;
use crate::pg::{Lock, Relation, Slot, Tuple, xid};
use crate::storage::manifest::{Replaced, cancel_replaced};
use crate::storage::map;
use crate::storage::rowpage::{self, Item, heap_tuple, is_stub, new_tid};
use crate::table::block::{Place, locate};
use crate::table::slot;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// # Safety
/// As table_scan_analyze_next_block() calls it.
#[cfg(any(feature = "pg15", feature = "pg16"))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(
    scan: pg_sys::TableScanDesc,
    v: pg_sys::BlockNumber,
    _strategy: pg_sys::BufferAccessStrategy,
) -> bool {
    // SAFETY: a scan of ours.
    unsafe { open(Relation::of((*scan).rs_rd), state(scan), v) }
}

/// The next block of the sample that has rows. The stream only says which logical block that is: its own look-ahead
/// would read the physical block of that number.
///
/// # Safety
/// As table_scan_analyze_next_block() calls it.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
#[pg_guard]
pub unsafe extern "C-unwind" fn next_block(scan: pg_sys::TableScanDesc, stream: *mut pg_sys::ReadStream) -> bool {
    let mut strategy = std::ptr::null_mut();
    loop {
        crate::memory::check_for_interrupts();
        // SAFETY: PostgreSQL's stream.
        let v = unsafe { pg_sys::read_stream_next_block(stream, &mut strategy) };
        if v == pg_sys::InvalidBlockNumber {
            return false;
        }
        // SAFETY: a scan of ours.
        if unsafe { open(Relation::of((*scan).rs_rd), state(scan), v) } {
            return true;
        }
    }
}

fn open(rel: &Relation, state: &mut State, v: u32) -> bool {
    state.sample = match locate(rel, v) {
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
    if state.thinning.is_none() {
        map::note_analyzed(rel);
        let thinning = Thinning::of(rel);
        state.stand_ins = Some(StandIns::of(rel, thinning.thins()));
        state.thinning = Some(thinning);
    }
    state.sample.is_some()
}

/// # Safety
/// As table_scan_analyze_next_tuple() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn next_tuple(
    scan: pg_sys::TableScanDesc,
    oldest_xmin: pg_sys::TransactionId,
    live: *mut f64,
    dead: *mut f64,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        let mut counts = Counts {
            oldest_xmin,
            live: &mut *live,
            dead: &mut *dead,
        };
        next_row(Relation::of((*scan).rs_rd), state(scan), &mut counts, Slot::of(slot))
    }
}

/// What ANALYZE counts.
struct Counts<'a> {
    oldest_xmin: pg_sys::TransactionId,
    live: &'a mut f64,
    dead: &'a mut f64,
}

fn next_row(rel: &Relation, state: &mut State, counts: &mut Counts, slot: &Slot) -> bool {
    let thinning = state.thinning.as_mut().expect("made with the first block");
    let stand_ins = state.stand_ins.as_mut().expect("made with the first block");
    match &mut state.sample {
        None => {}
        Some(Sample::Columnar { rows, v, next }) => {
            if *next == 0 {
                *counts.dead += rows.dead() as f64;
            }
            while *next < rows.len() {
                let at = *next;
                *next += 1;
                *counts.live += 1.0;
                if thinning.takes() {
                    let tid = new_tid(*v, rows.offset(at));
                    let row = rows.row(at);
                    let instead = stand_ins.in_row(rel, &row, rows.number(at));
                    let row = row.sampled(thinning.are_few(), instead);
                    slot::store_columnar(slot, row, tid, rel.id());
                    return true;
                }
            }
        }
        Some(Sample::Hot { v, pin, next }) => {
            let lock = pin.share();
            let most = pin.page().max_offset();
            while *next <= most {
                let offset = *next;
                *next += 1;
                if rowpage::item(pin.page(), offset) == Item::Dead {
                    *counts.dead += 1.0;
                }
                let Some(mut tuple) = heap_tuple(rel, pin, offset).filter(|t| !is_stub(t.header())) else {
                    continue;
                };
                if counts.tuple(&mut tuple, &lock) && thinning.takes() {
                    drop(lock);
                    slot::store_heap(slot, tuple, new_tid(*v, offset), pin);
                    return true;
                }
            }
        }
    }
    state.sample = None;
    slot.clear();
    false
}

impl Counts<'_> {
    /// Counts a tuple as live or dead; true when it belongs to the sample.
    fn tuple(&mut self, tuple: &mut Tuple, lock: &Lock) -> bool {
        use pg_sys::HTSV_Result::*;
        match tuple.fate(self.oldest_xmin, lock.buffer()) {
            HEAPTUPLE_LIVE => {}
            HEAPTUPLE_DEAD | HEAPTUPLE_RECENTLY_DEAD => {
                *self.dead += 1.0;
                return false;
            }
            // Others report what they insert when they end; our own is counted here.
            HEAPTUPLE_INSERT_IN_PROGRESS => {
                if !xid::is_current(tuple.header().xmin()) {
                    return false;
                }
            }
            _ => {
                if xid::is_current(tuple.header().update_xid()) {
                    *self.dead += 1.0;
                    return false;
                }
            }
        }
        *self.live += 1.0;
        true
    }
}
