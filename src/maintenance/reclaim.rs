//! Reclaim: pages that were given up become free when no snapshot of this server can still be reading them (invariant
//! S5). Then the marks of rows that a merge left out go, too. A standby's snapshots are not asked: who reads there
//! notices (`storage::manifest::confirm`).

use crate::columnar::stub;
use crate::heap::toast;
use crate::pg::horizon::removable;
use crate::pg::lock::try_lock_by_id;
use crate::pg::{Pin, Relation, vacuum::delay_point, xid};
use crate::storage::buffer::{Change, Kind};
use crate::storage::{manifest, map, space};
use amax_lsm::{Component, Extent, Retired, RetiredPages};
use pgrx::pg_sys;

/// Takes pages that are of no use, of those given, out of the stub directory. The caller holds the maintenance lock,
/// and is the table's VACUUM or keeps it from running. Returns how many.
pub fn shrink_directory(rel: &Relation, groups: impl IntoIterator<Item = u32>) -> u64 {
    let pages = stub::take_out_empty_pages(rel, groups);
    let count = pages.len() as u64;
    super::fault("reclaim_taken_out");
    if !pages.is_empty() {
        manifest::publish(rel, |manifest| manifest.retire(RetiredPages::Columnar(pages)));
    }
    count
}

/// Makes row pages of so many free ones, as far as there are: as many as a flush has retired, and as left the stub
/// directory, which takes unused row pages. So each side keeps the pages it had, and neither lengthens the file for the
/// other's. The caller holds the maintenance lock. An error in between loses them until VACUUM.
pub fn give_to_rows(rel: &Relation, pages: u64) {
    let current = manifest::current(rel);
    let spare = current.free.pages().saturating_sub(space::kept(&current));
    let pages = pages.min(spare);
    if pages == 0 {
        return;
    }
    let given = manifest::publish(rel, |manifest| manifest.free.take(pages as u32));
    super::fault("reclaim_given");
    space::make_row_pages(rel, &given);
}

/// Has the next transaction ids be later than all that was given up: on a server where nobody else takes one, the next
/// VACUUM finds it due.
pub fn let_pass(rel: &Relation) {
    if manifest::current(rel).waits_for(xid::next_full()) {
        xid::assign();
    }
}

/// Frees what is due. The caller holds the maintenance lock. Returns the pages freed.
pub fn reclaim(rel: &Relation) -> u64 {
    free(rel, |retired| removable(rel, retired.safexid))
}

/// Frees all that was given up. The caller has an AccessExclusiveLock besides: who comes later reads the manifest of then.
pub fn reclaim_all(rel: &Relation) -> u64 {
    // What this VACUUM has given up is stamped by the next change, and known by its stamp.
    manifest::stamp(rel);
    free(rel, |_| true)
}

fn free(rel: &Relation, is_ripe: impl Fn(&Retired) -> bool) -> u64 {
    let current = manifest::current(rel);
    let due = |safexid: u64| removable(rel, safexid);
    let ripe: Vec<Retired> = current.retired.iter().filter(|r| is_ripe(r)).cloned().collect();
    let unswept: Vec<&Component> = current
        .components
        .iter()
        .filter(|c| c.unswept.is_some_and(|unswept| due(unswept.safexid)))
        .collect();
    if ripe.is_empty() && unswept.is_empty() {
        return 0;
    }
    // Its lock comes before the maintenance lock: who has that does not wait for it.
    let toast_at_hand = rel
        .toast()
        .is_none_or(|toast| try_lock_by_id(toast, pg_sys::RowExclusiveLock));
    let mut freed = Vec::new();
    let mut kept = Vec::new();
    for retired in &ripe {
        match &retired.pages {
            RetiredPages::Columnar(extents) => freed.extend_from_slice(extents),
            RetiredPages::Rows(rows) => {
                let mut busy = Vec::new();
                if toast_at_hand {
                    unmap(rel, rows);
                }
                for &(v, p) in rows {
                    delay_point();
                    if toast_at_hand && row_page(rel, p) {
                        freed.push(Extent { start: p, len: 1 });
                    } else {
                        busy.push((v, p));
                    }
                }
                if !busy.is_empty() {
                    let pages = RetiredPages::Rows(busy);
                    kept.push(Retired {
                        safexid: retired.safexid,
                        pages,
                    });
                }
            }
        }
    }
    super::fault("reclaim_emptied");
    for component in &unswept {
        stub::sweep(rel, component);
    }
    super::fault("reclaim_swept");
    manifest::publish(rel, |manifest| {
        for component in &mut manifest.components {
            if unswept.iter().any(|swept| swept.id == component.id) {
                component.unswept = None;
            }
        }
        manifest.retired.retain(|r| !ripe.contains(r));
        manifest.retired.append(&mut kept);
        for &extent in &freed {
            manifest.free.give(extent);
        }
    });
    freed.iter().map(|e| u64::from(e.len)).sum()
}

/// Row pages that were flushed are no longer their blocks', so that nobody comes to read them.
fn unmap(rel: &Relation, pages: &[(u32, u32)]) {
    let mapped = |&&(v, p): &&(u32, u32)| map::physical(rel, v) == Some(p);
    let mapped: Vec<(u32, u32)> = pages.iter().filter(mapped).copied().collect();
    map::forget_all(rel, &mapped);
    super::fault("reclaim_unmapped");
}

/// Empties such a page: first its rows' TOAST chunks go, which must be known until then, then its content. False if
/// somebody has it pinned.
fn row_page(rel: &Relation, p: u32) -> bool {
    let pin = Pin::read(rel, p);
    let values = match pin.try_cleanup() {
        None => return false,
        // Emptied before, by a reclaim that did not get to say so.
        Some(lock) if lock.is_ours() => return true,
        Some(_) => toast::values_on(rel, &pin),
    };
    // Nothing comes to the page any more; it need not be locked for long.
    toast::kill_chunks(rel, &values);
    super::fault("reclaim_toast");
    let lock = pin.exclusive();
    let mut change = Change::begin(rel);
    change.give_up(&lock, Kind::Blob);
    change.commit();
    true
}
