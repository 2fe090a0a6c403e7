//! Join filters: a hash join above a scan tells it which rows can have a match, so that others are not handed up.
//!
//! PostgreSQL's hash join builds its table from the inner side before it asks for more than one row of the outer side.
//! When the scan runs and the join's table is there, the scan takes the table's keys, and leaves out rows whose key is
//! not among them. The join still looks at the rows that are left.

use crate::pg::Slot;
use crate::pg::hash_table::HashTable;
use crate::pg::state::{ExprContext, HashJoinState, Prepared};
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::external::Postgres;
use crate::query::batch::rows::Rows;
use crate::query::expr::datum;
use crate::query::plan::costs::hash_memory;
use amax_exec::{Batch, Expr, KeySet, Type, VectorBuilder};
use amax_format::RowNumbers;
use pgrx::pg_sys::Oid;
use std::rc::Rc;

/// Rows of which so many eighths pass a filter are not worth the test; it is tried for as many rows as this.
const USELESS: (u64, u64) = (7, 8192);

pub struct JoinFilter {
    pub join: &'static HashJoinState,
    /// The join's outer key, over the scan's entries.
    pub key: Expr,
    /// Entries it reads.
    pub reads: Vec<usize>,
    /// The join's inner key over a tuple of its table, and its types.
    pub inner: Prepared,
    pub inner_type: (Oid, Type),
    /// Holds a tuple of the table, for the key.
    pub slot: &'static Slot,
    pub econtext: &'static ExprContext,
    /// Rows that the planner expects to pass the scan's conditions.
    pub passing: f64,
    pub tried: Tried,
}

/// What a filter knows, and how much it has been of use.
#[derive(Default)]
pub struct Tried {
    state: State,
    tested: u64,
    passed: u64,
}

#[derive(Default)]
enum State {
    /// For the join's table.
    #[default]
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
            filter.tried = Tried::default();
        }
        self.waiting = !self.filters.is_empty();
    }

    /// Whether one of the joins has built its table since it was last asked.
    #[inline]
    pub fn news(&mut self) -> bool {
        self.waiting && self.look()
    }

    fn look(&mut self) -> bool {
        let mut news = false;
        self.waiting = false;
        for filter in &mut self.filters {
            if let State::Waiting = filter.tried.state {
                filter.look();
                match filter.tried.state {
                    State::Waiting => self.waiting = true,
                    State::Ready(_) => news = true,
                    State::Useless => {}
                }
            }
        }
        news
    }

    /// Whether any of them has its join's keys, so that rows may be left out.
    pub fn may_select(&self) -> bool {
        let ready = |filter: &JoinFilter| matches!(filter.tried.state, State::Ready(_));
        self.filters.iter().any(ready)
    }

    /// Of these rows those that can have a match, as far as is known.
    pub fn select(&mut self, rows: &mut Rows, columns: &Rc<BatchColumns>, mut picked: RowNumbers) -> RowNumbers {
        let mut external = Postgres {
            rows,
            columns: columns.clone(),
        };
        let mut batch = Batch {
            columns: &**columns,
            external: &mut external,
        };
        for filter in &mut self.filters {
            let tried = &mut filter.tried;
            let State::Ready(keys) = &tried.state else {
                continue;
            };
            if picked.is_empty() {
                break;
            }
            let words = columns.words(&filter.key);
            let of_words = words.and_then(|words| keys.select_words(words, &picked));
            let passed = of_words.unwrap_or_else(|| keys.select(&batch.eval(&filter.key, &picked), &picked));
            tried.tested += picked.len() as u64;
            tried.passed += passed.len() as u64;
            if tried.tested >= USELESS.1 && tried.passed * 8 > tried.tested * USELESS.0 {
                tried.state = State::Useless;
            }
            picked = passed.into();
        }
        picked
    }
}

impl JoinFilter {
    /// Takes the keys if the join's table is complete, which it is if it is there: the join runs nothing of its outer
    /// side meanwhile.
    fn look(&mut self) {
        let Some(table) = self.join.table() else {
            return;
        };
        // Reading the table must not cost more than it saves.
        let readable = table.is_readable() && table.rows() <= self.passing.max(1000.0);
        let keys = readable.then(|| self.keys(&table)).flatten();
        self.tried.state = keys.map_or(State::Useless, State::Ready);
    }

    fn keys(&self, table: &HashTable<'_>) -> Option<KeySet> {
        let (oid, ty) = self.inner_type;
        let mut keys = VectorBuilder::new(ty);
        let limit = hash_memory();
        table.for_each(self.slot, || {
            crate::memory::check_for_interrupts();
            if keys.bytes_used() > limit {
                return;
            }
            self.econtext.reset();
            let (value, null) = self.inner.eval(self.econtext);
            // What it detoasts goes with the row.
            // SAFETY: a value of the key's type.
            self.econtext
                .within(|| unsafe { datum::push(&mut keys, oid, value, null) });
        });
        let fits = keys.bytes_used() <= limit;
        fits.then(|| KeySet::new(&keys.finish())).flatten()
    }
}
