//! The words of a column's rows, as narrow as they may be: what is read of them, and shared by processes, is most of
//! what a query reads.

use crate::integers::Integers;
use crate::places::{consecutive, places_found, places_that, places_where};
use crate::row_set::RowSet;
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::OnceLock;

/// One word per row: `base`, and what the row's differs by.
#[derive(Clone, Debug)]
pub struct Words {
    pub(crate) base: i64,
    offsets: Offsets,
    /// The greatest offset, once it has been asked for: of each leaf each query asks.
    most: OnceLock<u64>,
}

/// As many bytes per row as the greatest needs.
#[derive(Clone, Debug)]
enum Offsets {
    /// All rows have the base.
    None,
    One(ScalarBuffer<u8>),
    Two(ScalarBuffer<u16>),
    Four(ScalarBuffer<u32>),
    /// The words themselves: the base is zero.
    Eight(ScalarBuffer<i64>),
}

impl Offsets {
    /// The greatest; of words themselves nobody asks.
    fn most(&self) -> u64 {
        fn of<T: Copy + Ord + Into<u64>>(offsets: &[T]) -> u64 {
            offsets.iter().max().map_or(0, |&most| most.into())
        }
        match self {
            Offsets::None => 0,
            Offsets::One(offsets) => of(offsets),
            Offsets::Two(offsets) => of(offsets),
            Offsets::Four(offsets) => of(offsets),
            Offsets::Eight(_) => u64::MAX,
        }
    }
}

/// What is done with a test of offsets.
trait Test {
    type Left;

    /// All pass, or none.
    fn all(self, pass: bool) -> Self::Left;
    /// Given those of all rows.
    fn each<T: Copy>(self, offsets: &[T], passes: impl Fn(T) -> bool) -> Self::Left;
}

impl Test for &mut RowSet {
    type Left = ();

    fn all(self, pass: bool) {
        if !pass {
            self.clear();
        }
    }

    fn each<T: Copy>(self, offsets: &[T], passes: impl Fn(T) -> bool) {
        self.keep(offsets, passes);
    }
}

/// What a row's word differs from the base by.
trait Offset: Copy {
    /// The last of its bytes.
    fn of(offset: u64) -> Self;
    /// Whether it differs from the least in a range by no more than the greatest does. Differences wrap: those of
    /// offsets below the range are greater.
    fn is_within(self, least: Self, span: Self) -> bool;
}

macro_rules! offsets {
    ($($ty:ty: $unsigned:ty),*) => { $(
        impl Offset for $ty {
            #[inline]
            fn of(offset: u64) -> Self {
                offset as Self
            }

            #[inline]
            fn is_within(self, least: Self, span: Self) -> bool {
                self.wrapping_sub(least) as $unsigned <= span as $unsigned
            }
        }
    )* };
}

offsets!(u8: u8, u16: u16, u32: u32, i64: u64);

impl Words {
    /// `held` says which rows have a word; the others get anything.
    pub(crate) fn new(words: Vec<i64>, held: impl Fn(usize) -> bool) -> Self {
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for (row, &word) in words.iter().enumerate() {
            // Without a branch: tags are hard to predict.
            let held = held(row);
            least = least.min(if held { word } else { i64::MAX });
            greatest = greatest.max(if held { word } else { i64::MIN });
        }
        let range = match least <= greatest {
            true => greatest.abs_diff(least),
            false => 0,
        };
        let offsets = words.iter().enumerate().map(|(row, &word)| {
            let offset = word.wrapping_sub(least) as u64;
            // One that is somewhere: also a code of no row is one of the dictionary's.
            if held(row) { offset } else { 0 }
        });
        let offsets = match range {
            0 => Offsets::None,
            1..=0xFF => Offsets::One(offsets.map(|o| o as u8).collect()),
            0x100..=0xFFFF => Offsets::Two(offsets.map(|o| o as u16).collect()),
            0x1_0000..=0xFFFF_FFFF => Offsets::Four(offsets.map(|o| o as u32).collect()),
            _ => return Self::wide(words.into()),
        };
        Self::with(if least <= greatest { least } else { 0 }, offsets)
    }

