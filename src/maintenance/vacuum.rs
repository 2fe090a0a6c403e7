//! VACUUM of a table: prunes and freezes row pages, removes the index entries of dead rows, then the dead line
//! pointers. The structure is lazy vacuum's (vacuumlazy.c); going by logical block is ours.

mod components;

use super::attempt::attempt;
use super::flush;
use super::{MaintenanceLock, compact, lost, merge, reclaim, standby, truncate};
use crate::columnar::{most_bytes, stub};
use crate::heap::freeze::{self, Limits};
use crate::heap::prune;
use crate::heap::settled::settled;
use crate::memory;
use crate::pg::horizon::conflict_older;
use crate::pg::index::{Indexes, Rows};
use crate::pg::progress::{self, Phase, Progress};
use crate::pg::settings::own_maintenance_work_mem;
use crate::pg::vacuum::{self, delay_point, has_standby};
use crate::pg::{Lock, Pin, Relation, free_space, stats, xid};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, Item, heap_tuple, is_stub, tid_block};
use crate::storage::{manifest, map, meta};
use amax_lsm::{Key, RangeSet, tid};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::cell::Cell;

/// What one VACUUM did.
#[derive(Default)]
struct Report {
    row_pages: u64,
    skipped_pages: u64,
    live: f64,
    recently_dead: f64,
    removed: u64,
    index_scans: u32,
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
    moved: u64,
    left_directory: u64,
    truncated: u32,
}

struct Vacuum<'a> {
    rel: &'a Relation,
    wanted: Wanted,
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
    /// Dead versions with values out of line are left, on pages that could not be had.
    unpruned: bool,
    /// A part was left undone, for want of space or memory.
    undone: bool,
    /// Components keep transaction ids that they should not.
    unfrozen: bool,
    /// Only what relfrozenxid waits for is done.
    failsafe: bool,
    started: pg_sys::TimestampTz,
    report: Report,
}

/// Row pages between two looks at how old the table's transaction ids are (FAILSAFE_EVERY_PAGES, vacuumlazy.c).
const FAILSAFE_EVERY: u64 = (4 << 30) / pg_sys::BLCKSZ as u64;

/// Whether a page's dead rows may be added to these.
fn has_room(dead: &mut Vec<Key>) -> bool {
    let most = own_maintenance_work_mem() / size_of::<Key>();
    let page = usize::from(tid::MAX_OFFSET);
    dead.is_empty() || dead.len() < most && amax_memory::reserve(dead, page, "dead rows").is_ok()
}

/// Keys, ascending, that are mostly asked for in their order.
struct Ascending {
    keys: Vec<Key>,
    /// How many are below the one asked for last.
    below: Cell<usize>,
}

impl Ascending {
    fn new(keys: Vec<Key>) -> Ascending {
        let below = Cell::new(0);
        Ascending { keys, below }
    }

    fn has(&self, key: Key) -> bool {
        let is_place = |&at: &usize| {
            let behind = at == 0 || self.keys[at - 1] < key;
            behind && self.keys.get(at).is_none_or(|&next| key <= next)
        };
        let below = self.below.get();
        let near = below..(below + 2).min(self.keys.len() + 1);
        let found = near.clone().find(is_place);
        let at = found.unwrap_or_else(|| self.keys.partition_point(|&known| known < key));
        self.below.set(at);
        self.keys.get(at) == Some(&key)
    }
}

/// What index entries may be removed.
struct Dead {
    /// Dead line pointers of row pages.
    hot: Ascending,
    /// Dead rows of components.
    columnar: Ascending,
    /// What else index entries hold for those.
    aliases: Ascending,
    manifest: std::rc::Rc<amax_lsm::Manifest>,
    /// Components whose loads were rolled back, as indexes into the manifest.
    aborted: Vec<usize>,
    /// Blocks of loads that failed before they were published.
    failed: RangeSet,
}

impl Dead {
    fn has(&self, tid: &pg_sys::ItemPointerData) -> bool {
        let key = tid::key(tid_block(tid), tid.ip_posid);
        if [&self.hot, &self.columnar, &self.aliases]
            .iter()
            .any(|keys| keys.has(key))
        {
            return true;
        }
        let v = tid::block(key);
        let mut aborted = self.aborted.iter();
        self.failed.contains(v) || aborted.any(|&at| self.manifest.components[at].blocks.contains(v))
    }
}

/// What VACUUM was told to do.
struct Wanted {
    /// All rows that may are made columnar, however few they are.
    all: bool,
    verbose: bool,
    parallel: bool,
    index_cleanup: bool,
    truncate: bool,
}

