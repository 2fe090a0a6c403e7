//! Rows of one side of an equi-join, found by where they are in their table: a join index says which row has a key.
//!
//! What it says of a row is that it has the same keys as that one, and both stay as they are. So if a snapshot sees that one, and
//! no two that it sees have the same keys, it is the only match. It is none if it was left out by the side's conditions. All
//! else has to be found by keys.

use crate::error::Result;
use crate::lookup::Lookup;
use crate::matches::Matches;
use amax_format::Words;

/// What a join index says of a row: nothing.
pub const UNKNOWN: i64 = 0;
/// Of one that has a NULL among its keys.
pub const NO_KEY: i64 = 1;
/// Of one whose keys are those of the other table's first row; the next ones follow.
pub const FIRST: i64 = 2;

const BITS: usize = u64::BITS as usize;

/// Numbers up to some bound.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(BITS)])
    }

    fn add(&mut self, number: usize) {
        if let Some(word) = self.0.get_mut(number / BITS) {
            *word |= 1 << (number % BITS);
        }
    }

    #[inline]
    fn has(&self, number: usize) -> bool {
        self.0
            .get(number / BITS)
            .is_some_and(|word| word >> (number % BITS) & 1 == 1)
    }
}

/// Rows of a side by the values that a join index has for them.
#[derive(Debug)]
pub struct Positions {
    /// Values of which it is known what they find.
    known: Bits,
    /// Of those, the ones of rows of the side.
    found: Bits,
    /// How many there are of the latter before each word of bits.
    before: Vec<u32>,
    /// The side's rows, in the order of their values.
    rows: Vec<u32>,
}

/// What rows find.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub matches: Matches,
    /// Places of those that have to be looked up by their keys, ascending.
    pub unknown: Vec<u32>,
}

impl Positions {
    /// Of a table whose rows have so many numbers: `seen` is called with what takes those of rows that the snapshot sees; `rows` are
    /// those of a side's rows, by the side's order, as far as they have numbers that an index may know.
    ///
    /// # Errors
    /// If memory is short.
    pub fn new(
        numbers: u64,
        seen: impl FnOnce(&mut dyn FnMut(u64)),
        rows: impl Iterator<Item = Option<u64>>,
    ) -> Result<Self> {
        let bound = numbers as usize + FIRST as usize;
        amax_memory::ask(Self::bytes(numbers), "positions of rows")?;
        let value = |number: u64| number as usize + FIRST as usize;
        let (mut known, mut found) = (Bits::new(bound), Bits::new(bound));
        known.add(NO_KEY as usize);
        seen(&mut |number| known.add(value(number)));
        let mut places: Vec<(usize, u32)> = rows
            .zip(0..)
            .filter_map(|(number, row)| Some((value(number?), row)))
            .filter(|place| place.0 < bound)
            .collect();
        places.sort_unstable();
        places.iter().for_each(|place| found.add(place.0));
        let mut so_far = 0;
        let count = |word: &u64| {
            let before = so_far;
            so_far += word.count_ones();
            before
        };
        Ok(Self {
            before: found.0.iter().map(count).collect(),
            rows: places.into_iter().map(|place| place.1).collect(),
            known,
            found,
        })
    }

    /// Bytes of memory that those of a table with so many numbers take, but for the rows themselves.
    pub fn bytes(numbers: u64) -> usize {
        (numbers as usize + FIRST as usize).div_ceil(BITS) * (2 * size_of::<u64>() + size_of::<u32>())
    }

    /// What rows find that have these values.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn find(&self, values: &Words, rows: &[u32]) -> Told {
        let mut told = Told::default();
        for (place, value) in (0..).zip(values.gather(rows)) {
            let value = value as usize;
            if self.found.has(value) {
                told.matches.asked.push(place);
                told.matches.found.push(self.row(value));
            } else if !self.known.has(value) {
                told.unknown.push(place);
            }
        }
        told
    }

    /// Which of these values are not known: how many.
    pub fn count_unknown(&self, values: impl Iterator<Item = i64>) -> usize {
        values.filter(|&value| !self.known.has(value as usize)).count()
    }

    #[inline]
    fn row(&self, value: usize) -> u32 {
        let below = self.found.0[value / BITS] & ((1 << (value % BITS)) - 1);
        self.rows[(self.before[value / BITS] + below.count_ones()) as usize]
    }
}

impl Told {
    /// With what those of unknown places have found by their keys: matches by their places among those.
    pub fn with(self, others: Matches) -> Matches {
        let asked = others.asked.iter().map(|&at| self.unknown[at as usize]);
        let mut others = asked.zip(others.found).peekable();
        if others.peek().is_none() {
            return self.matches;
        }
        let mut all = Matches::default();
        for (asked, found) in self.matches.asked.into_iter().zip(self.matches.found) {
            while let Some((asked, found)) = others.next_if(|other| other.0 < asked) {
                all.asked.push(asked);
                all.found.push(found);
            }
            all.asked.push(asked);
            all.found.push(found);
        }
        for (asked, found) in others {
            all.asked.push(asked);
            all.found.push(found);
        }
        all
    }
}

