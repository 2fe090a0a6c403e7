//! VACUUM's part of a table's components: what loads have left is settled or dropped, row pages are flushed, old
//! transaction ids frozen, pages given up freed, components merged.

use super::Vacuum;
use crate::columnar::{most_bytes, origin, stub};
use crate::fault::fault;
use crate::maintenance::attempt::{attempt, fill_reserve};
use crate::maintenance::{MaintenanceLock, flush, freeze_component, lost, merge, reclaim};
use crate::pg::horizon::conflict_older;
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
        let lock = MaintenanceLock::take(self.rel);
        self.settle_origins();
        let (rel, oldest_xmin) = (self.rel, self.limits.oldest_xmin);
        let flush = || flush::flush(rel, oldest_xmin, most_bytes());
        match attempt(rel, &[DISK_FULL], flush) {
            Ok(flushed) => self.report.flushed = flushed,
            Err(full) => self.leave_undone("flush", full),
        }
        if let Err(full) = attempt(rel, &[DISK_FULL], || self.freeze_components()) {
            self.leave_undone("freezing", full);
            self.unfrozen = true;
        }
        self.report.freed = reclaim::reclaim(self.rel);
        self.report.left_directory = reclaim::shrink_directory(self.rel, stub::groups(self.rel));
        self.report.freed += lost::collect(self.rel, &self.voided);
        // Writers that ran into the flush go first.
        drop(lock);
        let _lock = MaintenanceLock::take(self.rel);
        let merged = &mut self.report.merged;
        if let Err(full) = attempt(rel, &[DISK_FULL], || merge::merge(rel, merged)) {
            self.leave_undone("merge", full);
        }
        self.report.columnar_dead -= self.report.merged.left_out.min(self.report.columnar_dead);
        manifest::stamp(self.rel);
        fill_reserve(self.rel);
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
        .set_hint("Free some disk space and run VACUUM again.")
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
