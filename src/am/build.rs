//! Reading a table to build or validate an index.
//!
//! Row pages go through heap's own build scan, a page at a time, with the relation posing as a heap table; the TIDs it
//! reports are translated. Going by logical block keeps the TIDs in order, which BRIN relies on. All that heap is asked
//! is which tuples are to be indexed: predicates and expressions may run anything, which has the relation opened and
//! built anew, and cannot do with stubs.

use super::index_feed::IndexFeed;
use crate::columnar::Pick;
use crate::disguise::routine::{AsHeap, AsItself, Routine};
use crate::pg::executor::{holds, per_tuple_context};
use crate::pg::guard::guarded;
use crate::pg::settings::most_build_workers;
use crate::pg::{Pin, Relation, Slot, Snapshot};
use crate::storage::rowpage::{self, heap_tuple, is_stub, set_tid};
use crate::storage::{map, meta};
use crate::table::block::{Block, Place, locate};
use crate::table::load;
use crate::table::slot;
use pgrx::pg_sys;
use pgrx::prelude::*;

struct Translation<'a, 'b> {
    callback: pg_sys::IndexBuildCallback,
    state: *mut std::ffi::c_void,
    rel: &'a Relation,
    own: Routine,
    feed: &'a mut IndexFeed<'b>,
    v: u32,
    pin: Pin,
    tuples: f64,
}

/// `tid` is that of the root of the tuple's HOT chain; the tuple's own is the only value.
///
/// # Safety
/// As tableam.h, or heap's build of an index, calls it.
#[pg_guard]
unsafe extern "C-unwind" fn translate(
    _index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    _isnull: *mut bool,
    alive: bool,
    state: *mut std::ffi::c_void,
) {
    // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
    unsafe {
        let t = &mut *(state as *mut Translation);
        let own = (*(*values).cast_mut_ptr::<pg_sys::ItemPointerData>()).ip_posid;
        // The page is pinned, and a tuple does not move under a pin.
        let tuple = heap_tuple(t.rel, &t.pin, own).expect("a tuple that heap's build has found");
        if is_stub(tuple.header()) {
            t.tuples -= f64::from(alive);
            return;
        }
        let logical = |offset| {
            let mut tid = pg_sys::ItemPointerData::default();
            set_tid(&mut tid, t.v, offset);
            tid
        };
        let (own, root) = (logical(own), logical((*tid).ip_posid));
        // What is indexed, and what the index does with it, is not heap's business.
        let _itself = AsItself::enter(t.rel, t.own);
        t.feed.row_of_page(tuple, own, &t.pin, root, alive, t.callback, t.state);
    }
}

/// # Safety
/// As tableam.h, or heap's build of an index, calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn range_scan(
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
    _allow_sync: bool,
    any_visible: bool,
    progress: bool,
    start: pg_sys::BlockNumber,
    count: pg_sys::BlockNumber,
    callback: pg_sys::IndexBuildCallback,
    callback_state: *mut std::ffi::c_void,
    scan: pg_sys::TableScanDesc,
) -> f64 {
    // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
    unsafe {
        let rel = Relation::of(rel);
        let index = Relation::of(index);
        load::finish(rel);
        // One snapshot for all pages: MVCC for a concurrent build, Any otherwise, as heapam_index_build_range_scan()
        // chooses.
        let concurrent = (*info).ii_Concurrent;
        let registered = scan.is_null() && concurrent;
        let snapshot = if !scan.is_null() {
            Snapshot::of((*scan).rs_snapshot)
        } else if concurrent {
            Snapshot::of(pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot()))
        } else {
            Snapshot::of(&raw mut pg_sys::SnapshotAnyData)
        };
        let end = match count {
            pg_sys::InvalidBlockNumber => meta::logical_blocks(rel),
            count => start.saturating_add(count).min(meta::logical_blocks(rel)),
        };
        if progress {
            pg_sys::pgstat_progress_update_param(
                pg_sys::PROGRESS_SCAN_BLOCKS_TOTAL as i32,
                (end - start.min(end)).into(),
            );
        }
        // They share the memory, as PostgreSQL's sorts do.
        let participants = match scan.is_null() || (*scan).rs_parallel.is_null() {
            true => 1,
            false => 1 + most_build_workers(),
        };
        let mut columnar = IndexFeed::new(rel, index, info, snapshot, any_visible, participants);
        let mut tuples = 0.0;
        let mut next = start;
        let mut done = 0;
        loop {
            // A scan that is not parallel is amcheck's: it is there for its snapshot.
            let v = if scan.is_null() || (*scan).rs_parallel.is_null() {
                if next >= end {
                    break;
                }
                next += 1;
                next - 1
            } else {
                let Some(v) = super::scan::parallel_block(scan) else {
                    break;
                };
                v
            };
            crate::memory::check_for_interrupts();
            let (place, pin) = locate_pinned(rel, v);
            match place {
                Place::Nowhere => {}
                Place::Hot(_) => {
                    tuples += row_page(
                        rel,
                        index,
                        info,
                        any_visible,
                        snapshot,
                        &mut columnar,
                        v,
                        pin.expect("a row page comes pinned"),
                        callback,
                        callback_state,
                    )
                }
                Place::Columnar(manifest, component) => {
                    tuples += columnar.block(&manifest.components[component], v, callback, callback_state)
                }
            }
            done += 1;
            if progress {
                pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_SCAN_BLOCKS_DONE as i32, done);
            }
        }
        columnar.hand_on(callback, callback_state);
        drop(columnar);
        // They point into an executor state that is gone.
        (*info).ii_ExpressionsState = std::ptr::null_mut();
        (*info).ii_PredicateState = std::ptr::null_mut();
        if registered {
            pg_sys::UnregisterSnapshot(snapshot.raw());
        }
        if !scan.is_null() {
            super::scan::end(scan);
        }
        tuples
    }
}

