//! Where a scan is in the table's rows, and in the elements of their arrays.

use crate::pg::state::Prepared;
use crate::query::batch::columns::BatchColumns;
use amax_exec::Expr;
use amax_format::RowNumbers;
use std::rc::Rc;

/// A condition of the scan.
pub(super) struct Clause {
    pub(super) state: Prepared,
    pub(super) reads: Vec<usize>,
    pub(super) vector: Option<Expr>,
    /// Whether the vectorized form may raise an error, which a row that is never asked for must not raise.
    pub(super) calls_out: bool,
}

/// The rows of a stage that are being handed out.
pub(super) enum Current {
    None,
    /// Rows of a leaf, or elements of their arrays.
    Leaf(Rc<BatchColumns>, Picked),
    /// The page in the source's block.
    Page,
    /// What a function returns that PostgreSQL calls for the row of the stage before.
    Call,
}

/// Rows of a stage that passed.
pub(super) enum Passed {
    /// By their numbers, ascending.
    InColumns(Rc<BatchColumns>, RowNumbers),
    /// One that is in no column: the scan's rows are at it.
    Alone,
}

/// Rows that may pass, ascending.
pub(super) enum Picked {
    /// That pass.
    Decided(RowNumbers),
    /// Each with the first condition that is still to be looked at.
    Open(Vec<(u32, usize)>),
}

impl Picked {
    pub(super) fn len(&self) -> usize {
        match self {
            Picked::Decided(rows) => rows.len(),
            Picked::Open(rows) => rows.len(),
        }
    }

    /// `conditions` are all there are.
    pub(super) fn get(&self, at: usize, conditions: usize) -> Option<(u32, usize)> {
        match self {
            Picked::Decided(rows) => rows.get(at).map(|&row| (row, conditions)),
            Picked::Open(rows) => rows.get(at).copied(),
        }
    }
}

/// In place of a condition, for an outer join's row without element: it is there only if no element matches.
pub(super) const UNLESS_MATCHED: usize = usize::MAX;

/// What became of a stage's rows, for EXPLAIN.
#[derive(Default)]
pub struct Counts {
    /// Those that came.
    pub all: u64,
    /// Those that passed each condition.
    pub passed: Vec<u64>,
    /// Rows of an outer join that no element matched.
    pub unmatched: u64,
}

/// The table's rows, or the elements of their arrays: each stage takes rows of the one before.
pub(super) struct Stage {
    pub(super) clauses: Vec<Clause>,
    /// How many of the conditions say whether an element matches; the others come after an outer join.
    pub(super) matching: usize,
    /// Whether rows without a matching element stay.
    pub(super) outer: bool,
    pub(super) current: Current,
    /// The one handed out last; before the first, or after the last, of what is just begun.
    pub(super) at: isize,
    /// The row of the stage before that an element matched last, in `current`.
    pub(super) matched: Option<u32>,
    pub(super) counts: Counts,
}

impl Stage {
    pub(super) fn new(clauses: Vec<Clause>, matching: usize, outer: bool) -> Stage {
        Stage {
            counts: Counts {
                passed: vec![0; clauses.len()],
                ..Counts::default()
            },
            clauses,
            matching,
            outer,
            current: Current::None,
            at: -1,
            matched: None,
        }
    }

    /// The number of the row it is at, in its leaf or row page.
    pub(super) fn row(&self) -> u32 {
        match &self.current {
            Current::Leaf(_, picked) => picked.get(self.at as usize, 0).expect("it is at a row").0,
            _ => self.at as u32,
        }
    }

    /// The first condition that vectors do not decide; `to_end` says that all rows are asked for.
    pub(super) fn vectorized(&self, to_end: bool) -> usize {
        let decide = |c: &&Clause| c.vector.is_some() && (to_end || !c.calls_out);
        let vectors = self.clauses.iter().take_while(decide);
        vectors.count().min(self.matching)
    }
}
