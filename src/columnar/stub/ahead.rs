//! Rows whose stubs are made together. Who changes rows in the order of a scan needs a stub for each of them: the scan says
//! which rows it hands up next, and while each that is asked for is the next one, those of more and more of them are made with
//! its own. A stub that nobody comes to need is idle, as after a rollback, and VACUUM's to remove.

use super::{At, group_of};
use crate::columnar::leaf::OpenLeaf;
use crate::columnar::row::Row;
use crate::pg::Relation;
use crate::pg::relation::FileId;
use amax_format::RowNumbers;
use amax_lsm::Origin;
use amax_lsm::tid::Key;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Stubs made together at most, about half a page of narrow ones.
const MOST: usize = 64;

/// The rows of a leaf that a scan hands up.
struct Coming {
    file: FileId,
    leaf: Rc<OpenLeaf>,
    origin: Option<Origin>,
    rows: RowNumbers,
    /// The first that has not been looked at.
    next: usize,
    /// How many are made together, as long as none is left out.
    pace: usize,
    /// For how many a stub was to be made last, beside the one that was asked for; and how many have been asked for since.
    looked_at: usize,
    asked: usize,
    /// Where those stubs are, as far as nobody has asked for them.
    made: VecDeque<(Key, At)>,
}

thread_local! {
    static COMING: RefCell<Option<Coming>> = const { RefCell::new(None) };
}

/// A scan is about to hand up these rows of a leaf.
pub fn expect(rel: &Relation, leaf: Rc<OpenLeaf>, origin: Option<Origin>, rows: &RowNumbers) {
    COMING.with_borrow_mut(|coming| {
        let file = rel.file();
        let pace = coming.as_ref().filter(|c| c.file == file && c.is_in_order());
        *coming = Some(Coming {
            file,
            leaf,
            origin,
            rows: rows.clone(),
            next: 0,
            pace: pace.map_or(1, |c| c.pace),
            looked_at: 0,
            asked: 0,
            made: VecDeque::new(),
        });
    });
}

/// The scan has ended, or an error has ended what it was for: pages of the directory may be used for something else from now on.
pub fn forget() {
    COMING.take();
}

fn of<R>(rel: &Relation, f: impl FnOnce(&mut Coming) -> R) -> Option<R> {
    COMING.with_borrow_mut(|coming| coming.as_mut().filter(|c| c.file == rel.file()).map(f))
}

/// A row has been asked for that had its stub.
pub(super) fn note_asked(rel: &Relation) {
    of(rel, |coming| coming.asked += 1);
}

/// These have been made beside one that was asked for.
pub(super) fn note_made(rel: &Relation, made: Vec<(Key, At)>) {
    of(rel, |coming| coming.made = made.into());
}

/// Where the row's stub is, if it was made so.
pub(super) fn take(rel: &Relation, row: Key) -> Option<At> {
    of(rel, |coming| {
        let place = coming.made.iter().position(|made| made.0 == row)?;
        coming.asked += 1;
        coming.made.drain(..=place).next_back().map(|made| made.1)
    })?
}

/// Rows that are expected after this one, which has no stub: those to make stubs of with it, all of the same page of the
/// directory.
pub(super) fn after(rel: &Relation, row: Key) -> Vec<(Key, Row)> {
    of(rel, |coming| coming.after(row)).unwrap_or_default()
}

impl Coming {
    /// Whether all have been asked for of which a stub was made.
    fn is_in_order(&self) -> bool {
        self.asked >= self.looked_at
    }

    fn after(&mut self, row: Key) -> Vec<(Key, Row)> {
        self.made.clear();
        let keys = self.leaf.keys();
        let place = keys
            .find(row)
            .and_then(|row| self.rows.binary_search(&(row as u32)).ok());
        let Some(place) = place else {
            return Vec::new();
        };
        self.pace = match place == self.next && self.is_in_order() {
            true => (2 * self.pace).min(MOST),
            false => 1,
        };
        let others = self.rows[place + 1..]
            .iter()
            .map(|&row| (keys.get(row as usize), row as usize));
        let others = others
            .take(self.pace - 1)
            .take_while(|other| group_of(other.0) == group_of(row));
        let others: Vec<_> = others
            .map(|(key, row)| (key, Row::new(self.leaf.clone(), row, self.origin)))
            .collect();
        (self.next, self.looked_at, self.asked) = (place + 1 + others.len(), others.len(), 0);
        others
    }
}
