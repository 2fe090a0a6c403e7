//! VACUUM's part of a table's components: what loads have left is settled or dropped, row pages are flushed, old
//! transaction ids frozen, pages given up freed, components merged.

use super::Vacuum;
use crate::columnar::{most_bytes, origin, stub};
use crate::fault::fault;
use crate::maintenance::attempt::{attempt, fill_reserve};
use crate::maintenance::{MaintenanceLock, compact, flush, freeze_component, lost, merge, reclaim};
use crate::pg::horizon::conflict_older;
use crate::pg::progress::{self, Phase};
use crate::pg::xid;
use crate::storage::space::DISK_FULL;
use crate::storage::{manifest, meta};
use crate::subtransaction::Caught;
use amax_lsm::xids::precedes;
use amax_lsm::{Component, RetiredPages};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

impl Vacuum<'_> {
    pub(super) fn aborted_components(&self) -> Vec<usize> {
        let manifest = manifest::current(self.rel);
        let dead = |c: &Component| {
            let state = origin::vacuum_state(self.rel, &c.origin, self.limits.oldest_xmin);
            state == pg_sys::HTSV_Result::HEAPTUPLE_DEAD
        };
        (0..manifest.components.len())
            .filter(|&at| dead(&manifest.components[at]))
            .collect()
    }

    /// Maintains the columnar side: drops loads that were rolled back, settles those everyone sees, flushes, freezes,
    /// frees pages, merges.
    pub(super) fn components(&mut self) {
        if meta::logical_blocks(self.rel) == 0 {
            return;
        }
        progress::phase(Phase::Columns);
        let lock = MaintenanceLock::take(self.rel);
        self.settle_origins();
        let rel = self.rel;
        // What is to be frozen has stayed as it is for long. Rows on pages at the end of a file that is mostly free would
        // keep it from shrinking. Join indexes know columnar rows alone.
        let has_join_index = meta::incarnation(rel).is_some();
        let spare = compact::has_spare(rel, self.report.row_pages);
        let all = self.wanted.all || self.limits.aggressive || has_join_index || spare;
        let least = match all {
            true => 1,
            false => flush::least_for_vacuum(rel),
        };
        if !self.is_failsafe() {
            let limits = flush::Limits {
                oldest_xmin: self.limits.oldest_xmin,
                most: most_bytes(),
                least,
                pruned: !self.unpruned,
            };
            let flushed = attempt(rel, || flush::flush(rel, limits));
            self.report.flushed = self.or_undone("flush", flushed);
        }
        if let Err(cause) = attempt(rel, || self.freeze_components()) {
            self.leave_undone("freezing", cause);
            self.unfrozen = true;
        }
        if self.is_failsafe() {
            return;
        }
        let freed = attempt(rel, || reclaim::reclaim(rel));
        self.report.freed = self.or_undone("reclaim", freed);
        let left = attempt(rel, || reclaim::shrink_directory(rel, stub::groups(rel)));
        self.report.left_directory = self.or_undone("reclaim", left);
        let found = attempt(rel, || lost::collect(rel, &self.voided));
        self.report.freed += self.or_undone("search for lost pages", found);
        // Writers that ran into the flush go first.
        drop(lock);
        let _lock = MaintenanceLock::take(rel);
        let chosen = attempt(rel, || merge::choose(rel, self.report.flushed.rows));
        for chosen in self.or_undone("merge", chosen) {
            if self.is_failsafe() {
                break;
            }
            let merged = attempt(rel, || merge::merge(rel, &chosen));
            let merged = self.or_undone("merge", merged);
            self.report.merged += merged;
        }
        let dead = attempt(rel, || merge::dead_leaves(rel));
        for dead in self.or_undone("merge", dead) {
            let left_out = attempt(rel, || merge::drop_leaves(rel, &dead));
            self.report.merged.left_out += self.or_undone("merge", left_out);
        }
        self.report.columnar_dead -= self.report.merged.left_out.min(self.report.columnar_dead);
        fill_reserve(rel);
    }

    /// What came of a part of the work that may be left for later.
    pub(super) fn or_undone<R: Default>(&mut self, what: &str, result: Result<R, Caught>) -> R {
        result.unwrap_or_else(|cause| {
            self.leave_undone(what, cause);
            R::default()
        })
    }

    /// The space taken for it in vain goes back at the end.
    fn leave_undone(&mut self, what: &str, cause: Caught) {
        self.undone = true;
        ErrorReport::new(
            cause.code,
            format!("{what} of relation \"{}\" is left undone", self.rel.name()),
            "",
        )
        .set_detail(cause.message)
        .set_hint(match cause.code {
            DISK_FULL => "Free some disk space and run VACUUM again.",
            _ => "Run VACUUM again when there is more memory.",
        })
        .report(PgLogLevel::WARNING);
    }

    fn settle_origins(&mut self) {
        let current = manifest::current(self.rel);
        let aborted: Vec<u64> = self
            .aborted_components()
            .into_iter()
            .map(|at| current.components[at].id)
            .collect();
        let mut settled = Vec::new();
        for component in &current.components {
            let Some(origin) = component.origin else {
                continue;
            };
            let xid = pg_sys::TransactionId::from(origin.xid);
            if origin.settled || aborted.contains(&component.id) {
                continue;
            }
            if xid::precedes(xid, self.limits.oldest_xmin) && xid::did_commit(xid) {
                settled.push(component.id);
            } else if self.oldest_origin.is_none_or(|oldest| xid::precedes(xid, oldest)) {
                self.oldest_origin = Some(xid);
            }
        }
        if aborted.is_empty() && settled.is_empty() {
            return;
        }
        let mut given_up = Vec::new();
        for component in current.components.iter().filter(|c| aborted.contains(&c.id)) {
            let directory = manifest::directory(self.rel, component);
            given_up.extend(directory.pages(&component.directory));
            // What the load's own transaction changed in it, before it was rolled back.
            component.blocks.blocks().for_each(|v| stub::forget(self.rel, v));
        }
        manifest::publish(self.rel, |manifest| {
            manifest.components.retain(|c| !aborted.contains(&c.id));
            for component in manifest.components.iter_mut().filter(|c| settled.contains(&c.id)) {
                if let Some(origin) = &mut component.origin {
                    origin.settled = true;
                }
            }
            if !given_up.is_empty() {
                manifest.retire(RetiredPages::Columnar(given_up));
            }
        });
        fault("vacuum_settled");
    }

    /// Freezes what is older than the limit: after that relfrozenxid may pass it. Others' VACUUMs leave components, and
    /// what is decoded of them, as they are.
    fn freeze_components(&mut self) {
        if !self.limits.aggressive {
            return;
        }
        let limit = self.limits.xid.into_inner();
        let current = manifest::current(self.rel);
        let due = |c: &&Component| {
            let load = c.origin.filter(|origin| origin.settled).map(|o| o.xid);
            let mut xids = load.into_iter().chain(c.oldest_xid);
            xids.any(|xid| precedes(xid, limit))
        };
        for component in current.components.iter().filter(due) {
            if !self.conflicted {
                conflict_older(self.rel, self.limits.xid);
                self.conflicted = true;
            }
            freeze_component::freeze(self.rel, component, limit);
        }
    }
}
