//! Rows of one side of an equi-join, found by where they are in their table: a join index says which row has a key.
//!
//! What it says of a row is that it has the same keys as that one, and both stay as they are. So what that one's keys find, its do: the row itself,
//! if a snapshot sees it and no two that it sees have the same keys; none, if the side's conditions left it out; and what has taken its place, which
//! is looked up once for all rows that lead there. All else has to be found by keys.

use crate::error::Result;
use crate::lookup::Lookup;
use crate::matches::Matches;
use crate::vector::{Type, Vector};
use amax_format::{Dense, Integers, Keys, Words, places_that};

/// What a join index says of a row: nothing.
pub const UNKNOWN: i64 = 0;
/// Of one that has a NULL among its keys.
pub const NO_KEY: i64 = 1;
/// Of one whose keys no row had that was there.
pub const NOT_FOUND: i64 = 2;
/// Of one whose keys are those of the other table's first row; the next ones follow.
const FIRST: i64 = 3;

/// Rows of a side by the values that a join index has for them.
#[derive(Debug)]
pub struct Positions {
    numbers: u64,
    /// Values of which it is known what they find.
    known: Integers,
    found: Lookup,
}

/// What rows find.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub matches: Matches,
    /// Places of those that have to be looked up by their keys, ascending.
    pub unknown: Vec<u32>,
}

/// The value of a row's number.
pub fn value_of(number: u64) -> i64 {
    number as i64 + FIRST
}

impl Positions {
    /// Of a table whose rows have so many numbers, none of which is known. `covers`: the side has no row but of those that were there when the index was made.
    ///
    /// # Errors
    /// If memory is short.
    pub fn new(numbers: u64, covers: bool) -> Result<Self> {
        amax_memory::ask(Self::bytes(numbers), "positions of rows")?;
        let places = numbers as usize + FIRST as usize;
        let mut known = Integers::new(UNKNOWN, places);
        known.add(NO_KEY);
        if covers {
            known.add(NOT_FOUND);
        }
        let found = Lookup::of_span(UNKNOWN, places)?;
        Ok(Self { numbers, known, found })
    }

    /// Rows that have the keys of the row with this number find nothing, unless it leads to a row.
    pub fn add(&mut self, number: u64) {
        if number < self.numbers {
            self.known.add(value_of(number));
        }
    }

    /// They find this row of the side.
    pub fn lead(&mut self, number: u64, row: u32) {
        if number < self.numbers {
            self.known.add(value_of(number));
            self.found.lead(value_of(number), row);
        }
    }

    /// Bytes of memory that those of a table with so many numbers take, about.
    pub fn bytes(numbers: u64) -> usize {
        numbers as usize * (size_of::<u32>() + 1)
    }

    /// By the value of a row, where all are known.
    pub fn lookup(&self) -> &Lookup {
        &self.found
    }

    /// Whether all of so many values are known.
    pub fn has_all(&self, values: &Words, rows: usize) -> bool {
        self.count_unknown(values, rows) == 0
    }

    /// How many of so many values are not known.
    pub fn count_unknown(&self, values: &Words, rows: usize) -> usize {
        let rows: Vec<u32> = (0..rows as u32).collect();
        rows.len() - values.places_in_among(&rows, &self.known).len()
    }

    /// The places of values that are not known.
    pub fn unknown(&self, values: &[i64]) -> Vec<u32> {
        let has = self.known.has();
        places_that(values.len(), |place| !has(values[place]))
    }

    /// What rows find that have these values; a row may be there several times.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn find(&self, values: &Words, rows: &[u32]) -> Told {
        let values = values.gather(rows);
        let unknown = self.unknown(&values);
        let matches = self.found.find(&[Vector::of_words(Type::Int, values)], rows.len());
        Told { matches, unknown }
    }
}

impl Told {
    /// With what those of unknown places have found by their keys: matches by their places among those.
    pub fn with(self, others: Matches) -> Matches {
        if others.asked.is_empty() {
            return self.matches;
        }
        let asked = others.asked.iter().map(|&at| self.unknown[at as usize]);
        self.matches.with(asked.zip(others.found))
    }
}

/// The values that a join index has for rows, given those with the same keys of another table: `matches` by places of rows, of which the latest
/// found counts, as what it replaced is seen by fewer; `numbers` are those of the other table's rows.
pub fn values_of(matches: &Matches, numbers: &[u64], rows: usize) -> Vec<i64> {
    let mut values = vec![NOT_FOUND; rows];
    for (&asked, &found) in matches.asked.iter().zip(&matches.found) {
        let value = &mut values[asked as usize];
        *value = (*value).max(value_of(numbers[found as usize]));
    }
    values
}

