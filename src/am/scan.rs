//! Sequential, TID range and sample scans: walks over logical blocks.

use super::block::Block;
use super::bulk;
use super::descriptor::{Position, Scan, State, state};
use super::slot;
use crate::columnar::Pick;
use crate::pg::snapshot::predicate_lock;
use crate::pg::stats::{count_rows, count_scan};
use crate::pg::{Relation, Snapshot};
use crate::storage::meta::logical_blocks;
use crate::storage::rowpage::tid_block;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[pg_guard]
pub unsafe extern "C-unwind" fn begin(
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    nkeys: i32,
    key: *mut pg_sys::ScanKeyData,
    parallel: pg_sys::ParallelTableScanDesc,
    flags: u32,
) -> pg_sys::TableScanDesc {
    let rel = Relation::of(rel);
    let snapshot = Snapshot::of(snapshot);
    if !bulk::idle() {
        bulk::publish_for(rel, Some(snapshot));
    }
    pg_sys::RelationIncrementReferenceCount(rel.raw());
    let context = PgMemoryContexts::CurrentMemoryContext;
    let scan = pg_sys::palloc0(std::mem::size_of::<Scan>()) as *mut Scan;
    (*scan).base.rs_rd = rel.raw();
    (*scan).base.rs_snapshot = snapshot.raw();
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
    let mut context = context;
    (*scan).state = crate::memory::keep(
        &mut context,
        State {
            blocks: 0,
            first: 0,
            end: 0,
            range: Default::default(),
            at: Position::Start,
            block: Block::default(),
            worker: std::mem::zeroed(),
            sample_next: 0,
            sample: None,
        },
    );
    use pg_sys::ScanOptions::{SO_TYPE_SAMPLESCAN, SO_TYPE_SEQSCAN, SO_TYPE_TIDRANGESCAN};
    if flags & (SO_TYPE_SEQSCAN | SO_TYPE_SAMPLESCAN | SO_TYPE_TIDRANGESCAN) != 0 {
        predicate_lock(rel, snapshot);
    }
    // After that: who adds a block looks for the lock then.
    start(scan as pg_sys::TableScanDesc);
    if flags & pg_sys::ScanOptions::SO_TYPE_SEQSCAN != 0 {
        count_scan(rel);
    }
    scan as pg_sys::TableScanDesc
}

unsafe fn start(scan: pg_sys::TableScanDesc) {
    let s = state(scan);
    let parallel = (*scan).rs_parallel as pg_sys::ParallelBlockTableScanDesc;
    s.blocks = if parallel.is_null() {
        logical_blocks(Relation::of((*scan).rs_rd))
    } else {
        (*parallel).phs_nblocks
    };
    s.first = 0;
    s.end = s.blocks;
    s.at = Position::Start;
    s.block.clear();
    s.sample_next = 0;
    s.sample = None;
}