impl Wanted {
    fn of(params: &pg_sys::VacuumParams) -> Wanted {
        use pg_sys::VacOptValue::VACOPTVALUE_DISABLED as DISABLED;
        Wanted {
            all: false,
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
        let limits = || freeze::limits(rel, &mut *params);
        run(rel, Wanted::of(&*params), limits, || Indexes::open(rel, strategy));
    }
}

fn run<'a>(rel: &'a Relation, wanted: Wanted, limits: impl FnOnce() -> Limits, indexes: impl FnOnce() -> Indexes<'a>) {
    let _progress = Progress::of(rel, pages(rel));
    if wanted.parallel && rel.is_temporary() {
        pgrx::warning!(
            "disabling parallel option of vacuum on \"{}\" --- cannot vacuum temporary tables in parallel",
            rel.name()
        );
    }
    let mut vacuum = Vacuum::new(rel, wanted, limits(), indexes());
    let all_frozen = vacuum.row_pages();
    vacuum.components();
    if vacuum.wanted.index_cleanup {
        progress::phase(Phase::IndexCleanup);
        let rows = Rows {
            count: vacuum.rows(),
            estimated: vacuum.report.skipped_pages > 0,
        };
        vacuum.indexes.cleanup(rows);
    }
    if meta::logical_blocks(rel) > 0 && !vacuum.failsafe {
        let _lock = MaintenanceLock::take(rel);
        if vacuum.wanted.truncate && vacuum.may_shrink() {
            progress::phase(Phase::Truncation);
            let moved = attempt(rel, || compact::compact(rel));
            vacuum.report.moved = vacuum.or_undone("compaction", moved);
            let truncated = attempt(rel, || truncate::truncate(rel, !vacuum.indexes.is_empty()));
            vacuum.report.truncated = vacuum.or_undone("truncation", truncated);
        }
        progress::phase(Phase::Last);
        let pages = vacuum.report.flushed.pages + vacuum.report.left_directory;
        let given = attempt(rel, || reclaim::give_to_rows(rel, pages));
        vacuum.or_undone("reclaim", given);
        manifest::stamp(rel);
        reclaim::let_pass(rel);
    }
    vacuum.finish(all_frozen);
}

/// Of row pages and components.
fn pages(rel: &Relation) -> u64 {
    let manifest = manifest::current(rel);
    let blocks = manifest.unowned(meta::logical_blocks(rel));
    let row_pages = blocks.blocks().filter(|&v| map::physical(rel, v).is_some());
    row_pages.count() as u64 + manifest.pages()
}

/// Makes columnar what may be, now. The caller has VACUUM's lock. Returns how many rows.
pub fn flush_all(rel: &Relation) -> u64 {
    let wanted = Wanted {
        all: true,
        verbose: false,
        parallel: false,
        index_cleanup: true,
        truncate: false,
    };
    let limits = freeze::limits(rel, &mut vacuum::plain_parameters());
    let mut vacuum = Vacuum::new(rel, wanted, limits, Indexes::open_plainly(rel));
    vacuum.row_pages();
    vacuum.components();
    vacuum.report.flushed.rows
}