/// Has rows with these keys have the values of those with the same keys among others, which a join index has values for.
pub fn carry(values: &mut [i64], keys: &Keys, (from, known): (&Keys, &Dense)) {
    let Some(last) = from.len().checked_sub(1) else {
        return;
    };
    let places = keys.first(from.get(0))..keys.first(from.get(last) + 1);
    let mut rows = from.iter().zip(0..).peekable();
    for (value, key) in values[places.clone()].iter_mut().zip(keys.range(places)) {
        while rows.next_if(|other| other.0 < key).is_some() {}
        if let Some((_, row)) = rows.next_if(|other| other.0 == key) {
            *value = known.word(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use amax_format::{ColumnType, Dense, Leaf, LeafBuilder, LeafOptions};
    use proptest::prelude::*;
    use proptest::strategy::ValueTree;

    type Key = Option<u8>;

    /// A version of a row of the other table: its key, and the times from which and up to which it is seen. Its number is its place.
    #[derive(Clone, Debug)]
    struct Version {
        key: u8,
        since: u32,
        until: u32,
        /// Whether it has become columnar, so that it has a number.
        numbered: bool,
    }

    /// What happens to the other table, which has no key twice at any time.
    #[derive(Clone, Debug)]
    enum Event {
        /// A row is inserted, or takes the place of the one with its key.
        Put(u8),
        Delete(u8),
        /// A row gets another key, if nobody has that.
        Change(u8, u8),
        /// What there is becomes columnar.
        Flush,
        /// The index is made anew, of all or some of the rows of the first table, and keeps what it has said or not.
        Build(bool, bool),
    }

    fn event() -> impl Strategy<Value = Event> {
        let key = || 0..6u8;
        prop_oneof![
            4 => key().prop_map(Event::Put),
            2 => key().prop_map(Event::Delete),
            2 => (key(), key()).prop_map(|(from, to)| Event::Change(from, to)),
            2 => Just(Event::Flush),
            2 => (any::<bool>(), any::<bool>()).prop_map(|(all, carries)| Event::Build(all, carries)),
        ]
    }

    fn texts(keys: impl Iterator<Item = Key>) -> Vector<'static> {
        let mut builder = VectorBuilder::new(Type::Text);
        keys.for_each(|key| match key {
            Some(key) => builder.push_text(format!("key {key}").as_bytes()),
            None => builder.push_null(),
        });
        builder.finish()
    }

    /// The history of the other table, the values that the index had at last, and the versions that were there when it was made.
    struct World {
        versions: Vec<Version>,
        values: Vec<i64>,
        covered: Vec<bool>,
        now: u32,
    }

    impl World {
        fn current(&self, key: u8) -> Option<usize> {
            let is = |version: &Version| version.key == key && version.until > self.now;
            self.versions.iter().position(is)
        }

        fn end(&mut self, at: usize) {
            self.versions[at].until = self.now;
        }

        fn put(&mut self, key: u8) {
            self.versions.push(Version {
                key,
                since: self.now,
                until: u32::MAX,
                numbered: false,
            });
        }

        fn run(keys: &[Key], events: &[Event], mutant: Option<Mutant>) -> World {
            let mut world = World {
                versions: Vec::new(),
                values: vec![UNKNOWN; keys.len()],
                covered: Vec::new(),
                now: 0,
            };
            for event in events {
                world.now += 1;
                match *event {
                    Event::Put(key) => {
                        if let Some(at) = world.current(key) {
                            world.end(at);
                        }
                        world.put(key);
                    }
                    Event::Delete(key) => {
                        if let Some(at) = world.current(key) {
                            world.end(at);
                        }
                    }
                    Event::Change(from, to) => {
                        if world.current(to).is_none()
                            && let Some(at) = world.current(from)
                        {
                            world.end(at);
                            world.put(to);
                        }
                    }
                    Event::Flush => world.versions.iter_mut().for_each(|version| version.numbered = true),
                    Event::Build(all, carries) => world.build(keys, all, carries, mutant),
                }
            }
            world.now += 1;
            world
        }

        /// Of all columnar versions, those that are gone as well.
        fn build(&mut self, keys: &[Key], all: bool, carries: bool, mutant: Option<Mutant>) {
            let covered: Vec<bool> = self.versions.iter().map(|version| version.numbered).collect();
            let covers = matches!(mutant, Some(Mutant::CarriesWhatWasNotFound)) || covered == self.covered;
            if !carries {
                self.values.fill(UNKNOWN);
            }
            let numbered = || (0u64..).zip(&self.versions).filter(|(_, version)| version.numbered);
            let numbers: Vec<u64> = numbered().map(|(number, _)| number).collect();
            let lookup = Lookup::new(
                vec![texts(numbered().map(|(_, version)| Some(version.key)))],
                numbers.len(),
            )
            .expect("memory");
            let known = positions(
                self.versions.len() as u64,
                numbers.iter().map(|&number| (number, None)),
                covers,
            );
            let unknown = known.unknown(&self.values);
            let asked = || unknown.iter().map(|&row| keys[row as usize]);
            let found = lookup.find(&[texts(asked())], unknown.len());
            let values = values_of(&found, &numbers, unknown.len());
            for ((&row, key), value) in unknown.iter().zip(asked()).zip(values) {
                self.values[row as usize] = match key {
                    _ if !all && row >= 3 => UNKNOWN,
                    None => NO_KEY,
                    Some(_) => value,
                };
            }
            self.covered = covered;
        }

        /// The versions that a snapshot of then sees.
        fn seen(&self, then: u32) -> Vec<usize> {
            let sees = |at: &usize| self.versions[*at].since <= then && then < self.versions[*at].until;
            (0..self.versions.len()).filter(sees).collect()
        }
    }

    /// What happened, and what is asked.
    #[derive(Clone, Debug)]
    struct Case {
        keys: Vec<Key>,
        events: Vec<Event>,
        then: prop::sample::Index,
        /// Keys that a condition of the side lets pass, and the rows that are asked about, as bits.
        passes: u8,
        some: u16,
        /// Versions that nobody sees and that are still there.
        there: u32,
    }

    fn case() -> impl Strategy<Value = Case> {
        let keys = proptest::collection::vec(proptest::option::weighted(0.9, 0..6u8), 1..12);
        let events = proptest::collection::vec(event(), 0..24);
        let all = (
            keys,
            events,
            any::<prop::sample::Index>(),
            any::<u8>(),
            any::<u16>(),
            any::<u32>(),
        );
        all.prop_map(|(keys, events, then, passes, some, there)| Case {
            keys,
            events,
            then,
            passes,
            some,
            there,
        })
    }

    /// Ways to get it wrong.
    #[derive(Clone, Copy, Debug)]
    enum Mutant {
        /// What has taken a row's place is not looked for.
        ForgetsWhatReplaced,
        /// Nor is what the index has nothing of.
        TrustsNothing,
        /// Rows of which a snapshot sees nothing are matches.
        SeesAll,
        /// Rows that have come since are not looked for.
        ForgetsTheNew,
        /// A TID is given to another row.
        UsesTidsAgain,
        /// Rows that had found nothing are not looked up among those that have come since.
        CarriesWhatWasNotFound,
    }

    fn positions(numbers: u64, entries: impl Iterator<Item = (u64, Option<u32>)>, covers: bool) -> Positions {
        let mut positions = Positions::new(numbers, covers).expect("memory");
        entries.for_each(|(number, row)| match row {
            Some(row) => positions.lead(number, row),
            None => positions.add(number),
        });
        positions
    }

    /// What rows find by the index, and what they find by keys.
    fn found(case: &Case, mutant: Option<Mutant>) -> (Matches, Matches) {
        let Case { keys, events, .. } = case;
        let mut world = World::run(keys, events, mutant);
        if let Some(Mutant::UsesTidsAgain) = mutant {
            // The first two versions change places.
            world.versions.iter_mut().for_each(|version| version.numbered = true);
            if world.versions.len() > 1 {
                world.versions.swap(0, 1);
            }
        }
        let then = case.then.index(world.now as usize + 1) as u32;
        let seen = world.seen(then);
        let passes = |at: &usize| case.passes >> world.versions[*at].key & 1 == 1;
        let side: Vec<usize> = seen.iter().copied().filter(passes).collect();
        let of_side = |rows: &[usize]| texts(rows.iter().map(|&at| Some(world.versions[at].key)));
        let lookup = Lookup::new(vec![of_side(&side)], side.len()).expect("memory");
        let row_of = |at: usize| side.iter().position(|&row| row == at).map(|row| row as u32);
        let by_key = |at: usize| lookup.find(&[of_side(&[at])], 1).found.first().copied();
        let is_there = |at: &usize| world.versions[*at].numbered && case.there >> *at & 1 == 1;
        let entry = |at: usize| {
            let is_seen = seen.contains(&at);
            let row = match mutant {
                Some(Mutant::ForgetsWhatReplaced) if !is_seen => None,
                Some(Mutant::SeesAll) if !side.is_empty() => Some(at as u32 % side.len() as u32),
                _ if is_seen => row_of(at),
                _ => by_key(at),
            };
            (at as u64, row)
        };
        // Of those that are seen all are there, of the others some.
        let all =
            (0..world.versions.len()).filter(|at| world.versions[*at].numbered && seen.contains(at) || is_there(at));
        let is_covered = |&at: &usize| world.covered.get(at) == Some(&true);
        let covers = matches!(mutant, Some(Mutant::ForgetsTheNew)) || side.iter().all(is_covered);
        let positions = positions(world.versions.len() as u64, all.map(entry), covers);
        let rows: Vec<u32> = (0..keys.len() as u32).filter(|row| case.some >> row & 1 == 1).collect();
        let key_of = |row: &u32| keys[*row as usize];
        let column = Dense::ints(world.values.iter().map(|&value| Some(value)));
        let mut told = positions.find(column.words(), &rows);
        if let Some(Mutant::TrustsNothing) = mutant {
            told.unknown.clear();
        }
        let unknown: Vec<Key> = told
            .unknown
            .iter()
            .map(|&place| key_of(&rows[place as usize]))
            .collect();
        let others = lookup.find(&[texts(unknown.iter().copied())], unknown.len());
        (
            told.with(others),
            lookup.find(&[texts(rows.iter().map(key_of))], rows.len()),
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

        /// Whatever has happened to the other table, and whenever the snapshot was taken: what is found by the index is what is found by keys.
        #[test]
        fn finds_what_keys_find(case in case()) {
            let (by_index, by_keys) = found(&case, None);
            prop_assert_eq!(by_index, by_keys);
        }
    }

    #[test]
    fn histories_tell_what_is_wrong() {
        use Mutant::*;
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let cases: Vec<Case> = (0..2000)
            .map(|_| case().new_tree(&mut runner).expect("a case").current())
            .collect();
        for mutant in [
            ForgetsWhatReplaced,
            TrustsNothing,
            SeesAll,
            ForgetsTheNew,
            UsesTidsAgain,
            CarriesWhatWasNotFound,
        ] {
            let differs = |case: &&Case| {
                let (by_index, by_keys) = found(case, Some(mutant));
                by_index != by_keys
            };
            assert!(cases.iter().filter(differs).count() > 10, "{mutant:?}");
        }
    }

    /// So many histories, unless `PROPTEST_CASES` says otherwise.
    fn cases() -> u32 {
        ProptestConfig::default().cases.max(1024)
    }

    #[test]
    fn rows_of_other_leaves_keep_what_is_said_of_them() {
        let leaf = |keys: &[u64]| {
            let mut builder = LeafBuilder::new(&[ColumnType::Int], LeafOptions::default());
            let ints: Vec<i64> = keys.iter().map(|&key| key as i64 * 10).collect();
            let pushed = builder.push_rows(keys.iter().copied(), |_, rows| rows.push_ints(&ints));
            let image = pushed.and_then(|()| builder.finish()).expect("a leaf");
            let len = image.len() as u64;
            Leaf::open(image, len).expect("a leaf")
        };
        let keys = leaf(&[3, 4, 5, 9, 20, 21, u64::from(u32::MAX)]);
        let mut values = vec![UNKNOWN; keys.keys().len()];
        for others in [&[1, 2, 4, 5][..], &[6, 7], &[20], &[u64::from(u32::MAX)]] {
            let others = leaf(others);
            let dense = others.column(0).and_then(|column| column.dense()).expect("a column");
            carry(&mut values, keys.keys(), (others.keys(), &dense));
        }
        let last = i64::from(u32::MAX) * 10;
        assert_eq!(values, [UNKNOWN, 40, 50, UNKNOWN, 200, UNKNOWN, last]);
    }

    #[test]
    fn what_is_not_there_is_not_known() {
        let entries = [(0, Some(2)), (3, Some(0)), (199, None), (7, Some(2)), (500, Some(1))];
        let numbers = [0, 3, 199, 1, 7].map(value_of);
        let values = [
            numbers[0], numbers[1], numbers[2], numbers[3], UNKNOWN, NO_KEY, numbers[4], NOT_FOUND, 100_000,
        ];
        let values = Dense::ints(values.into_iter().map(Some));
        for (covers, unknown) in [(false, vec![4, 5, 8, 9]), (true, vec![4, 5, 9])] {
            let positions = positions(200, entries.into_iter(), covers);
            let told = positions.find(values.words(), &[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
            assert_eq!(
                (told.matches.asked, told.matches.found),
                (vec![0, 1, 2, 7], vec![2, 2, 0, 2])
            );
            assert_eq!(positions.count_unknown(values.words(), 9), unknown.len());
            assert_eq!(told.unknown, unknown);
            assert!(positions.has_all(values.words(), 3));
        }
    }
}
