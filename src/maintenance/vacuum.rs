//! VACUUM of a table: prunes and freezes row pages, removes the index entries of dead rows, then the dead line
//! pointers. The structure is lazy vacuum's (vacuumlazy.c); going by logical block is ours.

mod components;

use super::flush;
use super::freeze::{self, Limits};
use super::{MaintenanceLock, lost, merge, reclaim, standby, truncate};
use crate::columnar::stub;
use crate::heap::settled::settled;
use crate::heap::tuple::raw_xmin;
use crate::pg::horizon::conflict_older;
use crate::pg::relation::rel_name;
use crate::storage::buffer::{Change, Pin, physical_blocks};
use crate::storage::rowpage::{self, Item, heap_tuple, is_stub, tid_block};
use crate::storage::{manifest, map, meta};
use amax_lsm::{Key, RangeSet, tid};
use pgrx::pg_sys;
use pgrx::prelude::*;

/// What one VACUUM did.
#[derive(Default)]
struct Report {
    row_pages: u64,
    skipped_pages: u64,
    live: f64,
    recently_dead: f64,
    removed: u64,
    frozen_pages: u64,
    /// Logical blocks all of whose rows everyone sees: the planner's hint of how cheap an index-only scan is. (There is
    /// no visibility map: it would be keyed by physical page, and be asked by logical block.)
    all_visible: u32,
    /// Rows of components that are dead to everyone.
    columnar_dead: u64,
    /// Rows of components that only older snapshots see; they are among the recently dead ones.
    columnar_recently_dead: u64,
    flushed: flush::Flushed,
    merged: merge::Merged,
    /// Pages.
    freed: u64,
    left_directory: u64,
    truncated: u32,
}

struct Vacuum {
    rel: pg_sys::Relation,
    limits: Limits,
    vistest: *mut pg_sys::GlobalVisState,
    indexes: Vec<Index>,
    strategy: pg_sys::BufferAccessStrategy,
    /// Keys of dead line pointers, ascending.
    dead: Vec<Key>,
    /// Blocks of loads that failed: their index entries are to be removed.
    failed: RangeSet,
    /// Such blocks without index entries.
    voided: RangeSet,
    /// The oldest transaction of a component that could not be settled.
    oldest_origin: Option<pg_sys::TransactionId>,
    conflicted: bool,
    /// A part was left undone: the disk is full.
    undone: bool,
    /// Components keep transaction ids that they should not.
    unfrozen: bool,
    #[cfg(feature = "pg18")]
    started: pg_sys::TimestampTz,
    report: Report,
}

/// What index entries may be removed.
struct Dead {
    /// Dead line pointers of row pages, ascending.
    hot: Vec<Key>,
    /// What index entries hold for dead rows of components, ascending.
    columnar: Vec<Key>,
    manifest: std::rc::Rc<amax_lsm::Manifest>,
    /// Components whose loads were rolled back, as indexes into the manifest.
    aborted: Vec<usize>,
    /// Blocks of loads that failed before they were published.
    failed: RangeSet,
}

struct Index {
    rel: pg_sys::Relation,
    stats: *mut pg_sys::IndexBulkDeleteResult,
}

