//! Sequential, TID range and sample scans: walks over logical blocks.

use super::descriptor::{Position, Scan, State, state};
use crate::columnar::Pick;
use crate::pg::guard::guarded;
use crate::pg::parallel::Parallel;
use crate::pg::snapshot::predicate_lock;
use crate::pg::stats::{count_rows, count_scan};
use crate::pg::{Relation, Slot, Snapshot};
use crate::storage::meta::logical_blocks;
use crate::storage::rowpage::tid_block;
use crate::table::load;
use crate::table::slot;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// # Safety
/// As table_beginscan() and its like call it.
#[pg_guard]
pub unsafe extern "C-unwind" fn begin(
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    nkeys: i32,
    key: *mut pg_sys::ScanKeyData,
    parallel: pg_sys::ParallelTableScanDesc,
    flags: u32,
) -> pg_sys::TableScanDesc {
    // SAFETY: PostgreSQL's arguments; relation and snapshot stay for as long as the scan. There are so many keys.
    unsafe {
        // ANALYZE has no snapshot.
        before_reading(Relation::of(rel), Snapshot::of_any(snapshot));
        pg_sys::RelationIncrementReferenceCount(rel);
        let scan = pg_sys::palloc0(std::mem::size_of::<Scan>()) as *mut Scan;
        (*scan).base.rs_rd = rel;
        (*scan).base.rs_snapshot = snapshot;
        (*scan).base.rs_nkeys = nkeys;
        (*scan).base.rs_flags = flags;
        (*scan).base.rs_parallel = parallel;
        if nkeys > 0 {
            let size = std::mem::size_of::<pg_sys::ScanKeyData>() * nkeys as usize;
            (*scan).base.rs_key = pg_sys::palloc(size) as *mut pg_sys::ScanKeyData;
            if !key.is_null() {
                std::ptr::copy_nonoverlapping(key, (*scan).base.rs_key, nkeys as usize);
            }
        }
        (*scan).state = crate::memory::keep(&mut PgMemoryContexts::CurrentMemoryContext, State::new());
        use pg_sys::ScanOptions::{SO_TYPE_SAMPLESCAN, SO_TYPE_SEQSCAN, SO_TYPE_TIDRANGESCAN};
        if flags & (SO_TYPE_SEQSCAN | SO_TYPE_SAMPLESCAN | SO_TYPE_TIDRANGESCAN) != 0 {
            predicate_lock(Relation::of(rel), Snapshot::of(snapshot));
        }
        // After that: who adds a block looks for the lock then.
        start(scan as pg_sys::TableScanDesc);
        if flags & SO_TYPE_SEQSCAN != 0 {
            count_scan(Relation::of(rel));
        }
        scan as pg_sys::TableScanDesc
    }
}

/// What our transaction has loaded is there for its own reads.
fn before_reading(rel: &Relation, snapshot: Option<&Snapshot>) {
    load::publish_for(rel, snapshot);
}

/// # Safety
/// A scan that `begin` has made.
unsafe fn start(scan: pg_sys::TableScanDesc) {
    // SAFETY: as the caller promises.
    let (s, blocks) = unsafe {
        let parallel = (*scan).rs_parallel as pg_sys::ParallelBlockTableScanDesc;
        let of_all = parallel.as_ref().map(|parallel| parallel.phs_nblocks);
        (
            state(scan),
            of_all.unwrap_or_else(|| logical_blocks(Relation::of((*scan).rs_rd))),
        )
    };
    s.blocks = blocks;
    s.first = 0;
    s.end = blocks;
    s.at = Position::Start;
    s.block.clear();
    s.sample_next = 0;
    s.sample = None;
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn rescan(
    scan: pg_sys::TableScanDesc,
    key: *mut pg_sys::ScanKeyData,
    set_params: bool,
    _allow_strat: bool,
    allow_sync: bool,
    allow_pagemode: bool,
) {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        if set_params {
            use pg_sys::ScanOptions::*;
            let flags = &mut (*scan).rs_flags;
            *flags &= !(SO_ALLOW_SYNC | SO_ALLOW_PAGEMODE);
            *flags |= if allow_sync { SO_ALLOW_SYNC } else { 0 };
            *flags |= if allow_pagemode { SO_ALLOW_PAGEMODE } else { 0 };
        }
        if !key.is_null() && (*scan).rs_nkeys > 0 {
            std::ptr::copy_nonoverlapping(key, (*scan).rs_key, (*scan).rs_nkeys as usize);
        }
        start(scan);
    }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn end(scan: pg_sys::TableScanDesc) {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        state(scan).block.clear();
        state(scan).sample = None;
        pg_sys::RelationDecrementReferenceCount((*scan).rs_rd);
        if (*scan).rs_flags & pg_sys::ScanOptions::SO_TEMP_SNAPSHOT != 0 {
            pg_sys::UnregisterSnapshot((*scan).rs_snapshot);
        }
        if !(*scan).rs_key.is_null() {
            pg_sys::pfree((*scan).rs_key as _);
        }
        pg_sys::pfree(scan as _);
    }
}

