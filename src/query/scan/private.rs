//! What a scan's plan tells its node, apart from expressions.

use crate::guc::{self, Materialization};
use crate::pg::node::Node;
use crate::pg::plan::CustomScan;
use crate::pg::planner::PlannerInfo;
use crate::pg::relids::Relids;
use crate::query::plan::private::{Private, Reader, Writer};
use pgrx::pg_sys::{Index, Oid};
use std::ops::Range;

/// A relation of a join, by its order among the plan's: after planning they are numbered anew.
#[derive(Clone, Copy)]
pub struct Place(i32);

impl Place {
    pub fn of(relation: Index, among: Relids) -> Place {
        Place(among.place_of(relation))
    }

    pub fn relation(self, plan: &CustomScan) -> Index {
        plan.custom_relids().at(self.0)
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
    pub begins: Begins,
    /// Rows that are expected to pass the conditions. A join above may have been planned to leave out most of them.
    pub passing: i32,
    /// How many of the conditions are the table's own; those of the levels follow.
    pub conditions: usize,
    /// How many of those, the first, may skip leaves by their bounds.
    pub skipping: usize,
    /// How many of them, the last, are true of all rows in the blocks that are scanned.
    pub about_blocks: usize,
    /// The blocks that are scanned, of those that there are.
    pub blocks: Range<u32>,
    /// The table, if the plan is a join's; else PostgreSQL knows it.
    pub table: Option<Place>,
    /// The partitions that are scanned in place of a partitioned table.
    pub partitions: Vec<Oid>,
    pub levels: Vec<Level>,
}

impl<'a> Private<'a> for ScanPlan {
    const KIND: &'static std::ffi::CStr = c"amax scan 7";

    fn write(&self, out: &mut Writer<'a>) {
        out.int(self.all as i32);
        out.int(self.begins as i32);
        out.int(self.passing);
        out.count(self.conditions);
        out.count(self.skipping);
        out.count(self.about_blocks);
        out.int(self.blocks.start.cast_signed());
        out.int(self.blocks.end.cast_signed());
        out.int(self.table.map_or(-1, |table| table.0));
        out.count(self.partitions.len());
        self.partitions
            .iter()
            .for_each(|table| out.int(table.to_u32().cast_signed()));
        out.count(self.levels.len());
        for level in &self.levels {
            out.int(level.function.0);
            out.bool(level.outer);
            out.count(level.matching);
            out.count(level.others);
        }
    }

    fn read(from: &mut Reader<'a>) -> ScanPlan {
        ScanPlan {
            all: from.one_of(&[ReadToEnd::Perhaps, ReadToEnd::WithQuery, ReadToEnd::Always]),
            begins: from.one_of(&[Begins::Early, Begins::Late, Begins::Matched]),
            passing: from.int(),
            conditions: from.count(),
            skipping: from.count(),
            about_blocks: from.count(),
            blocks: from.int().cast_unsigned()..from.int().cast_unsigned(),
            table: Some(from.int()).filter(|&table| table >= 0).map(Place),
            partitions: (0..from.count())
                .map(|_| Oid::from(from.int().cast_unsigned()))
                .collect(),
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

impl ScanPlan {
    /// What the custom_exprs of the plan that this one is of are: the conditions, and the calls of the functions that
    /// unnest.
    pub fn expressions<'a>(&self, plan: &'a CustomScan) -> (Vec<&'a Node>, Vec<&'a Node>) {
        let of_levels = self.levels.iter().map(|level| level.matching + level.others);
        let conditions = self.conditions + of_levels.sum::<usize>();
        let mut all = plan.custom_exprs().to_vec();
        let calls = all.split_off(conditions);
        (all, calls)
    }

    /// The table that a plan scans.
    pub fn table(&self, plan: &CustomScan) -> Index {
        match self.table {
            Some(table) => table.relation(plan),
            None => plan.scanrelid(),
        }
    }
}

/// Which rows a scan makes, that nobody reads by batches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// All that the snapshot sees, before any condition.
    Early,
    /// Those that pass the conditions.
    Late,
    /// Those that have a match in joins above, too.
    Matched,
}

impl Begins {
    /// As `amax.materialization` says.
    pub fn of_setting() -> Begins {
        match guc::materialization() {
            Materialization::early => Begins::Early,
            Materialization::late => Begins::Late,
            Materialization::auto | Materialization::ultra_late => Begins::Matched,
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
    pub fn of(root: &PlannerInfo, alone: bool) -> ReadToEnd {
        if !alone || root.tuple_fraction() != 0.0 || root.limit_tuples() >= 0.0 {
            ReadToEnd::Perhaps
        } else if root.parse().hasAggs() || root.query_pathkeys().is_some() {
            // Our scans have no order: there is a sort above, or a hash table.
            ReadToEnd::Always
        } else if root.parent_root().is_none() {
            ReadToEnd::WithQuery
        } else {
            // What is above a subquery may stop early.
            ReadToEnd::Perhaps
        }
    }
}

/// Whoever reads it reads it to its end.
pub fn read_to_end(plan: &CustomScan) {
    let all = ReadToEnd::Always;
    let told = ScanPlan {
        all,
        ..ScanPlan::of_plan(plan)
    };
    plan.set_private(told.to_list());
}
