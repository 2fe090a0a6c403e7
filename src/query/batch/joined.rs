//! Rows of a join: those of a scan's batch, each with a row of every other side.

use super::raise::raise;
use super::values::Values;
use amax_exec::{Lookup, Matches, NONE, Vector};
use amax_format::{Dense, RowNumbers};
use pgrx::pg_sys;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

/// The rows of another side, whole: what is read of them, and how they are found.
pub struct Side {
    /// By their places in its target list; None: nobody reads it.
    pub columns: Vec<Option<SideColumn>>,
    /// Whether it is known, without a look at its keys, that no two of its rows have the same.
    pub is_unique: bool,
    /// Its keys, until they are looked up.
    keys: Cell<Vec<Vector<'static>>>,
    rows: usize,
    lookup: OnceCell<Lookup>,
}

pub struct SideColumn {
    pub values: Values,
    /// The same, if there are vectors of it.
    pub dense: Option<Dense>,
}

impl Side {
    /// Of so many rows.
    pub fn new(columns: Vec<Option<SideColumn>>, keys: Vec<Vector<'static>>, rows: usize) -> Side {
        Side {
            columns,
            is_unique: false,
            keys: Cell::new(keys),
            rows,
            lookup: OnceCell::new(),
        }
    }

    /// By their keys.
    pub fn lookup(&self) -> &Lookup {
        self.lookup
            .get_or_init(|| Lookup::new(self.keys.take(), self.rows).unwrap_or_else(|e| raise(e)))
    }

    /// Whether no two of its rows have the same keys.
    pub fn is_unique(&self) -> bool {
        self.is_unique || self.lookup().is_unique()
    }

    /// Whether anybody reads a column of it.
    pub fn is_read(&self) -> bool {
        self.columns.iter().any(Option::is_some)
    }

    pub fn column(&self, at: usize) -> &SideColumn {
        self.columns[at].as_ref().expect("who reads a column has said so")
    }
}

/// What makes rows of a batch those of a join: a row of the scan's batch, ascending, and one of each side so far, or [`NONE`].
#[derive(Clone)]
pub struct Joined {
    pub parents: RowNumbers,
    pub sides: Rc<[Side]>,
    /// Of each side; none of those that have not been looked up yet.
    pub rows: Vec<Vec<u32>>,
}

impl Joined {
    /// Rows of a scan, with no side looked up.
    pub fn new(parents: RowNumbers, sides: &Rc<[Side]>) -> Joined {
        Joined {
            parents,
            sides: sides.clone(),
            rows: vec![Vec::new(); sides.len()],
        }
    }

    /// These rows with what they have found in a side.
    pub fn with(&self, side: usize, matches: Matches) -> Joined {
        let mut joined = self.at(&matches.asked);
        joined.rows[side] = matches.found;
        joined
    }

    /// Those at these places.
    pub fn at(&self, places: &[u32]) -> Joined {
        let take = |rows: &[u32]| -> Vec<u32> { places.iter().map(|&at| rows[at as usize]).collect() };
        Joined {
            parents: take(&self.parents).into(),
            sides: self.sides.clone(),
            rows: self
                .rows
                .iter()
                .map(|rows| if rows.is_empty() { Vec::new() } else { take(rows) })
                .collect(),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// The column of a side, a value for each row, if there are vectors of it.
    pub fn dense(&self, side: usize, column: usize) -> Option<Dense> {
        let dense = self.sides[side].column(column).dense.as_ref()?;
        Some(dense.take(&self.rows[side]))
    }

    /// The same of one row, in the current memory context or as long as the side is there.
    pub fn value(&self, side: usize, column: usize, row: u32) -> (pg_sys::Datum, bool) {
        match self.rows[side][row as usize] {
            NONE => (pg_sys::Datum::null(), true),
            place => self.sides[side].column(column).values.get(place),
        }
    }
}