/// What a scan reads, and where it is.
struct Walk<'a> {
    rel: &'a Relation,
    snapshot: &'a Snapshot,
    state: &'a mut State,
    parallel: Option<Parallel<'a>>,
}

impl<'a> Walk<'a> {
    /// # Safety
    /// A scan that `begin` has made.
    unsafe fn of(scan: pg_sys::TableScanDesc) -> Walk<'a> {
        // SAFETY: as the caller promises.
        unsafe {
            let (rel, snapshot) = (Relation::of((*scan).rs_rd), Snapshot::of((*scan).rs_snapshot));
            let parallel = Parallel::of((*scan).rs_parallel as pg_sys::ParallelBlockTableScanDesc);
            Walk {
                rel,
                snapshot,
                state: state(scan),
                parallel,
            }
        }
    }

    /// The block after (or before) the one loaded.
    fn next_block(&mut self, forward: bool) -> Option<u32> {
        let s = &mut *self.state;
        if let Some(parallel) = &self.parallel {
            debug_assert!(forward, "parallel scans go forward");
            return parallel.next_block(self.rel, &mut s.worker, s.at == Position::Start);
        }
        match (s.at, forward) {
            _ if s.first >= s.end => None,
            (Position::Start, true) => Some(s.first),
            (Position::Start, false) => Some(s.end - 1),
            (_, true) => Some(s.block.number() + 1).filter(|&v| v < s.end),
            (_, false) => s.block.number().checked_sub(1).filter(|&v| v >= s.first),
        }
    }

    /// Moves to the next row in the given direction; its index in the block loaded.
    fn advance(&mut self, forward: bool) -> Option<usize> {
        let step = if forward { 1 } else { -1 };
        if self.state.at == Position::End {
            // As heap does: a scan that ran off its end starts over at the other one.
            self.state.at = Position::Start;
        }
        if let Position::In { row } = self.state.at {
            let row = row + step;
            if (0..self.state.block.len() as isize).contains(&row) {
                self.state.at = Position::In { row };
                return Some(row as usize);
            }
        }
        while let Some(v) = self.next_block(forward) {
            crate::memory::check_for_interrupts();
            let s = &mut *self.state;
            s.block.load(self.rel, self.snapshot, v, Pick::All);
            let row = if forward { 0 } else { s.block.len() as isize - 1 };
            s.at = Position::In { row };
            if s.block.len() > 0 {
                return Some(row as usize);
            }
        }
        self.state.block.clear();
        self.state.at = Position::End;
        None
    }

    /// Puts the next row in the slot that passes `test`; false at the end.
    fn next_row(&mut self, forward: bool, slot: &Slot, test: impl Fn(&Slot) -> bool) -> bool {
        loop {
            let Some(row) = self.advance(forward) else {
                slot.clear();
                return false;
            };
            self.state.block.store(self.rel, row, slot);
            if test(slot) {
                count_rows(self.rel, 1);
                return true;
            }
        }
    }
}

/// The next block of a parallel scan; None at its end.
///
/// # Safety
/// A scan that `begin` has made.
pub unsafe fn parallel_block(scan: pg_sys::TableScanDesc) -> Option<u32> {
    // SAFETY: as the caller promises.
    let mut walk = unsafe { Walk::of(scan) };
    let v = walk.next_block(true);
    walk.state.at = Position::In { row: 0 };
    v
}

/// Calls `f` with each row that the snapshot sees, in the slot.
pub fn for_each(rel: &Relation, snapshot: &Snapshot, slot: &Slot, f: &mut dyn FnMut(&Slot)) {
    before_reading(rel, Some(snapshot));
    predicate_lock(rel, snapshot);
    count_scan(rel);
    let mut state = State::new();
    state.blocks = logical_blocks(rel);
    state.end = state.blocks;
    let mut walk = Walk {
        rel,
        snapshot,
        state: &mut state,
        parallel: None,
    };
    while walk.next_row(true, slot, |_| true) {
        crate::memory::check_for_interrupts();
        f(slot);
    }
}