/// The values that a join index has for rows, given those with the same keys of another table: `matches` by `places` of rows, of which the latest
/// found counts, as what it replaced is seen by fewer; `numbers` are those of the other table's rows.
pub fn values_of(matches: &Matches, numbers: &[u64], rows: usize) -> Vec<i64> {
    let mut values = vec![UNKNOWN; rows];
    for (&asked, &found) in matches.asked.iter().zip(&matches.found) {
        let value = &mut values[asked as usize];
        *value = (*value).max(numbers[found as usize] as i64 + FIRST);
    }
    values
}

/// Whether looking rows up by where they are takes less than by their keys: those of a span of integers are found as quickly.
pub fn is_worth_it(lookup: &Lookup) -> bool {
    lookup.is_unique() && !lookup.is_span()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use crate::vector::{Type, Vector};
    use amax_format::Dense;
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
        /// The index is made anew, of some of the rows of the first table.
        Build(bool),
    }

    fn event() -> impl Strategy<Value = Event> {
        let key = || 0..6u8;
        prop_oneof![
            4 => key().prop_map(Event::Put),
            2 => key().prop_map(Event::Delete),
            2 => (key(), key()).prop_map(|(from, to)| Event::Change(from, to)),
            2 => Just(Event::Flush),
            2 => any::<bool>().prop_map(Event::Build),
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

    /// The history of the other table, and the values that the index had at last.
    struct World {
        versions: Vec<Version>,
        values: Vec<i64>,
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

        fn run(keys: &[Key], events: &[Event]) -> World {
            let mut world = World {
                versions: Vec::new(),
                values: vec![UNKNOWN; keys.len()],
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
                    Event::Build(all) => world.build(keys, all),
                }
            }
            world.now += 1;
            world
        }

        /// Of all columnar versions, those that are gone as well.
        fn build(&mut self, keys: &[Key], all: bool) {
            let numbered = || (0u64..).zip(&self.versions).filter(|(_, version)| version.numbered);
            let numbers: Vec<u64> = numbered().map(|(number, _)| number).collect();
            let lookup = Lookup::new(
                vec![texts(numbered().map(|(_, version)| Some(version.key)))],
                numbers.len(),
            )
            .expect("memory");
            let asked: Vec<Key> = keys.iter().copied().take(if all { keys.len() } else { 3 }).collect();
            let found = lookup.find(&[texts(asked.iter().copied())], asked.len());
            let mut values = values_of(&found, &numbers, keys.len());
            for (value, key) in values.iter_mut().zip(&asked) {
                if key.is_none() {
                    *value = NO_KEY;
                }
            }
            self.values = values;
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
    }

    fn case() -> impl Strategy<Value = Case> {
        let keys = proptest::collection::vec(proptest::option::weighted(0.9, 0..6u8), 1..12);
        let events = proptest::collection::vec(event(), 0..24);
        let all = (keys, events, any::<prop::sample::Index>(), any::<u8>(), any::<u16>());
        all.prop_map(|(keys, events, then, passes, some)| Case {
            keys,
            events,
            then,
            passes,
            some,
        })
    }

    /// Ways to get it wrong.
    #[derive(Clone, Copy, Debug)]
    enum Mutant {
        /// Rows that are not seen any more are taken for rows without a match.
        TrustsTheGone,
        /// So are those that the index has nothing of.
        TrustsNothing,
        /// Rows that a snapshot does not see are matches.
        SeesAll,
        /// What conditions left out is looked up by keys as a match.
        ForgetsConditions,
        /// A TID is given to another row.
        UsesTidsAgain,
    }

    /// What rows find by the index, and what they find by keys.
    fn found(case: &Case, mutant: Option<Mutant>) -> (Matches, Matches) {
        let Case { keys, events, .. } = case;
        let mut world = World::run(keys, events);
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
        let number = |&at: &usize| world.versions[at].numbered.then_some(at as u64);
        let all: Vec<usize> = (0..world.versions.len()).collect();
        let known = match mutant {
            Some(Mutant::TrustsTheGone) => &all,
            _ => &seen,
        };
        let of_side = |rows: &[usize]| texts(rows.iter().map(|&at| Some(world.versions[at].key)));
        let lookup = Lookup::new(vec![of_side(&side)], side.len()).expect("memory");
        assert!(side.is_empty() || is_worth_it(&lookup));
        let rows_of = match mutant {
            Some(Mutant::SeesAll) => all.iter().copied().filter(passes).collect(),
            Some(Mutant::ForgetsConditions) => seen.clone(),
            _ => side.clone(),
        };
        let positions = Positions::new(
            world.versions.len() as u64,
            |see| known.iter().filter_map(number).for_each(see),
            rows_of.iter().map(number),
        )
        .expect("memory");
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
        for mutant in [TrustsTheGone, TrustsNothing, SeesAll, ForgetsConditions, UsesTidsAgain] {
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
    fn what_is_not_seen_is_not_known() {
        let positions = Positions::new(
            200,
            |see| [0, 3, 199].into_iter().for_each(see),
            [Some(3), None, Some(0)].into_iter(),
        )
        .expect("memory");
        let values = Dense::ints([2, 5, 201, 3, UNKNOWN, NO_KEY, 100_000].into_iter().map(Some));
        let told = positions.find(values.words(), &[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((told.matches.asked, told.matches.found), (vec![0, 1], vec![2, 0]));
        assert_eq!(told.unknown, [3, 4, 6]);
    }
}