/// Where a block's rows are, with a pin if that is a row page. BRIN summarizes within VACUUM, which has no snapshot
/// that counts: before the page is pinned it may be flushed, reclaimed and used again. A page that is being emptied is no
/// longer its block's, and one that is pinned is not emptied (`maintenance::reclaim`).
fn locate_pinned(rel: &Relation, v: u32) -> (Place, Option<Pin>) {
    loop {
        let place = locate(rel, v);
        let Place::Hot(p) = place else {
            return (place, None);
        };
        crate::fault::fault("range_located");
        let pin = Pin::read(rel, p);
        if map::physical(rel, v) == Some(p) {
            let lock = pin.share();
            rowpage::check_rows(rel, &pin);
            drop(lock);
            return (place, Some(pin));
        }
    }
}
/// # Safety
/// As tableam.h, or heap's build of an index, calls it.
unsafe fn row_page(
    rel: &Relation,
    index: &Relation,
    info: *mut pg_sys::IndexInfo,
    any_visible: bool,
    snapshot: &Snapshot,
    feed: &mut IndexFeed<'_>,
    v: u32,
    pin: Pin,
    callback: pg_sys::IndexBuildCallback,
    state: *mut std::ffi::c_void,
) -> f64 {
    // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
    unsafe {
        let p = pin.block();
        let mut translation = Translation {
            callback,
            state,
            rel,
            own: Routine::of(rel),
            feed,
            v,
            pin,
            tuples: 0.0,
        };
        // An index of the tuples' own TIDs.
        let mut tids = *info;
        tids.ii_NumIndexAttrs = 1;
        tids.ii_NumIndexKeyAttrs = 1;
        tids.ii_IndexAttrNumbers[0] = pg_sys::SelfItemPointerAttributeNumber as i16;
        tids.ii_Expressions = std::ptr::null_mut();
        tids.ii_ExpressionsState = std::ptr::null_mut();
        tids.ii_Predicate = std::ptr::null_mut();
        tids.ii_PredicateState = std::ptr::null_mut();
        let as_heap = AsHeap::enter(rel);
        let flags = pg_sys::ScanOptions::SO_TYPE_SEQSCAN
            | pg_sys::ScanOptions::SO_ALLOW_STRAT
            | pg_sys::ScanOptions::SO_ALLOW_PAGEMODE;
        let flags = if snapshot.is_mvcc() {
            flags
        } else {
            flags & !pg_sys::ScanOptions::SO_ALLOW_PAGEMODE
        };
        let heap_scan = pg_sys::heap_beginscan(
            rel.raw(),
            snapshot.raw(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            flags,
        );
        pg_sys::heap_setscanlimits(heap_scan, p, 1);
        // A scan handed in passes for a parallel worker's, which must claim to be synchronized and to cover everything.
        let build = (*(*rel.raw()).rd_tableam)
            .index_build_range_scan
            .expect("heap builds indexes");
        // An error, a cancelled build too, must not leave the relation heap's.
        let tuples = guarded!(build(
            rel.raw(),
            index.raw(),
            &mut tids,
            true,
            any_visible,
            false,
            0,
            pg_sys::InvalidBlockNumber,
            Some(translate),
            &raw mut translation as *mut _,
            heap_scan,
        ));
        drop(as_heap);
        (*info).ii_BrokenHotChain |= tids.ii_BrokenHotChain;
        translation.feed.clear();
        tuples + translation.tuples
    }
}

/// heapam_index_validate_scan(): inserts the rows that the snapshot sees and the index lacks. The index's TIDs come
/// sorted.
///
/// # Safety
/// As tableam.h, or heap's build of an index, calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn validate_scan(
    rel: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
    snapshot: pg_sys::Snapshot,
    validate: *mut pg_sys::ValidateIndexState,
) {
    // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
    unsafe {
        let rel = Relation::of(rel);
        let index = Relation::of(index);
        let snapshot = Snapshot::of(snapshot);
        let estate = pg_sys::CreateExecutorState();
        let econtext = per_tuple_context(estate);
        let slot = pg_sys::MakeSingleTupleTableSlot(rel.desc().raw(), slot::ops());
        (*econtext).ecxt_scantuple = slot;
        let predicate = pg_sys::ExecPrepareQual((*info).ii_Predicate, estate);
        let unique = if (*info).ii_Unique {
            pg_sys::IndexUniqueCheck::UNIQUE_CHECK_YES
        } else {
            pg_sys::IndexUniqueCheck::UNIQUE_CHECK_NO
        };
        let mut entries = IndexEntries {
            sort: (*validate).tuplesort,
            next: None,
            done: false,
        };
        entries.advance();
        let mut block = Block::default();
        for v in 0..meta::logical_blocks(rel) {
            crate::memory::check_for_interrupts();
            pg_sys::pgstat_progress_update_param(pg_sys::PROGRESS_SCAN_BLOCKS_DONE as i32, v.into());
            block.load(rel, snapshot, v, Pick::All);
            let indexed = entries.of_block(v);
            let roots = block.roots();
            for row in 0..block.len() {
                (*validate).htups += 1.0;
                let root = roots(block.offset(row));
                if indexed.contains(&root) {
                    continue;
                }
                pg_sys::MemoryContextReset((*econtext).ecxt_per_tuple_memory);
                block.store(rel, row, Slot::of(slot));
                if !holds(predicate, econtext) {
                    continue;
                }
                let mut values = [pg_sys::Datum::null(); pg_sys::INDEX_MAX_KEYS as usize];
                let mut isnull = [false; pg_sys::INDEX_MAX_KEYS as usize];
                pg_sys::FormIndexDatum(info, slot, estate, values.as_mut_ptr(), isnull.as_mut_ptr());
                let mut tid = pg_sys::ItemPointerData::default();
                set_tid(&mut tid, v, root);
                pg_sys::index_insert(
                    index.raw(),
                    values.as_mut_ptr(),
                    isnull.as_mut_ptr(),
                    &mut tid,
                    rel.raw(),
                    unique,
                    false,
                    info,
                );
                (*validate).tups_inserted += 1.0;
            }
        }
        block.clear();
        pg_sys::ExecDropSingleTupleTableSlot(slot);
        pg_sys::FreeExecutorState(estate);
        (*info).ii_ExpressionsState = std::ptr::null_mut();
        (*info).ii_PredicateState = std::ptr::null_mut();
    }
}

