//! VACUUM of a table: prunes and freezes row pages, removes the index entries of dead rows, then the dead line
//! pointers. The structure is lazy vacuum's (vacuumlazy.c); going by logical block is ours.

mod components;

use super::flush;
use super::{MaintenanceLock, lost, merge, reclaim, standby, truncate};
use crate::columnar::stub;
use crate::heap::freeze::{self, Limits};
use crate::heap::prune;
use crate::heap::settled::settled;
use crate::pg::horizon::conflict_older;
use crate::pg::index::{Indexes, Rows};
use crate::pg::settings::maintenance_work_mem;
use crate::pg::vacuum::{self, Progress, delay_point};
use crate::pg::{Lock, Pin, Relation, free_space, xid};
use crate::storage::buffer::Change;
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

struct Vacuum<'a> {
    rel: &'a Relation,
    limits: Limits,
    indexes: Indexes<'a>,
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

impl Dead {
    fn has(&self, tid: &pg_sys::ItemPointerData) -> bool {
        let key = tid::key(tid_block(tid), tid.ip_posid);
        if self.hot.binary_search(&key).is_ok() || self.columnar.binary_search(&key).is_ok() {
            return true;
        }
        let v = tid::block(key);
        let mut aborted = self.aborted.iter();
        self.failed.contains(v) || aborted.any(|&at| self.manifest.components[at].blocks.contains(v))
    }
}

/// What VACUUM was told to do.
struct Wanted {
    verbose: bool,
    parallel: bool,
    index_cleanup: bool,
    truncate: bool,
}

impl Wanted {
    fn of(params: &pg_sys::VacuumParams) -> Wanted {
        use pg_sys::VacOptValue::VACOPTVALUE_DISABLED as DISABLED;
        Wanted {
            verbose: params.options & pg_sys::VACOPT_VERBOSE != 0,
            parallel: params.nworkers > 0,
            index_cleanup: params.index_cleanup != DISABLED,
            truncate: params.truncate != DISABLED,
        }
    }
}

/// # Safety
/// As table_relation_vacuum() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn relation_vacuum(
    rel: pg_sys::Relation,
    params: *mut pg_sys::VacuumParams,
    strategy: pg_sys::BufferAccessStrategy,
) {
    // SAFETY: PostgreSQL has opened and locked the table; all of it stays until we return.
    unsafe {
        let rel = Relation::of(rel);
        let limits = || freeze::limits(rel, params);
        run(rel, Wanted::of(&*params), limits, || Indexes::open(rel, strategy));
    }
}

fn run<'a>(rel: &'a Relation, wanted: Wanted, limits: impl FnOnce() -> Limits, indexes: impl FnOnce() -> Indexes<'a>) {
    let _progress = Progress::of(rel);
    if wanted.parallel && rel.is_temporary() {
        pgrx::warning!(
            "disabling parallel option of vacuum on \"{}\" --- cannot vacuum temporary tables in parallel",
            rel.name()
        );
    }
    let mut vacuum = Vacuum {
        rel,
        limits: limits(),
        indexes: indexes(),
        dead: Vec::new(),
        failed: lost::failed_blocks(rel),
        voided: RangeSet::default(),
        oldest_origin: None,
        conflicted: false,
        undone: false,
        unfrozen: false,
        started: vacuum::now(),
        report: Report::default(),
    };
    let all_frozen = vacuum.row_pages(wanted.index_cleanup);
    vacuum.components();
    if wanted.index_cleanup {
        let rows = Rows {
            count: vacuum.rows(),
            estimated: vacuum.report.skipped_pages > 0,
        };
        vacuum.indexes.cleanup(rows);
    }
    if meta::logical_blocks(rel) > 0 {
        let _lock = MaintenanceLock::take(rel);
        if wanted.truncate && vacuum.may_shrink() {
            vacuum.report.truncated = truncate::truncate(rel, !vacuum.indexes.is_empty());
        }
        reclaim::give_to_rows(rel, vacuum.report.flushed.pages + vacuum.report.left_directory);
    }
    vacuum.finish(all_frozen, wanted.verbose);
}