    /// Of rows that all have one.
    pub(crate) fn of<T: Copy + Into<i64>>(words: &[T]) -> Self {
        let word = |&word: &T| word.into();
        let (least, greatest) = words
            .iter()
            .map(word)
            .fold((i64::MAX, i64::MIN), |(least, greatest), word: i64| {
                (least.min(word), greatest.max(word))
            });
        let offset = |word: &T| (*word).into().wrapping_sub(least);
        let offsets = match greatest.checked_sub(least) {
            None if least > greatest => Offsets::None,
            Some(0) => Offsets::None,
            Some(1..=0xFF) => Offsets::One(words.iter().map(|w| offset(w) as u8).collect::<Vec<_>>().into()),
            Some(0x100..=0xFFFF) => Offsets::Two(words.iter().map(|w| offset(w) as u16).collect::<Vec<_>>().into()),
            Some(0x1_0000..=0xFFFF_FFFF) => {
                Offsets::Four(words.iter().map(|w| offset(w) as u32).collect::<Vec<_>>().into())
            }
            _ => return Self::wide(words.iter().map(word).collect::<Vec<_>>().into()),
        };
        Self::with(if least <= greatest { least } else { 0 }, offsets)
    }

    fn wide(words: ScalarBuffer<i64>) -> Self {
        Self::with(0, Offsets::Eight(words))
    }

    fn with(base: i64, offsets: Offsets) -> Self {
        let most = OnceLock::new();
        Self { base, offsets, most }
    }

    /// Of so many rows, by what [`Words::offsets`] gives; None if that is not as long as it has to be.
    pub(crate) fn of_offsets(base: i64, offsets: Buffer, rows: usize) -> Option<Self> {
        let bytes = offsets.len();
        let is = |width: usize| rows.checked_mul(width) == Some(bytes);
        let offsets = match bytes {
            0 => Offsets::None,
            _ if is(1) => Offsets::One(offsets.into()),
            _ if is(2) => Offsets::Two(offsets.into()),
            _ if is(4) => Offsets::Four(offsets.into()),
            _ if is(8) && base == 0 => Offsets::Eight(offsets.into()),
            _ => return None,
        };
        Some(Self::with(base, offsets))
    }

    /// What rows differ from the base by, as bytes: the same number of them for each row.
    pub(crate) fn offsets(&self) -> &[u8] {
        match &self.offsets {
            Offsets::None => &[],
            Offsets::One(offsets) => offsets.inner(),
            Offsets::Two(offsets) => offsets.inner(),
            Offsets::Four(offsets) => offsets.inner(),
            Offsets::Eight(words) => words.inner(),
        }
    }

    /// The word of a row.
    #[inline]
    pub fn get(&self, row: usize) -> i64 {
        let offset = match &self.offsets {
            Offsets::None => 0,
            Offsets::One(offsets) => i64::from(offsets[row]),
            Offsets::Two(offsets) => i64::from(offsets[row]),
            Offsets::Four(offsets) => i64::from(offsets[row]),
            Offsets::Eight(words) => words[row],
        };
        self.base.wrapping_add(offset)
    }

    /// The base and the offsets, if they are bytes: a loop over them may look up in a table.
    pub fn bytes(&self) -> Option<(i64, &[u8])> {
        match &self.offsets {
            Offsets::One(offsets) => Some((self.base, offsets)),
            _ => None,
        }
    }