#[pg_guard]
pub unsafe extern "C-unwind" fn relation_vacuum(
    rel: pg_sys::Relation,
    params: *mut pg_sys::VacuumParams,
    strategy: pg_sys::BufferAccessStrategy,
) {
    let verbose = (*params).options & pg_sys::VACOPT_VERBOSE != 0;
    pg_sys::pgstat_progress_start_command(pg_sys::ProgressCommandType::PROGRESS_COMMAND_VACUUM, (*rel).rd_id);
    if (*params).nworkers > 0 && (*(*rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as i8 {
        pgrx::warning!(
            "disabling parallel option of vacuum on \"{}\" --- cannot vacuum temporary tables in parallel",
            rel_name(rel)
        );
    }
    let limits = freeze::limits(rel, params);
    let index_cleanup = (*params).index_cleanup != pg_sys::VacOptValue::VACOPTVALUE_DISABLED;
    let (mut list, mut count) = (std::ptr::null_mut(), 0);
    pg_sys::vac_open_indexes(rel, pg_sys::RowExclusiveLock as i32, &mut count, &mut list);
    let opened = std::slice::from_raw_parts(
        if count == 0 {
            std::ptr::NonNull::dangling().as_ptr()
        } else {
            list
        },
        count as usize,
    );
    let indexes = opened
        .iter()
        .map(|&rel| Index {
            rel,
            stats: std::ptr::null_mut(),
        })
        .collect();
    let mut vacuum = Vacuum {
        rel,
        limits,
        vistest: pg_sys::GlobalVisTestFor(rel),
        indexes,
        strategy,
        dead: Vec::new(),
        failed: lost::failed_blocks(rel),
        voided: RangeSet::default(),
        oldest_origin: None,
        conflicted: false,
        undone: false,
        unfrozen: false,
        #[cfg(feature = "pg18")]
        started: pg_sys::GetCurrentTimestamp(),
        report: Report::default(),
    };
    let all_frozen = vacuum.row_pages(index_cleanup);
    vacuum.components();
    vacuum.index_cleanup(index_cleanup);
    if meta::logical_blocks(rel) > 0 {
        let _lock = MaintenanceLock::take(rel);
        if (*params).truncate != pg_sys::VacOptValue::VACOPTVALUE_DISABLED && vacuum.may_shrink() {
            vacuum.report.truncated = truncate::truncate(rel, count > 0);
        }
        reclaim::give_to_rows(rel, vacuum.report.flushed.pages + vacuum.report.left_directory);
    }
    vacuum.finish(all_frozen, verbose);
    pg_sys::vac_close_indexes(count, list, pg_sys::NoLock as i32);
    pg_sys::pgstat_progress_end_command();
}

impl Vacuum {
    /// Gives row pages a logical block whose inserter died before he could: what he left on them has to be frozen like
    /// all else. A sealed page has had one: its rows are in a component, and it waits for reclaim.
    unsafe fn adopt_strays(&self) {
        for p in 1..physical_blocks(self.rel) {
            pg_sys::vacuum_delay_point(
                #[cfg(feature = "pg18")]
                false,
            );
            if map::logical(self.rel, p).is_none() {
                let pin = Pin::read(self.rel, p);
                let stray = {
                    let _lock = pin.share();
                    rowpage::max_offset(pin.page()) > 0 && !rowpage::is_sealed(pin.page())
                };
                if stray {
                    map::adopt(self.rel, p);
                }
            }
        }
    }

    /// Prunes and freezes all row pages. True when none was left out, strays included: then relfrozenxid may advance.
    unsafe fn row_pages(&mut self, index_cleanup: bool) -> bool {
        if self.limits.aggressive {
            self.adopt_strays();
        }
        let budget = pg_sys::maintenance_work_mem as usize * 1024 / std::mem::size_of::<Key>();
        let blocks = meta::logical_blocks(self.rel);
        let manifest = manifest::current(self.rel);
        let mut complete = true;
        for v in manifest.unowned(blocks).blocks() {
            let Some(p) = map::physical(self.rel, v) else {
                continue;
            };
            pg_sys::vacuum_delay_point(
                #[cfg(feature = "pg18")]
                false,
            );
            self.report.row_pages += 1;
            complete &= self.row_page(v, p);
            if self.dead.len() >= budget && index_cleanup {
                self.remove_dead();
            }
        }
        if index_cleanup {
            self.remove_dead();
        }
        pg_sys::FreeSpaceMapVacuum(self.rel);
        complete && self.limits.aggressive
    }

    /// False when the page could not be had.
    unsafe fn row_page(&mut self, v: u32, p: u32) -> bool {
        let pin = Pin::hold(self.rel, p);
        if map::physical(self.rel, v) != Some(p) {
            // Flushed and reclaimed meanwhile.
            return true;
        }
        rowpage::check(self.rel, &pin);
        let sealed = {
            let _lock = pin.share();
            rowpage::is_sealed(pin.page())
        };
        if sealed {
            // An earlier flush's, which was never published: as sealed it could be neither pruned nor frozen.
            super::wait_for_flush(self.rel, p);
        }
        let lock = match pin.try_cleanup() {
            Some(lock) => lock,
            None if self.limits.aggressive => pin.wait_cleanup(),
            None => {
                self.report.skipped_pages += 1;
                // Count what is there all the same: the planner wants to know.
                let lock = pin.share();
                self.count(&pin);
                drop(lock);
                return false;
            }
        };
        if rowpage::is_sealed(pin.page()) {
            // Published meanwhile: its rows' transaction ids are the component's to freeze.
            return manifest::current(self.rel).component_of(v).is_some();
        }
        crate::compat::prune(self.rel, pin.buffer(), self.limits.oldest_xmin, self.vistest);
        if !self.conflicted && freeze::due(&pin, &self.limits) {
            conflict_older(self.rel, self.limits.xid);
            self.conflicted = true;
        }
        if freeze::page(self.rel, &pin, &self.limits) {
            self.report.frozen_pages += 1;
        }
        self.drop_idle_stubs(&pin);
        self.count(&pin);
        let offsets = rowpage::offsets(pin.page()).filter(|&o| rowpage::item(pin.page(), o) == Item::Dead);
        self.dead.extend(offsets.map(|o| tid::key(v, o)));
        let space = pg_sys::PageGetHeapFreeSpace(pin.page());
        drop(lock);
        pg_sys::RecordPageWithFreeSpace(self.rel, p, space);
        true
    }

    /// Takes stubs off a page, under its cleanup lock, whose rows were only locked, or whose changes were rolled back;
    /// and inert ones. Nobody can be about to use them: that takes a pin.
    unsafe fn drop_idle_stubs(&mut self, pin: &Pin) {
        let mut idle = Vec::new();
        for offset in rowpage::offsets(pin.page()) {
            let Some(mut tuple) = heap_tuple(self.rel, pin, offset) else {
                continue;
            };
            let Some(row) = stub::key_of(&tuple) else {
                continue;
            };
            if settled(&mut tuple, pin, self.limits.oldest_xmin) {
                idle.push((row, offset));
            }
        }
        if !idle.is_empty() {
            stub::take_off(self.rel, pin, &idle);
        }
    }

    unsafe fn count(&mut self, pin: &Pin) {
        let mut all_visible = true;
        for offset in rowpage::offsets(pin.page()) {
            let Some(mut tuple) = heap_tuple(self.rel, pin, offset) else {
                continue;
            };
            let state = pg_sys::HeapTupleSatisfiesVacuum(&mut tuple, self.limits.oldest_xmin, pin.buffer());
            if is_stub(tuple.t_data) {
                // Its row is counted with its component.
                if state == pg_sys::HTSV_Result::HEAPTUPLE_RECENTLY_DEAD {
                    self.report.recently_dead += 1.0;
                    self.report.columnar_recently_dead += 1;
                }
                continue;
            }
            match state {
                pg_sys::HTSV_Result::HEAPTUPLE_LIVE => {
                    self.report.live += 1.0;
                    let xmin = raw_xmin(tuple.t_data);
                    all_visible &= !pg_sys::TransactionIdIsNormal(xmin)
                        || pg_sys::TransactionIdPrecedes(xmin, self.limits.oldest_xmin);
                }
                pg_sys::HTSV_Result::HEAPTUPLE_RECENTLY_DEAD => {
                    self.report.recently_dead += 1.0;
                    all_visible = false;
                }
                pg_sys::HTSV_Result::HEAPTUPLE_DELETE_IN_PROGRESS => {
                    // Whoever deletes it counts that when he commits (lazy_scan_prune()).
                    self.report.live += 1.0;
                    all_visible = false;
                }
                _ => all_visible = false,
            }
        }
        self.report.all_visible += u32::from(all_visible);
    }

    /// Removes the index entries of the dead rows collected, then their line pointers.
    unsafe fn remove_dead(&mut self) {
        // Stubs among the line pointers to be reused are dead to everyone: the directory must say so before. A flush at
        // somebody's commit must not release stubs meanwhile: their places may be taken again.
        let lock = MaintenanceLock::take(self.rel);
        let columnar = stub::mark_dead(self.rel);
        drop(lock);
        super::fault("vacuum_marked");
        let manifest = manifest::current(self.rel);
        let left_out = manifest.components.iter().filter_map(|c| c.unswept);
        let left_out = left_out.map(|u| u.rows).sum();
        self.report.columnar_dead = columnar.marked.saturating_sub(left_out);
        let aborted = self.aborted_components();
        if self.dead.is_empty() && columnar.indexed.is_empty() && aborted.is_empty() && self.failed.is_empty() {
            return;
        }
        let dead = Dead {
            hot: std::mem::take(&mut self.dead),
            columnar: self.index_keys(&manifest, &columnar.indexed),
            manifest,
            aborted,
            failed: std::mem::take(&mut self.failed),
        };
        for at in 0..self.indexes.len() {
            let mut info = self.index_info(at);
            self.indexes[at].stats = pg_sys::index_bulk_delete(
                &mut info,
                self.indexes[at].stats,
                Some(is_dead),
                &raw const dead as *mut _,
            );
        }
        super::fault("vacuum_unindexed");
        stub::mark_gone(self.rel, &columnar.indexed);
        self.voided.union(&dead.failed);
        for &at in &dead.aborted {
            self.voided.union(&dead.manifest.components[at].blocks);
        }
        for of_block in dead.hot.chunk_by(|a, b| tid::block(*a) == tid::block(*b)) {
            let v = tid::block(of_block[0]);
            let Some(p) = map::physical(self.rel, v) else {
                continue;
            };
            pg_sys::vacuum_delay_point(
                #[cfg(feature = "pg18")]
                false,
            );
            self.report.removed += of_block.len() as u64;
            let pin = Pin::read(self.rel, p);
            std::mem::forget(pin.exclusive());
            let mut change = Change::begin(self.rel);
            let handle = change.locked(pin.into_buffer());
            let page = change.raw(handle);
            for &key in of_block {
                debug_assert_eq!(rowpage::item(page, tid::offset(key)), Item::Dead);
                rowpage::set_unused(page, tid::offset(key));
            }
            pg_sys::PageTruncateLinePointerArray(page);
            let space = pg_sys::PageGetHeapFreeSpace(page);
            change.commit();
            pg_sys::RecordPageWithFreeSpace(self.rel, p, space);
        }
    }

    /// What index entries hold for these columnar rows: their TIDs and the aliases of those.
    fn index_keys(&self, manifest: &amax_lsm::Manifest, rows: &[Key]) -> Vec<Key> {
        let mut keys = rows.to_vec();
        for of_block in rows.chunk_by(|a, b| tid::block(*a) == tid::block(*b)) {
            let v = tid::block(of_block[0]);
            let Some(at) = manifest.component_of(v) else {
                continue;
            };
            let directory = manifest::directory(self.rel, &manifest.components[at]);
            if let Some(leaf) = directory.leaves.get(directory.first_leaf_at(v)) {
                let of_row = |a: &&(Key, u16)| of_block.binary_search(&tid::key(v, a.1)).is_ok();
                keys.extend(leaf.aliases_of(v).iter().filter(of_row).map(|a| a.0));
            }
        }
        keys.sort_unstable();
        keys
    }

    unsafe fn index_info(&self, at: usize) -> pg_sys::IndexVacuumInfo {
        let mut info: pg_sys::IndexVacuumInfo = std::mem::zeroed();
        info.index = self.indexes[at].rel;
        #[cfg(not(feature = "pg15"))]
        {
            info.heaprel = self.rel;
        }
        info.estimated_count = true;
        info.message_level = pg_sys::DEBUG2 as i32;
        info.num_heap_tuples = (*(*self.rel).rd_rel).reltuples.into();
        info.strategy = self.strategy;
        info
    }

    unsafe fn index_cleanup(&mut self, wanted: bool) {
        if !wanted {
            return;
        }
        for at in 0..self.indexes.len() {
            let mut info = self.index_info(at);
            info.num_heap_tuples = self.rows();
            info.estimated_count = self.report.skipped_pages > 0;
            let stats = pg_sys::index_vacuum_cleanup(&mut info, self.indexes[at].stats);
            if !stats.is_null() && !(*stats).estimated_count {
                update_stats(
                    self.indexes[at].rel,
                    (*stats).num_pages,
                    (*stats).num_index_tuples,
                    0,
                    false,
                    (pg_sys::InvalidTransactionId, Default::default()),
                );
            }
        }
    }

    /// Whether the file may give its end back. That takes a lock which cancels a standby's queries. Heap does so only
    /// when rows have gone; what flushes and merges of a table leave that only grows is for its next rows, as long as
    /// there are any.
    unsafe fn may_shrink(&self) -> bool {
        let r = &self.report;
        let blocks = meta::logical_blocks(self.rel);
        let grows = r.live > 0.0 || blocks != (*(*self.rel).rd_rel).relpages as u32;
        !grows && standby::may_call_idle(self.rel)
            || self.undone
            || r.removed > 0
            || r.columnar_dead > 0
            || r.merged.left_out > 0
            || !self.voided.is_empty()
    }

    /// The rows that are alive: those just flushed were counted on their row pages.
    fn rows(&self) -> f64 {
        let r = &self.report;
        let others = r.columnar_dead + r.columnar_recently_dead + r.flushed.rows;
        let columnar = manifest::current(self.rel).rows().saturating_sub(others);
        r.live + columnar as f64
    }

    unsafe fn finish(&mut self, all_frozen: bool, verbose: bool) {
        let manifest = manifest::current(self.rel);
        let rows = self.rows();
        let all_visible = self.report.all_visible
            + manifest.components.iter().map(|c| c.blocks.len()).sum::<u64>() as u32
            - self.report.flushed.pages as u32;
        let cutoffs = if all_frozen && !self.unfrozen {
            let xid = match self.oldest_origin {
                Some(oldest) if pg_sys::TransactionIdPrecedes(oldest, self.limits.xid) => oldest,
                _ => self.limits.xid,
            };
            (xid, self.limits.multi)
        } else {
            (pg_sys::InvalidTransactionId, Default::default())
        };
        let pages = meta::logical_blocks(self.rel);
        update_stats(
            self.rel,
            pages,
            rows,
            all_visible.min(pages),
            !self.indexes.is_empty(),
            cutoffs,
        );
        pg_sys::pgstat_report_vacuum(
            (*self.rel).rd_id,
            (*(*self.rel).rd_rel).relisshared,
            rows as i64,
            self.report.recently_dead as i64,
            #[cfg(feature = "pg18")]
            self.started,
        );
        if verbose {
            let r = &self.report;
            pgrx::info!(
                "vacuumed \"{}\": {} row pages ({} skipped, {} frozen), {} dead row versions removed, {} recently dead; \
                 {} row pages with {} rows flushed, {} components merged to {} rows ({} dead ones left out), \
                 {} components with {} rows ({} dead), {} pages freed, {} given back; {} rows in all",
                rel_name(self.rel),
                r.row_pages,
                r.skipped_pages,
                r.frozen_pages,
                r.removed,
                r.recently_dead,
                r.flushed.pages,
                r.flushed.rows,
                r.merged.inputs,
                r.merged.rows,
                r.merged.left_out,
                manifest.components.len(),
                manifest.rows(),
                r.columnar_dead,
                r.freed,
                r.truncated,
                rows
            );
        }
    }
}

unsafe fn update_stats(
    rel: pg_sys::Relation,
    pages: u32,
    tuples: f64,
    all_visible: u32,
    has_index: bool,
    cutoffs: (pg_sys::TransactionId, pg_sys::MultiXactId),
) {
    pg_sys::vac_update_relstats(
        rel,
        pages,
        tuples,
        all_visible,
        #[cfg(feature = "pg18")]
        0,
        has_index,
        cutoffs.0,
        cutoffs.1,
        std::ptr::null_mut(),
        std::ptr::null_mut(),
        false,
    );
}

#[pg_guard]
unsafe extern "C-unwind" fn is_dead(item: pg_sys::ItemPointer, state: *mut std::ffi::c_void) -> bool {
    let dead = &*(state as *const Dead);
    let key = tid::key(tid_block(&*item), (*item).ip_posid);
    if dead.hot.binary_search(&key).is_ok() || dead.columnar.binary_search(&key).is_ok() {
        return true;
    }
    let v = tid::block(key);
    if dead.failed.contains(v) {
        return true;
    }
    dead.aborted
        .iter()
        .any(|&at| dead.manifest.components[at].blocks.contains(v))
}