/// # Safety
/// As table_scan_getnextslot() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn getnextslot(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: a scan of ours, which has so many keys, and PostgreSQL's slot.
    unsafe {
        let keys = match (*scan).rs_nkeys {
            0 => &[],
            count => std::slice::from_raw_parts((*scan).rs_key, count as usize),
        };
        Walk::of(scan).next_row(direction >= 0, Slot::of(slot), |slot| key_test(keys, slot))
    }
}

/// HeapKeyTest() (heapam.c, valid.h) on a slot.
fn key_test(keys: &[pg_sys::ScanKeyData], slot: &Slot) -> bool {
    keys.iter().all(|key| {
        if key.sk_flags & pg_sys::SK_ISNULL as i32 != 0 {
            return false;
        }
        let (value, null) = slot.value(key.sk_attno as usize - 1);
        let mut function = key.sk_func;
        // SAFETY: the key's function, of a value of the attribute and the key's argument.
        let mut result =
            || unsafe { pg_sys::FunctionCall2Coll(&mut function, key.sk_collation, value, key.sk_argument) };
        !null && result().value() != 0
    })
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn set_tidrange(
    scan: pg_sys::TableScanDesc,
    min: pg_sys::ItemPointer,
    max: pg_sys::ItemPointer,
) {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        let s = state(scan);
        s.first = tid_block(&*min).min(s.blocks);
        s.end = tid_block(&*max).saturating_add(1).min(s.blocks);
        s.at = Position::Start;
        s.range = [*min, *max];
    }
}

/// # Safety
/// As table_scan_getnextslot_tidrange() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn getnextslot_tidrange(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's slot.
    let (mut walk, slot) = unsafe { (Walk::of(scan), Slot::of(slot)) };
    let as_pair = |tid: &pg_sys::ItemPointerData| (tid_block(tid), tid.ip_posid);
    let [min, max] = walk.state.range.each_ref().map(as_pair);
    while let Some(row) = walk.advance(direction >= 0) {
        let block = &walk.state.block;
        let tid = (block.number(), block.offset(row));
        if (min..=max).contains(&tid) {
            block.store(walk.rel, row, slot);
            count_rows(walk.rel, 1);
            return true;
        }
    }
    slot.clear();
    false
}

/// One of so many blocks: of a leaf, which has a few dozen, hardly another one is read.
const FEW: u32 = 20;

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn sample_next_block(
    scan: pg_sys::TableScanDesc,
    sample: *mut pg_sys::SampleScanState,
) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        let s = state(scan);
        if s.blocks == 0 {
            return false;
        }
        let v = match (*(*sample).tsmroutine).NextSampleBlock {
            Some(next) => {
                let v: u32 = guarded!(next(sample, s.blocks));
                s.sample_next += 1;
                // So far one of many has been chosen.
                s.block.is_alone = v / FEW >= s.sample_next;
                v
            }
            None => {
                s.sample_next += 1;
                if s.sample_next > s.blocks {
                    pg_sys::InvalidBlockNumber
                } else {
                    s.sample_next - 1
                }
            }
        };
        if v == pg_sys::InvalidBlockNumber {
            s.block.clear();
            s.sample_next = 0;
            return false;
        }
        crate::memory::check_for_interrupts();
        s.block.load(
            Relation::of((*scan).rs_rd),
            Snapshot::of((*scan).rs_snapshot),
            v,
            Pick::All,
        );
        true
    }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn sample_next_tuple(
    scan: pg_sys::TableScanDesc,
    sample: *mut pg_sys::SampleScanState,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe {
        let s = state(scan);
        let next = (*(*sample).tsmroutine)
            .NextSampleTuple
            .expect("a sampling method chooses tuples");
        let v = s.block.number();
        let most = s.block.max_offset();
        loop {
            crate::memory::check_for_interrupts();
            let offset = guarded!(next(sample, v, most));
            if offset == 0 {
                crate::pg::executor::clear_slot(slot);
                return false;
            }
            if let Some(row) = s.block.find(offset) {
                s.block.store(Relation::of((*scan).rs_rd), row, Slot::of(slot));
                count_rows(Relation::of((*scan).rs_rd), 1);
                return true;
            }
        }
    }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn tid_valid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) -> bool {
    // SAFETY: a scan of ours, and PostgreSQL's arguments, which stay until we return.
    unsafe { (*tid).ip_posid != 0 && tid_block(&*tid) < state(scan).blocks }
}

/// # Safety
/// As tableam.h calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn slot_callbacks(_rel: pg_sys::Relation) -> *const pg_sys::TupleTableSlotOps {
    slot::ops()
}
