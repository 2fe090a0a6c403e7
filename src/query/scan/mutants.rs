//! Scans that are wrong on purpose (`amax.mutant`): tests/core/mutants shows that the core suites notice.

use crate::guc::{Mutant, mutant};
use crate::pg::Slot;
use crate::pg::node::Nodes;
use crate::pg::planner::PlannerInfo;
use amax_format::RowNumbers;
use pgrx::pg_sys;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Leaves out one row in a thousand of those a scan is about to look at.
pub fn drop_rows(rows: RowNumbers) -> RowNumbers {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    if mutant() != Mutant::drops_rows {
        return rows;
    }
    let stays = |_: &&u32| !(SEEN.fetch_add(1, Relaxed) + 1).is_multiple_of(1000);
    rows.iter().filter(stays).copied().collect()
}

/// The order that a path says it has: that which the query asks for, so that nobody sorts its rows.
pub fn claimed_order(root: &PlannerInfo) -> Nodes<'_> {
    match mutant() == Mutant::ignores_order && root.all_baserels().is_one() {
        true => root.query_pathkeys(),
        false => Nodes::NONE,
    }
}

/// Makes the last entry of a row NULL.
pub fn lose_column(slot: &Slot) {
    let columns = slot.desc().natts();
    if mutant() == Mutant::loses_column && columns > 0 {
        slot.set(columns - 1, (pg_sys::Datum::null(), true));
    }
}