/// The TIDs in the index, in order.
struct IndexEntries {
    sort: *mut pg_sys::Tuplesortstate,
    next: Option<(u32, u16)>,
    done: bool,
}

impl IndexEntries {
    /// # Safety
    /// As tableam.h, or heap's build of an index, calls it.
    unsafe fn advance(&mut self) {
        // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
        unsafe {
            if self.done {
                self.next = None;
                return;
            }
            let mut datum = pg_sys::Datum::null();
            let mut isnull = false;
            #[cfg(feature = "pg15")]
            let got = pg_sys::tuplesort_getdatum(self.sort, true, &mut datum, &mut isnull, std::ptr::null_mut());
            #[cfg(not(feature = "pg15"))]
            let got = pg_sys::tuplesort_getdatum(self.sort, true, false, &mut datum, &mut isnull, std::ptr::null_mut());
            self.done = !got;
            // itemptr_decode() (index.h): block number above 16 bits of offset.
            self.next = got.then(|| ((datum.value() as u64 >> 16) as u32, datum.value() as u16));
        }
    }

    /// The offsets indexed in block `v`; blocks come in order.
    ///
    /// # Safety
    /// As tableam.h, or heap's build of an index, calls it.
    unsafe fn of_block(&mut self, v: u32) -> std::collections::HashSet<u16> {
        // SAFETY: PostgreSQL's arguments, and what they lead to, stay until we return.
        unsafe {
            let mut offsets = std::collections::HashSet::new();
            while let Some((block, offset)) = self.next {
                if block > v {
                    break;
                }
                if block == v {
                    offsets.insert(offset);
                }
                self.advance();
            }
            offsets
        }
    }
}