    /// The words of consecutive rows.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn slice(&self, rows: Range<usize>) -> Cow<'_, [i64]> {
        fn of<T: Copy + Into<i64>>(base: i64, offsets: &[T]) -> Cow<'static, [i64]> {
            let word = |&offset: &T| base.wrapping_add(offset.into());
            offsets.iter().map(word).collect()
        }
        match &self.offsets {
            Offsets::None => vec![self.base; rows.len()].into(),
            Offsets::One(offsets) => of(self.base, &offsets[rows]),
            Offsets::Two(offsets) => of(self.base, &offsets[rows]),
            Offsets::Four(offsets) => of(self.base, &offsets[rows]),
            Offsets::Eight(words) => words[rows].into(),
        }
    }

    /// The words of some rows.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn gather(&self, rows: &[u32]) -> Vec<i64> {
        fn of<T: Copy + Into<i64>>(base: i64, offsets: &[T], rows: &[u32]) -> Vec<i64> {
            let word = |&row: &u32| base.wrapping_add(offsets[row as usize].into());
            rows.iter().map(word).collect()
        }
        match &self.offsets {
            Offsets::None => vec![self.base; rows.len()],
            Offsets::One(offsets) => of(self.base, offsets, rows),
            Offsets::Two(offsets) => of(self.base, offsets, rows),
            Offsets::Four(offsets) => of(self.base, offsets, rows),
            Offsets::Eight(words) => of(0, words, rows),
        }
    }

    /// Those of `rows`, which are ascending, whose words are in a range, or are not.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select(&self, rows: &[u32], within: RangeInclusive<i64>, inside: bool) -> Vec<u32> {
        struct Select<'a>(&'a [u32]);
        impl Test for Select<'_> {
            type Left = Vec<u32>;

            fn all(self, pass: bool) -> Vec<u32> {
                if pass { self.0.to_vec() } else { Vec::new() }
            }

            fn each<T: Copy>(self, offsets: &[T], passes: impl Fn(T) -> bool) -> Vec<u32> {
                if let Some(range) = consecutive(self.0) {
                    return places_where(&offsets[range.clone()], range.start as u32, passes);
                }
                match RowSet::of(self.0) {
                    Some(mut set) => {
                        set.keep(offsets, passes);
                        set.rows()
                    }
                    None => {
                        let passes = |at: usize| passes(offsets[self.0[at] as usize]);
                        let places = places_that(self.0.len(), passes);
                        places.iter().map(|&place| self.0[place as usize]).collect()
                    }
                }
            }
        }
        self.test(within, inside, Select(rows))
    }

    /// Keeps those of a set whose words are in a range, or are not.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn keep(&self, set: &mut RowSet, within: RangeInclusive<i64>, inside: bool) {
        self.test(within, inside, set);
    }

    /// Tests offsets in place of words: whether these are in a range, or are not.
    fn test<T: Test>(&self, within: RangeInclusive<i64>, inside: bool, test: T) -> T::Left {
        fn each<T: Test, O: Offset>(offsets: &[O], range: Option<(u64, u64)>, inside: bool, test: T) -> T::Left {
            let Some((least, span)) = range else {
                return test.all(!inside);
            };
            let (least, span) = (O::of(least), O::of(span));
            test.each(offsets, |offset| offset.is_within(least, span) == inside)
        }
        let (first, last) = (*within.start(), *within.end());
        if first > last {
            return test.all(!inside);
        }
        // Of offsets up to `most`: the least, and by what the greatest differs from it.
        let base = i128::from(self.base);
        let of_offsets = |most: u64| {
            let least = (i128::from(first) - base).max(0) as u64;
            let greatest = u64::try_from(i128::from(last) - base).ok()?.min(most);
            Some((least, greatest.checked_sub(least)?))
        };
        match &self.offsets {
            Offsets::None => test.all(within.contains(&self.base) == inside),
            Offsets::One(offsets) => each(offsets, of_offsets(u8::MAX.into()), inside, test),
            Offsets::Two(offsets) => each(offsets, of_offsets(u16::MAX.into()), inside, test),
            Offsets::Four(offsets) => each(offsets, of_offsets(u32::MAX.into()), inside, test),
            Offsets::Eight(words) => each(words, Some((first as u64, last.abs_diff(first))), inside, test),
        }
    }

    /// Whether all are in a range.
    pub fn are_within(&self, min: i64, max: i64) -> bool {
        let least = self.base;
        let fits = |most: Option<i64>| {
            let greatest = most.and_then(|most| least.checked_add(most));
            least >= min && greatest.is_some_and(|greatest| greatest <= max)
        };
        match &self.offsets {
            Offsets::None => fits(Some(0)),
            // Nearly always it is enough to know how wide they are.
            Offsets::One(_) if fits(Some(u8::MAX.into())) => true,
            Offsets::Two(_) if fits(Some(u16::MAX.into())) => true,
            Offsets::Four(_) if fits(Some(u32::MAX.into())) => true,
            Offsets::Eight(_) if (min, max) == (i64::MIN, i64::MAX) => true,
            Offsets::Eight(words) => words.iter().all(|word| (min..=max).contains(word)),
            offsets => fits(i64::try_from(*self.most.get_or_init(|| offsets.most())).ok()),
        }
    }

    /// Of `rows`, ascending, none of them twice, those whose words a set has, as places among them.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn places_in_among(&self, rows: &[u32], set: &Integers) -> Vec<u32> {
        struct Places<'a>(&'a [u32]);
        impl Test for Places<'_> {
            type Left = Vec<u32>;

            fn all(self, pass: bool) -> Vec<u32> {
                let places = 0..self.0.len() as u32;
                if pass { places.collect() } else { Vec::new() }
            }

            fn each<T: Copy>(self, offsets: &[T], passes: impl Fn(T) -> bool) -> Vec<u32> {
                match consecutive(self.0) {
                    Some(range) => places_found(&offsets[range], passes),
                    None => places_found(self.0, |row| passes(offsets[row as usize])),
                }
            }
        }
        self.look_up(set, rows.len(), Places(rows))
    }

    /// The same as their numbers. There have to be such rows.
    pub fn rows_in(&self, rows: &[u32], set: &Integers) -> Vec<u32> {
        struct Keep<'a>(&'a mut RowSet);
        impl Test for Keep<'_> {
            type Left = ();

            fn all(self, pass: bool) {
                self.0.all(pass);
            }

            fn each<T: Copy>(self, offsets: &[T], passes: impl Fn(T) -> bool) {
                self.0.keep_found(offsets, passes);
            }
        }
        // To look up also those between them is quicker than to read their numbers.
        if consecutive(rows).is_none()
            && let Some(mut left) = RowSet::of(rows)
        {
            self.look_up(set, rows.len(), Keep(&mut left));
            return left.rows();
        }
        let mut found = self.places_in_among(rows, set);
        found.iter_mut().for_each(|place| *place = rows[*place as usize]);
        found
    }

    /// Tests offsets in place of words, of `n` rows: whether a set has these.
    fn look_up<T: Test>(&self, set: &Integers, n: usize, test: T) -> T::Left {
        fn in_table<const N: usize, T: Test, O: Copy + Into<usize>>(
            table: Option<&[bool; N]>,
            offsets: &[O],
            has: impl Fn(usize) -> bool,
            test: T,
        ) -> T::Left {
            match table {
                Some(table) => test.each(offsets, |offset| table[offset.into()]),
                None => test.each(offsets, |offset| has(offset.into())),
            }
        }
        let (has, base) = (set.has(), self.base);
        let has = move |offset: i64| has(base.wrapping_add(offset));
        match &self.offsets {
            Offsets::None => test.all(has(0)),
            Offsets::One(offsets) => in_table(set.table::<{ 1 << 8 }>(base, n), offsets, |o| has(o as i64), test),
            Offsets::Two(offsets) => in_table(set.table::<{ 1 << 16 }>(base, n), offsets, |o| has(o as i64), test),
            Offsets::Four(offsets) => test.each(offsets, |offset| has(offset.into())),
            Offsets::Eight(words) => test.each(words, has),
        }
    }

    /// Those at these places, in their order; anything beyond the last.
    pub(crate) fn take(&self, places: &[u32]) -> Self {
        fn of<T: ArrowNativeType>(offsets: &[T], places: &[u32]) -> ScalarBuffer<T> {
            let offset = |&place: &u32| offsets.get(place as usize).copied().unwrap_or_default();
            places.iter().map(offset).collect()
        }
        let offsets = match &self.offsets {
            Offsets::None => Offsets::None,
            Offsets::One(offsets) => Offsets::One(of(offsets, places)),
            Offsets::Two(offsets) => Offsets::Two(of(offsets, places)),
            Offsets::Four(offsets) => Offsets::Four(of(offsets, places)),
            Offsets::Eight(words) => Offsets::Eight(of(words, places)),
        };
        Self::with(self.base, offsets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_as_wide_as_those_of_rows_that_have_one() {
        let widths: [(&[i64], usize); 9] = [
            (&[], 0),
            (&[i64::MIN; 3], 0),
            (&[7, 262, 8], 1),
            (&[i64::MAX - 255, i64::MAX], 1),
            (&[-1, 255], 2),
            (&[0x7FFF, -0x8000], 2),
            (&[0, 0x1_0000], 4),
            (&[i64::MIN, i64::MIN + 0xFFFF_FFFF], 4),
            (&[i64::MIN, i64::MAX, 0], 8),
        ];
        // Beside each, a row whose word does not count.
        for (other, (values, width)) in [0, i64::MIN, i64::MAX]
            .into_iter()
            .flat_map(|other| widths.map(|case| (other, case)))
        {
            let all: Vec<i64> = values.iter().flat_map(|&value| [value, other]).collect();
            let words = Words::new(all.clone(), |row| row % 2 == 0);
            assert_eq!(words.offsets().len(), all.len() * width, "{values:?}");
            let offsets = Buffer::from_vec(words.offsets().to_vec());
            let (of, new) = (Words::of(values), Words::new(values.to_vec(), |_| true));
            assert_eq!((of.base, of.offsets()), (new.base, new.offsets()), "{values:?}");
            let moved: Vec<u32> = (0..all.len() as u32).rev().chain([u32::MAX]).collect();
            let taken = words.take(&moved);
            let held: Vec<u32> = (0..values.len() as u32).map(|i| 2 * i).collect();
            for (least, greatest) in [
                (7, 261),
                (i64::MIN, -1),
                (0, i64::MAX),
                (i64::MIN, i64::MAX),
                (8, 7),
                (0, 0),
            ] {
                for inside in [true, false] {
                    let found = words.select(&held, least..=greatest, inside);
                    let within = |row: &&u32| (least..=greatest).contains(&all[**row as usize]) == inside;
                    let expected: Vec<u32> = held.iter().filter(within).copied().collect();
                    assert_eq!(found, expected, "{values:?} in {least}..={greatest}");
                }
            }
            let held_words: Vec<i64> = (0..all.len()).map(|row| words.get(row)).collect();
            for (min, max) in [(i64::MIN, i64::MAX), (0, i64::MAX), (7, 262), (i64::MIN, -1)] {
                let expected = held_words.iter().all(|word| (min..=max).contains(word));
                assert!(words.are_within(min, max) == expected || all.is_empty(), "{values:?}");
            }
            let mut set = Integers::new(-1, 9);
            (-1..8).step_by(2).for_each(|odd| set.add(odd));
            let every: Vec<u32> = (0..all.len() as u32).collect();
            let found = words.places_in_among(&every, &set);
            let found = found.into_iter().filter(|place| place % 2 == 0);
            let expected = (0..values.len()).filter(|&i| [-1, 1, 3, 5, 7].contains(&values[i]));
            assert!(found.eq(expected.map(|i| 2 * i as u32)), "{values:?}");
            for (i, &value) in values.iter().enumerate() {
                let row = 2 * i;
                let rows = [row as u32; 2];
                assert_eq!(words.get(row), value);
                assert_eq!(words.slice(row..all.len())[0], value);
                assert_eq!(words.gather(&rows), [value; 2]);
                assert_eq!(taken.get(all.len() - 1 - row), value);
                assert!(width == 8 || values.contains(&words.get(row + 1)));
            }
            if width <= 1 {
                let read = Words::of_offsets(words.base, offsets.clone(), all.len());
                let read = read.expect("of so many rows");
                assert_eq!(read.slice(0..all.len()), words.slice(0..all.len()));
                assert!(width == 0 || Words::of_offsets(words.base, offsets, all.len() + 1).is_none());
            }
        }
    }

    proptest! {
        /// Words of each width, and sets before, behind and among them, with and without a table.
        #[test]
        fn what_a_set_has_is_found(
            base in prop_oneof![Just(i64::MIN), Just(-7), Just(i64::MAX - 0xFFFF), Just(i64::MAX - 0xFF), any::<i64>()],
            width in 0..5u32,
            offsets in proptest::collection::vec(any::<u64>(), 1..300),
            times in prop_oneof![Just(1), Just(40)],
            keys in proptest::collection::vec((any::<proptest::sample::Index>(), -2..3i64), 1..100),
            (far, away) in (-200_000..200_000i64, prop_oneof![Just(0), -200_000..200_000i64]),
            start in any::<proptest::sample::Index>(),
        ) {
            let span = [0, 0xFF, 0xFFFF, 0xFFFF_FFFF, u64::MAX][width as usize];
            let word = |&offset: &u64| base.saturating_add_unsigned(offset & span);
            let words: Vec<i64> = offsets.iter().map(word).collect::<Vec<i64>>().repeat(times);
            let held = Words::of(&words);
            let near = |(at, by): (proptest::sample::Index, i64)| at.get(&words).saturating_add(by).saturating_add(away);
            let mut keys: Vec<i64> = keys.into_iter().map(near).collect();
            let first = keys[0].saturating_add(far).min(keys[0]);
            keys.retain(|&key| (first..=first.saturating_add(far.abs() + 100_000)).contains(&key));
            let mut set = Integers::new(first, keys.iter().max().map_or(1, |last| (last - first) as usize + 1));
            keys.iter().for_each(|&key| set.add(key));
            let found = |rows: &[u32]| -> Vec<u32> {
                let is_key = |place: &u32| keys.contains(&words[rows[*place as usize] as usize]);
                (0..rows.len() as u32).filter(is_key).collect()
            };
            let all: Vec<u32> = (0..words.len() as u32).collect();
            let start = start.index(words.len());
            let but = |every: u32| -> Vec<u32> {
                all.iter().copied().filter(|row| row % every != 1).collect()
            };
            let few: Vec<u32> = all.iter().copied().step_by(5).collect();
            // Consecutive ones, most, and few.
            for rows in [&all, &all[start..], &but(3), &but(7), &few] {
                let found = found(rows);
                prop_assert_eq!(&held.places_in_among(rows, &set), &found);
                let found: Vec<u32> = found.iter().map(|&place| rows[place as usize]).collect();
                prop_assert_eq!(&held.rows_in(rows, &set), &found);
            }
        }
    }
}