impl Vacuum<'_> {
    /// Gives row pages a logical block whose inserter died before he could: what he left on them has to be frozen like
    /// all else. A sealed page has had one: its rows are in a component, and it waits for reclaim.
    fn adopt_strays(&self) {
        for p in 1..self.rel.physical_blocks() {
            delay_point();
            if map::logical(self.rel, p).is_none() {
                let pin = Pin::read(self.rel, p);
                let stray = {
                    let _lock = pin.share();
                    pin.page().max_offset() > 0 && !rowpage::is_sealed(pin.page())
                };
                if stray {
                    map::adopt(self.rel, p);
                }
            }
        }
    }

    /// Prunes and freezes all row pages. True when none was left out, strays included: then relfrozenxid may advance.
    fn row_pages(&mut self, index_cleanup: bool) -> bool {
        if self.limits.aggressive {
            self.adopt_strays();
        }
        let budget = maintenance_work_mem() / std::mem::size_of::<Key>();
        let blocks = meta::logical_blocks(self.rel);
        let manifest = manifest::current(self.rel);
        let mut complete = true;
        for v in manifest.unowned(blocks).blocks() {
            let Some(p) = map::physical(self.rel, v) else {
                continue;
            };
            delay_point();
            self.report.row_pages += 1;
            complete &= self.row_page(v, p);
            if self.dead.len() >= budget && index_cleanup {
                self.remove_dead();
            }
        }
        if index_cleanup {
            self.remove_dead();
        }
        free_space::vacuum(self.rel);
        complete && self.limits.aggressive
    }

    /// False when the page could not be had.
    fn row_page(&mut self, v: u32, p: u32) -> bool {
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
                self.count(&pin, &pin.share());
                return false;
            }
        };
        if rowpage::is_sealed(pin.page()) {
            // Published meanwhile: its rows' transaction ids are the component's to freeze.
            return manifest::current(self.rel).component_of(v).is_some();
        }
        prune::by_horizon(self.rel, &lock, self.limits.oldest_xmin);
        if !self.conflicted && freeze::due(self.rel, &pin, &self.limits) {
            conflict_older(self.rel, self.limits.xid);
            self.conflicted = true;
        }
        if freeze::page(self.rel, &pin, &lock, &self.limits) {
            self.report.frozen_pages += 1;
        }
        self.drop_idle_stubs(&pin, &lock);
        self.count(&pin, &lock);
        let offsets = rowpage::offsets(pin.page()).filter(|&o| rowpage::item(pin.page(), o) == Item::Dead);
        self.dead.extend(offsets.map(|o| tid::key(v, o)));
        let space = pin.page().heap_free_space();
        drop(lock);
        free_space::record(self.rel, p, space);
        true
    }

    /// Takes stubs off a page, under its cleanup lock, whose rows were only locked, or whose changes were rolled back;
    /// and inert ones. Nobody can be about to use them: that takes a pin.
    fn drop_idle_stubs(&mut self, pin: &Pin, lock: &Lock) {
        let mut idle = Vec::new();
        for offset in rowpage::offsets(pin.page()) {
            let Some(mut tuple) = heap_tuple(self.rel, pin, offset) else {
                continue;
            };
            let Some(row) = stub::key_of(&tuple) else {
                continue;
            };
            if settled(&mut tuple, lock, self.limits.oldest_xmin) {
                idle.push((row, offset));
            }
        }
        if !idle.is_empty() {
            stub::remove_idle(self.rel, lock, &idle);
        }
    }

    fn count(&mut self, pin: &Pin, lock: &Lock) {
        let mut all_visible = true;
        for offset in rowpage::offsets(pin.page()) {
            let Some(mut tuple) = heap_tuple(self.rel, pin, offset) else {
                continue;
            };
            let state = tuple.fate(self.limits.oldest_xmin, lock.buffer());
            if is_stub(tuple.header()) {
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
                    all_visible &= xid::is_older(tuple.header().xmin(), self.limits.oldest_xmin);
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
    fn remove_dead(&mut self) {
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
        self.indexes.bulk_delete(&|tid| dead.has(tid));
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
            delay_point();
            self.report.removed += of_block.len() as u64;
            let mut change = Change::begin(self.rel);
            let handle = change.locked(Pin::read(self.rel, p).lock());
            let mut page = change.whole(handle);
            for &key in of_block {
                debug_assert_eq!(rowpage::item(*page, tid::offset(key)), Item::Dead);
                page.set_unused(tid::offset(key));
            }
            page.truncate_line_pointers();
            let space = page.heap_free_space();
            change.commit();
            free_space::record(self.rel, p, space);
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

    /// Whether the file may give its end back. That takes a lock which cancels a standby's queries. Heap does so only
    /// when rows have gone; what flushes and merges of a table leave that only grows is for its next rows, as long as
    /// there are any.
    fn may_shrink(&self) -> bool {
        let r = &self.report;
        let blocks = meta::logical_blocks(self.rel);
        let grows = r.live > 0.0 || blocks != self.rel.pages();
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

    fn finish(&mut self, all_frozen: bool, verbose: bool) {
        let manifest = manifest::current(self.rel);
        let rows = self.rows();
        let all_visible = self.report.all_visible
            + manifest.components.iter().map(|c| c.blocks.len()).sum::<u64>() as u32
            - self.report.flushed.pages as u32;
        let cutoffs = if all_frozen && !self.unfrozen {
            let xid = match self.oldest_origin {
                Some(oldest) if xid::precedes(oldest, self.limits.xid) => oldest,
                _ => self.limits.xid,
            };
            (xid, self.limits.multi)
        } else {
            (pg_sys::InvalidTransactionId, Default::default())
        };
        let pages = meta::logical_blocks(self.rel);
        vacuum::update_stats(
            self.rel,
            pages,
            rows,
            all_visible.min(pages),
            !self.indexes.is_empty(),
            cutoffs,
        );
        vacuum::report(self.rel, rows as i64, self.report.recently_dead as i64, self.started);
        if verbose {
            let r = &self.report;
            pgrx::info!(
                "vacuumed \"{}\": {} row pages ({} skipped, {} frozen), {} dead row versions removed, {} recently dead; \
                 {} row pages with {} rows flushed, {} components merged to {} rows ({} dead ones left out), \
                 {} components with {} rows ({} dead), {} pages freed, {} given back; {} rows in all",
                self.rel.name(),
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
