//! Rows of the two sides of a join that belong together.

use crate::table::NONE;

/// Rows of both sides that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Places among the rows asked about, ascending.
    pub asked: Vec<u32>,
    /// The row that each has found, or [`NONE`].
    pub found: Vec<u32>,
}

impl Matches {
    /// Those at places of these.
    pub fn at(&self, places: &[u32]) -> Self {
        let take = |all: &[u32]| places.iter().map(|&place| all[place as usize]).collect();
        Self {
            asked: take(&self.asked),
            found: take(&self.found),
        }
    }

    /// The first of each row asked about.
    pub fn first_of_each(&self) -> Self {
        let begins = |&at: &u32| at == 0 || self.asked[at as usize - 1] != self.asked[at as usize];
        let places: Vec<u32> = (0..self.asked.len() as u32).filter(begins).collect();
        self.at(&places)
    }

    /// Of `n` rows asked about, those that have found nothing.
    pub fn others(&self, n: usize) -> Self {
        let mut asked = self.asked.iter().copied().peekable();
        let found_nothing = |place: &u32| {
            let before = asked.peek() == Some(place);
            while asked.next_if_eq(place).is_some() {}
            !before
        };
        let others: Vec<u32> = (0..n as u32).filter(found_nothing).collect();
        Self {
            found: vec![NONE; others.len()],
            asked: others,
        }
    }

    /// With those of `n` rows asked about that have found nothing.
    pub fn with_others(self, n: usize) -> Self {
        let others = self.others(n);
        if others.asked.is_empty() {
            return self;
        }
        self.with(others.asked.into_iter().map(|asked| (asked, NONE)))
    }

    /// With matches of other rows, ascending too.
    pub(crate) fn with(self, others: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut all = Self::default();
        let mut push = |(asked, found)| {
            all.asked.push(asked);
            all.found.push(found);
        };
        let mut own = self.asked.into_iter().zip(self.found).peekable();
        for other in others {
            while let Some(first) = own.next_if(|own| own.0 < other.0) {
                push(first);
            }
            push(other);
        }
        own.for_each(push);
        all
    }
}

/// Matches to be judged until each row asked about has one that holds: one of each row at a time, the last first, as
/// PostgreSQL's hash tables have them.
#[derive(Debug)]
pub struct Rounds {
    all: Matches,
    /// Where the matches of each row begin that has none yet, and where those end that are still to be judged.
    open: Vec<(u32, u32)>,
    /// Those that hold.
    held: Vec<u32>,
}

impl Rounds {
    /// Of all matches.
    pub fn new(all: Matches) -> Self {
        let mut open: Vec<(u32, u32)> = Vec::new();
        for at in 0..all.asked.len() {
            match open.last_mut() {
                Some((begin, end)) if all.asked[*begin as usize] == all.asked[at] => *end += 1,
                _ => open.push((at as u32, at as u32 + 1)),
            }
        }
        Self {
            all,
            open,
            held: Vec::new(),
        }
    }

    /// The next to be judged, ascending by rows asked about; None if there are no more.
    pub fn round(&mut self) -> Option<Matches> {
        self.open.retain(|(begin, end)| begin < end);
        let places: Vec<u32> = self.open.iter().map(|(_, end)| end - 1).collect();
        (!places.is_empty()).then(|| self.all.at(&places))
    }

    /// Which of them, by their places, hold.
    pub fn judge(&mut self, holds: &[u32]) {
        let mut holds = holds.iter().copied().peekable();
        for (at, (begin, end)) in self.open.iter_mut().enumerate() {
            *end -= 1;
            if holds.next_if_eq(&(at as u32)).is_some() {
                self.held.push(*end);
                *begin = *end;
            }
        }
    }

    /// The match of each row that has one.
    pub fn finish(mut self) -> Matches {
        self.held.sort_unstable();
        self.all.at(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches() -> impl Strategy<Value = (Vec<Vec<bool>>, Matches)> {
        let rows = proptest::collection::vec(proptest::collection::vec(any::<bool>(), 0..4), 0..20);
        rows.prop_map(|rows| {
            let mut all = Matches::default();
            for (asked, found) in rows.iter().enumerate() {
                all.asked.extend(found.iter().map(|_| asked as u32));
                all.found.extend(0..found.len() as u32);
            }
            (rows, all)
        })
    }

    proptest! {
        #[test]
        fn rows_without_a_match_are_the_others((rows, all) in matches()) {
            let others: Vec<u32> = (0..rows.len() as u32).filter(|&row| rows[row as usize].is_empty()).collect();
            prop_assert_eq!(&all.others(rows.len()).asked, &others);
            let whole = all.clone().with_others(rows.len());
            prop_assert!(whole.asked.is_sorted());
            let count = |row: u32| whole.asked.iter().filter(|&&asked| asked == row).count();
            for (row, found) in rows.iter().enumerate() {
                prop_assert_eq!(count(row as u32), found.len().max(1));
            }
            let kept = whole.found.iter().filter(|&&found| found != NONE).copied().collect::<Vec<_>>();
            prop_assert_eq!(&kept, &all.found);
            prop_assert_eq!(all.first_of_each().asked.len() + others.len(), rows.len());
        }

        #[test]
        fn rounds_end_with_the_last_match_that_holds((rows, all) in matches()) {
            let mut rounds = Rounds::new(all);
            let mut judged = 0;
            while let Some(round) = rounds.round() {
                prop_assert!(round.asked.is_sorted());
                let pairs = round.asked.iter().zip(&round.found).enumerate();
                let holds = |(at, (asked, found)): (usize, (&u32, &u32))| {
                    rows[*asked as usize][*found as usize].then_some(at as u32)
                };
                judged += round.asked.len();
                let holding: Vec<u32> = pairs.filter_map(holds).collect();
                rounds.judge(&holding);
            }
            let last = |found: &Vec<bool>| found.iter().rposition(|&holds| holds);
            let needed = |found: &Vec<bool>| last(found).map_or(found.len(), |last| found.len() - last);
            prop_assert_eq!(judged, rows.iter().map(needed).sum::<usize>());
            let expected = rows.iter().enumerate().filter_map(|(row, found)| Some((row as u32, last(found)? as u32)));
            let held = rounds.finish();
            prop_assert_eq!(held.asked.into_iter().zip(held.found).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }
}
