//! Looking rows up in one of the other sides.

use super::build::Building;
use super::spine::{Kind, Level};
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::computed::Computed;
use crate::query::batch::condition::{Condition, select};
use crate::query::batch::joined::{Joined, Side};
use crate::query::batch::rows::Rows;
use crate::query::expr::raises::raises;
use amax_exec::{Lookup, Matches, Rounds, Vector};
use amax_format::{RowNumbers, Words};
use std::rc::Rc;

pub(super) struct Probe {
    pub(super) kind: Kind,
    pub(super) keys: Vec<Computed>,
    /// Whether they read other sides, not the scan alone.
    pub(super) joined: bool,
    /// What a match has to fulfil beside,
    pub(super) residual: Vec<Condition>,
    /// and what joined rows have to.
    pub(super) filter: Vec<Condition>,
    pub(super) building: Building,
}

impl Probe {
    /// Columns that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = usize> + '_ {
        let of_keys = self.keys.iter().flat_map(|key| &key.reads);
        let conditions = self.residual.iter().chain(&self.filter);
        of_keys
            .chain(conditions.flat_map(|condition| &condition.reads))
            .copied()
    }

    /// Whether it reads nothing of other sides.
    pub(super) fn reads_scan_only(&self) -> bool {
        !self.joined && self.residual.is_empty() && self.filter.is_empty()
    }

    /// Whether it may be asked for rows that others before would have left out, and the other way round.
    pub(super) fn may_move(&self, level: &Level, side: &Side) -> bool {
        self.reads_scan_only() && self.only_filters(side.is_unique()) && !level.outer_keys.iter().any(|key| raises(key))
    }

    /// What rows of the scan's, ascending, none of them twice, find by words; None if that has to be found another way. `late`: what they find is found
    /// when all sides have been asked, if it is not more than one.
    pub(super) fn find_words(&self, lookup: &Lookup, words: &Words, rows: &[u32], late: bool) -> Option<Matches> {
        if late && self.only_filters(lookup.is_unique()) {
            let asked = lookup.places_of_words(words, rows)?;
            let found = Vec::new();
            return Some(Matches { asked, found });
        }
        lookup.find_words(words, rows, self.finds_one())
    }

    /// What so many rows find that have these keys.
    pub(super) fn find(&self, side: &Side, keys: &[Vector], n: usize) -> Matches {
        match self.finds_one() {
            true => side.lookup().find_one(keys, n),
            false => side.lookup().find(keys, n),
        }
    }

    /// Of rows of the scan's, ascending, those that find something by their keys.
    pub(super) fn finding(
        &self,
        side: &Side,
        scan: &mut Rows,
        columns: &Rc<BatchColumns>,
        rows: RowNumbers,
    ) -> RowNumbers {
        if rows.is_empty() {
            return rows;
        }
        let by_words = self
            .words(columns)
            .and_then(|words| side.lookup().places_of_words(words, &rows));
        let mut found = by_words.unwrap_or_else(|| {
            let keys: Vec<_> = self.keys.iter().map(|key| key.values(scan, columns, &rows)).collect();
            side.lookup().find_one(&keys, rows.len()).asked
        });
        found.iter_mut().for_each(|place| *place = rows[*place as usize]);
        found.into()
    }

    /// Whether one match is as good as all.
    pub(super) fn finds_one(&self) -> bool {
        matches!(self.kind, Kind::Semi | Kind::Anti) && self.residual.is_empty()
    }

    /// The integers that rows are looked up by, if these are a column of the scan's that has no NULL.
    pub(super) fn words<'a>(&self, columns: &'a BatchColumns) -> Option<&'a Words> {
        match &self.keys[..] {
            [key] if !self.joined => columns.words(key.vector()),
            _ => None,
        }
    }

    /// Whether each row finds at most one, which nothing but columns above asks for.
    pub(super) fn only_filters(&self, is_unique: bool) -> bool {
        let is_inner = self.kind == Kind::Inner && self.residual.is_empty();
        self.finds_one() || is_inner && is_unique
    }

    /// Of what rows joined so far have found by their keys, what fulfils the other conditions: all of it, or one match for each row where more do
    /// not matter.
    pub(super) fn matches(
        &self,
        found: Matches,
        side: usize,
        rows: &mut Rows,
        (columns, joined): (&Rc<BatchColumns>, &Joined),
    ) -> Matches {
        if self.residual.is_empty() {
            return found;
        }
        let mut holding = |found: &Matches| {
            let with = joined_columns(columns, &joined.with(side, found.clone()), rows);
            select(&self.residual, rows, &with)
        };
        if matches!(self.kind, Kind::Inner | Kind::Left) {
            let holding = holding(&found);
            return found.at(&holding);
        }
        // Conditions may raise an error: none is looked at that heap does not look at.
        let mut rounds = Rounds::new(found);
        while let Some(round) = rounds.round() {
            rounds.judge(&holding(&round));
        }
        rounds.finish()
    }
}

/// Rows joined so far as columns, for who has `rows` look at them.
pub(super) fn joined_columns(columns: &Rc<BatchColumns>, joined: &Joined, rows: &Rows) -> Rc<BatchColumns> {
    Rc::new(columns.joined(joined.clone(), &rows.entries))
}
