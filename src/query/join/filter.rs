//! Join filters: a hash join above a scan tells it which rows can have a match, so that others are not handed up.
//!
//! PostgreSQL's hash join builds its table from the inner side before it asks for more than one row of the outer side.
//! When the scan runs and the join's table is there, the scan takes the table's keys, and leaves out rows whose key is
//! not among them. The join still looks at the rows that are left.

use crate::pg::executor::{clear_slot, eval};
use crate::query::batch::columns::LeafColumns;
use crate::query::batch::external::Postgres;
use crate::query::batch::rows::Rows;
use crate::query::expr::datum;
use crate::query::expr::tree::reset;
use amax_exec::{Batch, Expr, KeySet, Type, VectorBuilder};
use pgrx::pg_sys::*;
use std::rc::Rc;

/// Rows of which so many eighths pass a filter are not worth the test; it is tried for as many rows as this.
const USELESS: (u64, u64) = (7, 8192);

pub struct JoinFilter {
    join: *mut HashJoinState,
    /// The join's outer key, over the scan's entries.
    key: Expr,
    /// Entries it reads.
    pub reads: Vec<usize>,
    /// The join's inner key over a tuple of its table, and its types.
    inner: *mut ExprState,
    inner_type: (Oid, Type),
    slot: *mut TupleTableSlot,
    econtext: *mut ExprContext,
    /// Rows that the planner expects of the scan.
    scanned: f64,
    state: State,
    tested: u64,
    passed: u64,
}

enum State {
    /// For the join's table.
    Waiting,
    Ready(KeySet),
    Useless,
}

/// The filters of a scan.
#[derive(Default)]
pub struct JoinFilters {
    pub filters: Vec<JoinFilter>,
    waiting: bool,
}

impl JoinFilters {
    /// The joins' tables may have changed.
    pub fn restart(&mut self) {
        for filter in &mut self.filters {
            filter.state = State::Waiting;
            (filter.tested, filter.passed) = (0, 0);
        }
        self.waiting = !self.filters.is_empty();
    }

    /// Whether one of the joins has built its table since it was last asked.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    #[inline]
    pub unsafe fn news(&mut self) -> bool {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe { self.waiting && self.look() }
    }
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn look(&mut self) -> bool {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let mut news = false;
            self.waiting = false;
            for filter in &mut self.filters {
                if let State::Waiting = filter.state {
                    filter.look();
                    match filter.state {
                        State::Waiting => self.waiting = true,
                        State::Ready(_) => news = true,
                        State::Useless => {}
                    }
                }
            }
            news
        }
    }

    /// Of these rows those that can have a match, as far as is known.
    pub fn select(&mut self, rows: &mut Rows, columns: &Rc<LeafColumns>, mut picked: Vec<u32>) -> Vec<u32> {
        let mut external = Postgres {
            rows,
            columns: columns.clone(),
        };
        let mut batch = Batch {
            columns: &**columns,
            external: &mut external,
        };
        for filter in &mut self.filters {
            let State::Ready(keys) = &filter.state else {
                continue;
            };
            let passed = keys.select(&batch.eval(&filter.key, &picked), &picked);
            filter.tested += picked.len() as u64;
            filter.passed += passed.len() as u64;
            if filter.tested >= USELESS.1 && filter.passed * 8 > filter.tested * USELESS.0 {
                filter.state = State::Useless;
            }
            picked = passed;
        }
        picked
    }
}

impl JoinFilter {
    /// Of a join: the outer key, over the scan's entries, with those that it reads; the inner key with its types, over
    /// a tuple that is in the slot; and how many rows the planner expects of the scan.
    pub fn new(
        join: *mut HashJoinState,
        (key, reads): (Expr, Vec<usize>),
        inner: *mut ExprState,
        inner_type: (Oid, Type),
        (slot, econtext): (*mut TupleTableSlot, *mut ExprContext),
        scanned: f64,
    ) -> JoinFilter {
        JoinFilter {
            join,
            key,
            reads,
            inner,
            inner_type,
            slot,
            econtext,
            scanned,
            state: State::Waiting,
            tested: 0,
            passed: 0,
        }
    }

    /// Takes the keys if the join's table is complete, which it is if it is there: the join runs nothing of its outer
    /// side meanwhile.
    ///
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn look(&mut self) {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let Some(table) = (*self.join).hj_HashTable.as_ref() else {
                return;
            };
            // Tuples of later batches are in files, and reading the table must not cost more than it saves. One that
            // workers share is there for a process as long as that probes its only batch.
            let readable = table.nbatch == 1
                && (table.parallel_state.is_null() || table.curbatch == 0)
                && table.totalTuples <= self.scanned.max(1000.0);
            let keys = readable.then(|| self.keys(table)).flatten();
            self.state = keys.map_or(State::Useless, State::Ready);
        }
    }
    /// # Safety
    /// A node of ours, begun and not ended.
    unsafe fn keys(&self, table: &HashJoinTableData) -> Option<KeySet> {
        // SAFETY: the node, and what PostgreSQL has made for it, live as long as the query's executor state.
        unsafe {
            let (oid, ty) = self.inner_type;
            let mut keys = VectorBuilder::new(ty);
            for bucket in 0..table.nbuckets as usize {
                crate::memory::check_for_interrupts();
                let mut tuple = first_tuple(table, bucket);
                while !tuple.is_null() {
                    // HJTUPLE_MINTUPLE() (hashjoin.h).
                    let header = std::mem::size_of::<HashJoinTupleData>().next_multiple_of(8);
                    let content = (tuple as *mut u8).add(header) as MinimalTuple;
                    ExecStoreMinimalTuple(content, self.slot, false);
                    reset((*self.econtext).ecxt_per_tuple_memory);
                    let (value, null) = eval(self.inner, self.econtext);
                    // What it detoasts goes with the row.
                    let old = MemoryContextSwitchTo((*self.econtext).ecxt_per_tuple_memory);
                    datum::push(&mut keys, oid, value, null);
                    MemoryContextSwitchTo(old);
                    tuple = next_tuple(table, tuple);
                }
            }
            clear_slot(self.slot);
            KeySet::new(&keys.finish())
        }
    }
}

/// The first tuple of a bucket, as ExecParallelHashFirstTuple() of nodeHash.c finds it in a table that workers share.
///
/// # Safety
/// A hash join's table, complete, that has such a bucket.
unsafe fn first_tuple(table: &HashJoinTableData, bucket: usize) -> *mut HashJoinTupleData {
    // SAFETY: as the caller promises. Nobody inserts while there is a process that probes.
    unsafe {
        match table.parallel_state.is_null() {
            true => *table.buckets.unshared.add(bucket),
            false => shared_tuple(table, (*table.buckets.shared.add(bucket)).value),
        }
    }
}

/// The next one in its bucket.
///
/// # Safety
/// A tuple of the table.
unsafe fn next_tuple(table: &HashJoinTableData, tuple: *mut HashJoinTupleData) -> *mut HashJoinTupleData {
    // SAFETY: as the caller promises.
    unsafe {
        match table.parallel_state.is_null() {
            true => (*tuple).next.unshared,
            false => shared_tuple(table, (*tuple).next.shared),
        }
    }
}

/// Where a tuple in the workers' shared memory is; null for none.
///
/// # Safety
/// A table that workers share, and a tuple of it.
unsafe fn shared_tuple(table: &HashJoinTableData, at: dsa_pointer) -> *mut HashJoinTupleData {
    // SAFETY: as the caller promises; the area is mapped while the table is.
    unsafe { dsa_get_address(table.area, at) as *mut HashJoinTupleData }
}
