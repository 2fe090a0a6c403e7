//! Looking rows up in one of the other sides.

use super::build::Building;
use super::spine::{Kind, Level};
use crate::query::batch::columns::BatchColumns;
use crate::query::batch::computed::Computed;
use crate::query::batch::condition::{Condition, select};
use crate::query::batch::joined::{Joined, Side};
use crate::query::batch::rows::Rows;
use crate::query::expr::raises::raises;
use amax_exec::{Lookup, Matches, Rounds};
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

    /// Whether it may be asked for rows that others before would have left out, and the other way round.
    pub(super) fn may_move(&self, level: &Level, side: &Side) -> bool {
        let leaves_some = match self.kind {
            Kind::Inner => side.lookup.is_unique(),
            Kind::Semi | Kind::Anti => true,
            Kind::Left => false,
        };
        let is_plain = !self.joined && self.residual.is_empty() && self.filter.is_empty();
        leaves_some && is_plain && !level.outer_keys.iter().any(|key| raises(key))
    }

    /// What consecutive rows find by an integer column of theirs that has no NULL.
    pub(super) fn find_words(
        &self,
        lookup: &Lookup,
        columns: &BatchColumns,
        rows: &[u32],
        one: bool,
    ) -> Option<Matches> {
        let [key] = &self.keys[..] else { return None };
        let (words, rows) = columns.words_of(key.vector(), rows)?;
        lookup.find_words(words, rows, one)
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
