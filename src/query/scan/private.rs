//! What a scan's plan tells its node, apart from expressions.

use crate::query::expr::tree::nodes;
use crate::query::plan::private::{Private, Reader, Writer};
use pgrx::pg_sys::*;

/// A relation of a join, by its order among the plan's: after planning they are numbered anew.
#[derive(Clone, Copy)]
pub struct Place(i32);

impl Place {
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn of(relation: Index, among: Relids) -> Place {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe { Place(bms_member_index(among, relation as i32)) }
    }
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn relation(self, plan: *mut CustomScan) -> Index {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            let mut relation = -1;
            for _ in 0..=self.0 {
                relation = bms_next_member((*plan).custom_relids, relation);
            }
            relation as Index
        }
    }
}

/// A level of unnesting.
pub struct Level {
    /// The function's relation.
    pub function: Place,
    /// Whether rows without a matching element stay.
    pub outer: bool,
    /// How many conditions an element has to match, and how many come after an outer join.
    pub matching: usize,
    pub others: usize,
}

/// What a scan's plan is made of, apart from expressions.
pub struct ScanPlan {
    pub all: ReadToEnd,
    /// How many of the conditions are the table's own; those of the levels follow.
    pub conditions: usize,
    /// How many of those, the first, may skip leaves by their bounds.
    pub skipping: usize,
    /// The table, if the plan is a join's; else PostgreSQL knows it.
    pub table: Option<Place>,
    pub levels: Vec<Level>,
}

impl Private for ScanPlan {
    const KIND: &'static std::ffi::CStr = c"amax scan 3";
    /// # Safety
    /// What the planner hands over.
    unsafe fn write(&self, out: &mut Writer) {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            out.int(self.all as i32);
            out.count(self.conditions);
            out.count(self.skipping);
            out.int(self.table.map_or(-1, |table| table.0));
            out.count(self.levels.len());
            for level in &self.levels {
                out.int(level.function.0);
                out.bool(level.outer);
                out.count(level.matching);
                out.count(level.others);
            }
        }
    }
    /// # Safety
    /// What the planner hands over.
    unsafe fn read(from: &mut Reader) -> ScanPlan {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            ScanPlan {
                all: from.one_of(&[ReadToEnd::Perhaps, ReadToEnd::WithQuery, ReadToEnd::Always]),
                conditions: from.count(),
                skipping: from.count(),
                table: Some(from.int()).filter(|&table| table >= 0).map(Place),
                levels: (0..from.count())
                    .map(|_| Level {
                        function: Place(from.int()),
                        outer: from.bool(),
                        matching: from.count(),
                        others: from.count(),
                    })
                    .collect(),
            }
        }
    }
}

impl ScanPlan {
    /// What a plan's custom_exprs are: the conditions, and the calls of the functions that unnest.
    ///
    /// # Safety
    /// The plan that this one is of.
    pub unsafe fn expressions(&self, plan: *mut CustomScan) -> (Vec<*mut Node>, Vec<*mut Node>) {
        let of_levels = self.levels.iter().map(|level| level.matching + level.others);
        let conditions = self.conditions + of_levels.sum::<usize>();
        // SAFETY: as the caller promises.
        let mut all = unsafe { nodes((*plan).custom_exprs) };
        let calls = all.split_off(conditions);
        (all, calls)
    }

    /// The table that a plan scans.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn table(&self, plan: *mut CustomScan) -> Index {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            match self.table {
                Some(table) => table.relation(plan),
                None => (*plan).scan.scanrelid,
            }
        }
    }
}

/// Whether a scan is read to its end, once it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ReadToEnd {
    Perhaps,
    /// If the query is; see [`super::run`].
    WithQuery,
    Always,
}

impl ReadToEnd {
    /// Of a scan in a query that has no other relations if it is `alone`.
    ///
    /// # Safety
    /// What the planner hands over.
    pub unsafe fn of(root: *mut PlannerInfo, alone: bool) -> ReadToEnd {
        // SAFETY: what the planner hands us is well-formed, and stays while it plans.
        unsafe {
            if !alone || (*root).tuple_fraction != 0.0 || (*root).limit_tuples >= 0.0 {
                ReadToEnd::Perhaps
            } else if (*(*root).parse).hasAggs || !(*root).query_pathkeys.is_null() {
                // Our scans have no order: there is a sort above, or a hash table.
                ReadToEnd::Always
            } else if (*root).parent_root.is_null() {
                ReadToEnd::WithQuery
            } else {
                // What is above a subquery may stop early.
                ReadToEnd::Perhaps
            }
        }
    }
}

/// Whoever reads it reads it to its end.
///
/// # Safety
/// What the planner hands over.
pub unsafe fn read_to_end(plan: *mut CustomScan) {
    // SAFETY: what the planner hands us is well-formed, and stays while it plans.
    unsafe {
        let all = ReadToEnd::Always;
        (*plan).custom_private = ScanPlan {
            all,
            ..ScanPlan::of_plan(plan)
        }
        .to_list();
    }
}