#[pg_guard]
pub unsafe extern "C-unwind" fn rescan(
    scan: pg_sys::TableScanDesc,
    key: *mut pg_sys::ScanKeyData,
    set_params: bool,
    _allow_strat: bool,
    allow_sync: bool,
    allow_pagemode: bool,
) {
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

#[pg_guard]
pub unsafe extern "C-unwind" fn end(scan: pg_sys::TableScanDesc) {
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

/// The block after (or before) the one loaded.
unsafe fn next_block(scan: pg_sys::TableScanDesc, forward: bool) -> Option<u32> {
    let s = state(scan);
    let parallel = (*scan).rs_parallel as pg_sys::ParallelBlockTableScanDesc;
    if !parallel.is_null() {
        debug_assert!(forward, "parallel scans go forward");
        if s.at == Position::Start {
            pg_sys::table_block_parallelscan_startblock_init((*scan).rs_rd, &mut s.worker, parallel);
        }
        let v = pg_sys::table_block_parallelscan_nextpage((*scan).rs_rd, &mut s.worker, parallel);
        return (v != pg_sys::InvalidBlockNumber).then_some(v);
    }
    match (s.at, forward) {
        _ if s.first >= s.end => None,
        (Position::Start, true) => Some(s.first),
        (Position::Start, false) => Some(s.end - 1),
        (_, true) => Some(s.block.number() + 1).filter(|&v| v < s.end),
        (_, false) => s.block.number().checked_sub(1).filter(|&v| v >= s.first),
    }
}

/// The next block of a parallel scan; None at its end.
pub unsafe fn parallel_block(scan: pg_sys::TableScanDesc) -> Option<u32> {
    let v = next_block(scan, true);
    state(scan).at = Position::In { row: 0 };
    v
}

/// Moves to the next row in the given direction; its index in the block loaded.
unsafe fn advance(scan: pg_sys::TableScanDesc, forward: bool) -> Option<usize> {
    let s = state(scan);
    let step = if forward { 1 } else { -1 };
    if s.at == Position::End {
        // As heap does: a scan that ran off its end starts over at the other one.
        s.at = Position::Start;
    }
    if let Position::In { row } = s.at {
        let row = row + step;
        if (0..s.block.len() as isize).contains(&row) {
            s.at = Position::In { row };
            return Some(row as usize);
        }
    }
    while let Some(v) = next_block(scan, forward) {
        crate::memory::check_for_interrupts();
        s.block.load(
            Relation::of((*scan).rs_rd),
            Snapshot::of((*scan).rs_snapshot),
            v,
            Pick::All,
        );
        let row = if forward { 0 } else { s.block.len() as isize - 1 };
        s.at = Position::In { row };
        if s.block.len() > 0 {
            return Some(row as usize);
        }
    }
    s.block.clear();
    s.at = Position::End;
    None
}

#[pg_guard]
pub unsafe extern "C-unwind" fn getnextslot(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let forward = direction >= 0;
    loop {
        let Some(row) = advance(scan, forward) else {
            crate::pg::executor::clear_slot(slot);
            return false;
        };
        state(scan).block.store(Relation::of((*scan).rs_rd), row, slot);
        if (*scan).rs_nkeys > 0 && !key_test(scan, slot) {
            continue;
        }
        count_rows(Relation::of((*scan).rs_rd), 1);
        return true;
    }
}

/// HeapKeyTest() (heapam.c, valid.h) on a slot.
unsafe fn key_test(scan: pg_sys::TableScanDesc, slot: *mut pg_sys::TupleTableSlot) -> bool {
    let keys = std::slice::from_raw_parts((*scan).rs_key, (*scan).rs_nkeys as usize);
    keys.iter().all(|key| {
        if key.sk_flags & pg_sys::SK_ISNULL as i32 != 0 {
            return false;
        }
        let attribute = i32::from(key.sk_attno);
        if i32::from((*slot).tts_nvalid) < attribute {
            pg_sys::slot_getsomeattrs_int(slot, attribute);
        }
        let at = attribute as usize - 1;
        if *(*slot).tts_isnull.add(at) {
            return false;
        }
        let mut function = key.sk_func;
        let value = *(*slot).tts_values.add(at);
        pg_sys::FunctionCall2Coll(&mut function, key.sk_collation, value, key.sk_argument).value() != 0
    })
}

#[pg_guard]
pub unsafe extern "C-unwind" fn set_tidrange(
    scan: pg_sys::TableScanDesc,
    min: pg_sys::ItemPointer,
    max: pg_sys::ItemPointer,
) {
    let s = state(scan);
    s.first = tid_block(&*min).min(s.blocks);
    s.end = tid_block(&*max).saturating_add(1).min(s.blocks);
    s.at = Position::Start;
    s.range = [*min, *max];
}

#[pg_guard]
pub unsafe extern "C-unwind" fn getnextslot_tidrange(
    scan: pg_sys::TableScanDesc,
    direction: pg_sys::ScanDirection::Type,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let forward = direction >= 0;
    let as_pair = |tid: &pg_sys::ItemPointerData| (tid_block(tid), tid.ip_posid);
    let [min, max] = state(scan).range.each_ref().map(as_pair);
    while let Some(row) = advance(scan, forward) {
        let s = state(scan);
        let tid = (s.block.number(), s.block.offset(row));
        if tid < min || tid > max {
            continue;
        }
        s.block.store(Relation::of((*scan).rs_rd), row, slot);
        count_rows(Relation::of((*scan).rs_rd), 1);
        return true;
    }
    crate::pg::executor::clear_slot(slot);
    false
}

#[pg_guard]
pub unsafe extern "C-unwind" fn sample_next_block(
    scan: pg_sys::TableScanDesc,
    sample: *mut pg_sys::SampleScanState,
) -> bool {
    let s = state(scan);
    if s.blocks == 0 {
        return false;
    }
    let v = match (*(*sample).tsmroutine).NextSampleBlock {
        Some(next) => next(sample, s.blocks),
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

#[pg_guard]
pub unsafe extern "C-unwind" fn sample_next_tuple(
    scan: pg_sys::TableScanDesc,
    sample: *mut pg_sys::SampleScanState,
    slot: *mut pg_sys::TupleTableSlot,
) -> bool {
    let s = state(scan);
    let next = (*(*sample).tsmroutine)
        .NextSampleTuple
        .expect("a sampling method chooses tuples");
    let v = s.block.number();
    let most = s.block.max_offset();
    loop {
        crate::memory::check_for_interrupts();
        let offset = next(sample, v, most);
        if offset == 0 {
            crate::pg::executor::clear_slot(slot);
            return false;
        }
        if let Some(row) = s.block.find(offset) {
            s.block.store(Relation::of((*scan).rs_rd), row, slot);
            count_rows(Relation::of((*scan).rs_rd), 1);
            return true;
        }
    }
}

#[pg_guard]
pub unsafe extern "C-unwind" fn tid_valid(scan: pg_sys::TableScanDesc, tid: pg_sys::ItemPointer) -> bool {
    (*tid).ip_posid != 0 && tid_block(&*tid) < state(scan).blocks
}

#[pg_guard]
pub unsafe extern "C-unwind" fn slot_callbacks(_rel: pg_sys::Relation) -> *const pg_sys::TupleTableSlotOps {
    slot::ops()
}