impl<'a> Vacuum<'a> {
    fn new(rel: &'a Relation, wanted: Wanted, limits: Limits, indexes: Indexes<'a>) -> Vacuum<'a> {
        Vacuum {
            rel,
            wanted,
            limits,
            indexes,
            dead: Vec::new(),
            failed: lost::failed_blocks(rel),
            voided: RangeSet::default(),
            oldest_origin: None,
            conflicted: false,
            unpruned: false,
            undone: false,
            unfrozen: false,
            failsafe: false,
            started: vacuum::now(),
            report: Report::default(),
        }
    }

    /// Whether the table's transaction ids are so old that nothing is done but what relfrozenxid waits for: no index is
    /// vacuumed, nothing flushed, freed, merged or truncated (lazy_check_wraparound_failsafe()).
    fn is_failsafe(&mut self) -> bool {
        if !self.failsafe && vacuum::failsafe_due(self.rel.frozen()) {
            self.failsafe = true;
            self.wanted.index_cleanup = false;
            vacuum::begin_failsafe(self.rel, self.report.index_scans);
        }
        self.failsafe
    }

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
    fn row_pages(&mut self) -> bool {
        self.is_failsafe();
        if self.limits.aggressive {
            self.adopt_strays();
        }
        let blocks = meta::logical_blocks(self.rel);
        let manifest = manifest::current(self.rel);
        let mut complete = true;
        progress::phase(Phase::RowPages);
        for v in manifest.unowned(blocks).blocks() {
            let Some(p) = map::physical(self.rel, v) else {
                continue;
            };
            delay_point();
            if self.report.row_pages.is_multiple_of(FAILSAFE_EVERY) {
                self.is_failsafe();
            }
            if !has_room(&mut self.dead) {
                self.remove_dead();
                progress::phase(Phase::RowPages);
            }
            self.report.row_pages += 1;
            progress::looked_at(self.report.row_pages);
            complete &= self.row_page(v, p);
        }
        self.remove_dead();
        free_space::vacuum(self.rel);
        complete && self.limits.aggressive
    }

    /// False when the page could not be had.
    fn row_page(&mut self, v: u32, p: u32) -> bool {
        let pin = Pin::read(self.rel, p);
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
        rowpage::check_rows(self.rel, &pin);
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
        if self.wanted.index_cleanup {
            let offsets = rowpage::offsets(pin.page()).filter(|&o| rowpage::item(pin.page(), o) == Item::Dead);
            self.dead.extend(offsets.map(|o| tid::key(v, o)));
        }
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
                pg_sys::HTSV_Result::HEAPTUPLE_DEAD => {
                    self.unpruned |= tuple.header().has_external();
                    all_visible = false;
                }
                _ => all_visible = false,
            }
        }
        self.report.all_visible += u32::from(all_visible);
    }

    /// Removes the index entries of the dead rows collected, then their line pointers.
    fn remove_dead(&mut self) {
        while self.wanted.index_cleanup && !self.is_failsafe() && !self.remove_some_dead() {}
    }

    /// False if there are more dead rows of components than memory for them.
    fn remove_some_dead(&mut self) -> bool {
        // Stubs among the line pointers to be reused are dead to everyone: the directory must say so before. A flush at
        // somebody's commit must not release stubs meanwhile: their places may be taken again.
        let lock = MaintenanceLock::take(self.rel);
        let columnar = stub::mark_dead(self.rel, has_room);
        drop(lock);
        super::fault("vacuum_marked");
        let manifest = manifest::current(self.rel);
        let left_out = manifest.components.iter().filter_map(|c| c.unswept);
        let left_out = left_out.map(|u| u.rows).sum();
        self.report.columnar_dead = columnar.marked.saturating_sub(left_out);
        let aborted = self.aborted_components();
        if self.dead.is_empty() && columnar.indexed.is_empty() && aborted.is_empty() && self.failed.is_empty() {
            return true;
        }
        let dead = Dead {
            hot: Ascending::new(std::mem::take(&mut self.dead)),
            aliases: Ascending::new(self.aliases(&manifest, &columnar.indexed)),
            columnar: Ascending::new(columnar.indexed),
            manifest,
            aborted,
            failed: std::mem::take(&mut self.failed),
        };
        progress::phase(Phase::Indexes);
        self.indexes.bulk_delete(&|tid| dead.has(tid));
        progress::vacuumed_indexes();
        super::fault("vacuum_unindexed");
        self.report.index_scans += 1;
        stub::mark_gone(self.rel, &dead.columnar.keys);
        self.voided.union(&dead.failed);
        for &at in &dead.aborted {
            self.voided.union(&dead.manifest.components[at].blocks);
        }
        for of_block in dead.hot.keys.chunk_by(|a, b| tid::block(*a) == tid::block(*b)) {
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
        columnar.all
    }

    /// What index entries hold for these columnar rows beside their own TIDs.
    fn aliases(&self, manifest: &amax_lsm::Manifest, rows: &[Key]) -> Vec<Key> {
        let mut keys = Vec::new();
        for of_block in rows.chunk_by(|a, b| tid::block(*a) == tid::block(*b)) {
            let v = tid::block(of_block[0]);
            let Some(at) = manifest.component_of(v) else {
                continue;
            };
            let directory = manifest::directory(self.rel, &manifest.components[at]);
            if let Some(leaf) = directory.leaves.get(directory.first_leaf_at(v)) {
                let of_row = |a: &&(Key, u16)| of_block.binary_search(&tid::key(v, a.1)).is_ok();
                let aliases = leaf.aliases_of(v);
                memory::make_room(&mut keys, aliases.len(), "aliases of dead rows");
                keys.extend(aliases.iter().filter(of_row).map(|a| a.0));
            }
        }
        keys.sort_unstable();
        keys
    }

    /// Whether the file may give its end back. That takes a lock which cancels a standby's queries. Heap does so only
    /// when rows have gone; what flushes and merges of a table leave that only grows is for its next rows, as long as
    /// there are any; but not if it is much, and there is no standby.
    fn may_shrink(&self) -> bool {
        let r = &self.report;
        let blocks = meta::logical_blocks(self.rel);
        let grows = r.live > 0.0 || blocks != self.rel.pages();
        let spare = !has_standby() && compact::has_spare(self.rel, r.row_pages.saturating_sub(r.flushed.pages));
        spare
            || !grows && standby::may_call_idle(self.rel)
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

    /// What somebody may not have seen yet stays in row pages. If it is worth a VACUUM autovacuum comes again, which
    /// waits for more rows otherwise.
    fn come_again(&self, rows: f64) {
        if self.failsafe || self.rel.is_temporary() {
            return;
        }
        let limits = flush::Limits {
            oldest_xmin: self.limits.oldest_xmin,
            most: most_bytes(),
            least: 0,
            pruned: !self.unpruned,
        };
        if flush::unsettled_bytes(self.rel, &limits) >= flush::due_for_vacuum(self.rel) {
            stats::call_autovacuum(self.rel, rows);
        }
    }

    fn finish(&mut self, all_frozen: bool) {
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
        self.come_again(rows);
        if self.wanted.verbose {
            let r = &self.report;
            pgrx::info!(
                "vacuumed \"{}\": {} row pages ({} skipped, {} frozen), {} dead row versions removed, {} recently dead; \
                 {} row pages with {} rows flushed, {} components merged to {} rows ({} dead ones left out), \
                 {} components with {} rows ({} dead), {} pages freed, {} moved, {} given back; {} rows in all",
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
                r.moved,
                r.truncated,
                rows
            );
        }
    }
}
