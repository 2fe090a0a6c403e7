//! What a scan's plan tells its node, apart from expressions: by the plan's custom_private.

use crate::query::expr::tree::{list, nodes};
use pgrx::pg_sys::*;

/// A level of unnesting.
pub struct Level {
    /// The function's relation.
    pub function: Index,
    /// Whether rows without a matching element stay.
    pub outer: bool,
    /// How many conditions an element has to match, and how many come after an outer join.
    pub matching: usize,
    pub others: usize,
}

/// What a scan's plan is made of, apart from expressions.
pub struct Shape {
    pub all: ReadToEnd,
    pub table: Index,
    /// How many of the conditions are the table's own; those of the levels follow.
    pub conditions: usize,
    pub levels: Vec<Level>,
}

impl Shape {
    pub unsafe fn of(plan: *mut CustomScan) -> Shape {
        let words: Vec<i32> = nodes((*plan).custom_private)
            .into_iter()
            .map(|word| (*(word as *mut Integer)).ival)
            .collect();
        let &[all, ref rest @ ..] = &words[..] else {
            unreachable!("a scan's plan says whether all rows are read");
        };
        let all = ReadToEnd::from_plan(all);
        // Relations are numbered anew after planning: they are told by their order.
        let relation = |at: i32| {
            let mut relation = -1;
            for _ in 0..=at {
                relation = bms_next_member((*plan).custom_relids, relation);
            }
            relation as Index
        };
        match rest {
            &[table, conditions, ref levels @ ..] => Shape {
                all,
                table: relation(table),
                conditions: conditions as usize,
                levels: levels
                    .chunks_exact(4)
                    .map(|level| Level {
                        function: relation(level[0]),
                        outer: level[1] != 0,
                        matching: level[2] as usize,
                        others: level[3] as usize,
                    })
                    .collect(),
            },
            _ => Shape {
                all,
                table: (*plan).scan.scanrelid,
                conditions: nodes((*plan).scan.plan.qual).len(),
                levels: Vec::new(),
            },
        }
    }

    pub unsafe fn words(&self, relids: Relids) -> *mut List {
        let place = |relation: Index| bms_member_index(relids, relation as i32);
        let mut words = vec![self.all as i32, place(self.table), self.conditions as i32];
        for level in &self.levels {
            let (matching, others) = (level.matching as i32, level.others as i32);
            words.extend([place(level.function), i32::from(level.outer), matching, others]);
        }
        list(words.into_iter().map(|word| makeInteger(word)))
    }

    pub fn functions(&self) -> Vec<Index> {
        self.levels.iter().map(|level| level.function).collect()
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
    pub unsafe fn of(root: *mut PlannerInfo, alone: bool) -> ReadToEnd {
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

    pub fn from_plan(number: i32) -> ReadToEnd {
        [Self::Perhaps, Self::WithQuery, Self::Always][number as usize]
    }
}

/// Whoever reads it reads it to its end.
pub unsafe fn want_all_rows(plan: *mut CustomScan) {
    let all = nodes((*plan).custom_private)[0] as *mut Integer;
    (*all).ival = ReadToEnd::Always as i32;
}
