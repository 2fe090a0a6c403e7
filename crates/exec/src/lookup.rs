//! The rows of one side of an equi-join, found by their keys.

use crate::error::Result;
use crate::matches::Matches;
use crate::store::hash_rows;
use crate::table::{Keys, NONE, Table};
use crate::vector::{Type, Vector, View};
use amax_format::{Integers, Words, places_that};

/// Rows by their keys, of integers or text. A row with a NULL among its keys is not found.
#[derive(Debug)]
pub struct Lookup {
    keys: Vec<Vector<'static>>,
    by: By,
    /// Rows with the same key, one behind the other; where those of each number begin, and the end. Without them a key's number is
    /// the row that has it.
    same: Option<(Vec<u32>, Vec<u32>)>,
}

#[derive(Debug)]
enum By {
    /// The integers, and the number of each by its place among them.
    Span { integers: Integers, numbers: Vec<u32> },
    /// Numbers of keys, and the first row of each.
    Hash { table: Table, rows: Vec<u32> },
}

/// A span of integers may have so many places for each key, or this many in all.
const SPAN: (usize, usize) = (64, 1 << 20);

/// Whether row `a` has the keys that row `b` of another side has; none is NULL.
#[inline]
fn same(left: &[View<'_>], a: usize, right: &[View<'_>], b: usize) -> bool {
    left.iter().zip(right).all(|(left, right)| match left.ty {
        Type::Text => left.string(a) == right.string(b),
        _ => left.words[a] == right.words[b],
    })
}

fn has_null(keys: &[View<'_>], row: usize) -> bool {
    keys.iter().any(|key| !key.is_valid(row))
}

/// Keys that are being numbered.
struct Numbering<'a> {
    keys: &'a [View<'a>],
    rows: Vec<u32>,
}

impl Keys for Numbering<'_> {
    fn hash(&self, row: u32) -> u64 {
        hash_rows(self.keys, row as usize)
    }

    fn touch(&self, number: u32) -> u32 {
        self.rows[number as usize]
    }

    fn equal(&self, number: u32, row: u32) -> bool {
        same(self.keys, self.rows[number as usize] as usize, self.keys, row as usize)
    }

    fn push(&mut self, row: u32) -> Result<()> {
        self.rows.push(row);
        Ok(())
    }
}

impl Lookup {
    /// Of so many rows with these keys, integers or text.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit), and if memory is short.
    pub fn new(keys: Vec<Vector<'static>>, rows: usize) -> Result<Self> {
        let views: Vec<View<'_>> = keys.iter().map(Vector::view).collect();
        let found: Vec<u32> = (0..rows as u32)
            .filter(|&row| !has_null(&views, row as usize))
            .collect();
        let (by, number_of, count) = match span(&views, &found) {
            Some(span) => span,
            None => hash(&views, &found)?,
        };
        let same = (count < found.len()).then(|| grouped(&found, &number_of, count));
        let mut by = by;
        if same.is_none() {
            // Numbers are given in the order of rows.
            match &mut by {
                By::Span { numbers, .. } => {
                    let numbers = numbers.iter_mut().filter(|number| **number != NONE);
                    numbers.for_each(|number| *number = found[*number as usize]);
                }
                By::Hash { .. } => {}
            }
        }
        drop(views);
        Ok(Self { keys, by, same })
    }

    /// Of integers of a span, so many from the first one on, none of which leads to a row.
    ///
    /// # Errors
    /// If memory is short.
    pub fn of_span(first: i64, places: usize) -> Result<Self> {
        amax_memory::ask(places * size_of::<u32>(), "rows by integers")?;
        let (integers, numbers) = (Integers::new(first, places), vec![NONE; places]);
        Ok(Self {
            keys: vec![Vector::of_words(Type::Int, Vec::new())],
            by: By::Span { integers, numbers },
            same: None,
        })
    }

    /// Has one of them lead to a row. Several may lead to the same.
    ///
    /// # Panics
    /// If it is none of a span's.
    pub fn lead(&mut self, word: i64, row: u32) {
        let By::Span { integers, numbers } = &mut self.by else {
            panic!("it is of a span");
        };
        integers.add(word);
        numbers[integers.place(word)] = row;
    }

    /// Whether no key is there twice.
    pub fn is_unique(&self) -> bool {
        self.same.is_none()
    }

    /// Whether keys are integers that are close together, which are found at once.
    pub fn is_span(&self) -> bool {
        matches!(self.by, By::Span { .. })
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        let by = match &self.by {
            By::Span { integers, numbers } => numbers.len() * 4 + integers.heap_bytes(),
            By::Hash { table, rows } => table.heap_bytes() + rows.len() * 4,
        };
        let same = self
            .same
            .as_ref()
            .map_or(0, |(rows, ends)| (rows.len() + ends.len()) * 4);
        by + same
    }

    /// The rows that have the keys of `n` rows.
    ///
    /// # Panics
    /// If keys are of other types.
    pub fn find(&self, keys: &[Vector<'_>], n: usize) -> Matches {
        self.matches(keys, n, usize::MAX)
    }

    /// One of them for each.
    ///
    /// # Panics
    /// As above.
    pub fn find_one(&self, keys: &[Vector<'_>], n: usize) -> Matches {
        self.matches(keys, n, 1)
    }

    /// The same of rows whose only key is an integer, from a column as it is held; None if they have to be found another way.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn find_words(&self, words: &Words, rows: &[u32], one: bool) -> Option<Matches> {
        let places = self.places_of_words(words, rows)?;
        let asked: Vec<u32> = places.iter().map(|&place| rows[place as usize]).collect();
        let found = self.numbers_of_words(words, &asked);
        Some(self.of_numbers(places, found, if one { 1 } else { usize::MAX }))
    }

    /// The places of those that find one.
    ///
    /// # Panics
    /// As above.
    pub fn places_of_words(&self, words: &Words, rows: &[u32]) -> Option<Vec<u32>> {
        match &self.by {
            By::Span { integers, .. } => Some(words.places_in_among(rows, integers)),
            By::Hash { .. } => None,
        }
    }

    /// What rows have found that are among those, where no key is there twice.
    ///
    /// # Panics
    /// If they have found none, or some have found more.
    pub fn found_by_words(&self, words: &Words, rows: &[u32]) -> Vec<u32> {
        assert!(self.is_unique(), "the number of a key is its row");
        self.numbers_of_words(words, rows)
    }

    fn numbers_of_words(&self, words: &Words, rows: &[u32]) -> Vec<u32> {
        let By::Span { integers, numbers } = &self.by else {
            unreachable!("they have been found by words");
        };
        let number = |&word: &i64| numbers[integers.place(word)];
        words.gather(rows).iter().map(number).collect()
    }

    fn matches(&self, keys: &[Vector<'_>], n: usize, most: usize) -> Matches {
        let views: Vec<View<'_>> = keys.iter().map(Vector::view).collect();
        assert!(
            views.iter().zip(&self.keys).all(|(view, key)| view.ty == key.ty),
            "keys of one type"
        );
        let (asked, numbers) = self.numbers(&views, n);
        self.of_numbers(asked, numbers, most)
    }

    /// Matches of rows that have found keys with these numbers.
    fn of_numbers(&self, asked: Vec<u32>, numbers: Vec<u32>, most: usize) -> Matches {
        let Some((rows, begins)) = &self.same else {
            return Matches { asked, found: numbers };
        };
        let mut matches = Matches::default();
        for (place, number) in asked.into_iter().zip(numbers) {
            let same = begins[number as usize] as usize..begins[number as usize + 1] as usize;
            for &row in rows[same].iter().take(most) {
                matches.asked.push(place);
                matches.found.push(row);
            }
        }
        matches
    }

    /// The places whose keys are there, and their numbers.
    fn numbers(&self, keys: &[View<'_>], n: usize) -> (Vec<u32>, Vec<u32>) {
        match (&self.by, keys) {
            (By::Span { integers, numbers }, [key]) => {
                let words = &key.words[..n];
                let has = integers.has();
                let mut places = places_that(n, move |place| has(words[place]));
                if key.valid.is_some() {
                    places.retain(|&place| key.is_valid(place as usize));
                }
                let number = |&place: &u32| numbers[integers.place(words[place as usize])];
                let found = places.iter().map(number).collect();
                (places, found)
            }
            (By::Hash { table, rows }, _) => {
                let own: Vec<View<'_>> = self.keys.iter().map(Vector::view).collect();
                let unique = self.same.is_none();
                let find = |place: usize| {
                    let hash = hash_rows(keys, place);
                    let number = table.find(hash, |number| same(&own, rows[number as usize] as usize, keys, place));
                    if unique && number != NONE {
                        rows[number as usize]
                    } else {
                        number
                    }
                };
                let (mut places, mut found) = (Vec::new(), Vec::new());
                let mut note = |place: usize, number: u32| {
                    if number != NONE {
                        places.push(place as u32);
                        found.push(number);
                    }
                };
                match keys {
                    // Once for each string that is there.
                    [key] if key.ty == Type::Text && key.dictionary && key.strings() <= n => {
                        let mut known = vec![None; key.strings()];
                        for place in (0..n).filter(|&place| key.is_valid(place)) {
                            note(
                                place,
                                *known[key.words[place] as usize].get_or_insert_with(|| find(place)),
                            );
                        }
                    }
                    _ => {
                        for place in (0..n).filter(|&place| !has_null(keys, place)) {
                            note(place, find(place));
                        }
                    }
                }
                (places, found)
            }
            (By::Span { .. }, _) => unreachable!("a span is of one key"),
        }
    }
}

/// A way to find keys, the number of each of some rows, and how many numbers there are.
type Numbered = (By, Vec<u32>, usize);

/// Integers that are close together.
fn span(keys: &[View<'_>], rows: &[u32]) -> Option<Numbered> {
    let [key] = keys else { return None };
    if key.ty == Type::Text {
        return None;
    }
    let words = || rows.iter().map(|&row| key.words[row as usize]);
    let (first, last) = (words().min().unwrap_or(0), words().max().unwrap_or(0));
    let places = usize::try_from(last.checked_sub(first)?).ok()?.checked_add(1)?;
    if places > (rows.len() * SPAN.0).max(SPAN.1) {
        return None;
    }
    let (mut integers, mut numbers) = (Integers::new(first, places), vec![NONE; places]);
    let (mut count, mut number_of) = (0, Vec::with_capacity(rows.len()));
    for word in words() {
        integers.add(word);
        let number = &mut numbers[integers.place(word)];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        number_of.push(*number);
    }
    Some((By::Span { integers, numbers }, number_of, count as usize))
}

fn hash(keys: &[View<'_>], rows: &[u32]) -> Result<Numbered> {
    let mut numbering = Numbering { keys, rows: Vec::new() };
    let mut table = Table::default();
    let all = rows.last().map_or(0, |&row| row as usize + 1);
    let mut numbers = vec![NONE; all];
    table.numbers(&mut numbering, rows, &mut numbers)?;
    let number_of = rows.iter().map(|&row| numbers[row as usize]).collect();
    let rows = numbering.rows;
    let count = rows.len();
    Ok((By::Hash { table, rows }, number_of, count))
}

/// Rows by their numbers, and where those of each begin.
fn grouped(rows: &[u32], number_of: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut begins = vec![0; count + 1];
    number_of.iter().for_each(|&number| begins[number as usize + 1] += 1);
    for number in 0..count {
        begins[number + 1] += begins[number];
    }
    let (mut next, mut grouped) = (begins.clone(), vec![0; rows.len()]);
    for (&row, &number) in rows.iter().zip(number_of) {
        let place: &mut u32 = &mut next[number as usize];
        grouped[*place as usize] = row;
        *place += 1;
    }
    (grouped, begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use amax_format::Dense;
    use proptest::prelude::*;

    type Key = Option<i64>;

    fn ints(keys: impl Iterator<Item = Key>) -> Vector<'static> {
        let mut builder = VectorBuilder::new(Type::Int);
        keys.for_each(|key| match key {
            Some(key) => builder.push_word(key),
            None => builder.push_null(),
        });
        builder.finish()
    }

    fn texts(keys: impl Iterator<Item = Key>) -> Vector<'static> {
        let mut builder = VectorBuilder::new(Type::Text);
        keys.for_each(|key| match key {
            Some(key) => builder.push_text(key.to_string().as_bytes()),
            None => builder.push_null(),
        });
        builder.finish()
    }

    /// With codes into distinct strings.
    fn codes(keys: impl Iterator<Item = Key>) -> Vector<'static> {
        let keys: Vec<Key> = keys.collect();
        let mut distinct: Vec<i64> = keys.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let code = |key: &Key| key.map_or(0, |key| distinct.binary_search(&key).expect("it is there") as i64);
        let strings = distinct.iter().map(i64::to_string).collect();
        Vector {
            valid: Some(keys.iter().map(Option::is_some).collect()),
            ..Vector::of_codes(keys.iter().map(code).collect::<Vec<i64>>(), strings)
        }
    }

    fn expected<const N: usize>(inner: &[[Key; N]], asked: &[[Key; N]]) -> Matches {
        let mut matches = Matches::default();
        for (place, key) in asked.iter().enumerate() {
            let rows = inner
                .iter()
                .enumerate()
                .filter(|(_, other)| key == *other && !key.contains(&None));
            for (row, _) in rows {
                matches.asked.push(place as u32);
                matches.found.push(row as u32);
            }
        }
        matches
    }

    fn key() -> impl Strategy<Value = Key> {
        prop_oneof![4 => (-9..9i64).prop_map(Some), 1 => Just(None), 1 => any::<i64>().prop_map(Some)]
    }

    proptest! {
        #[test]
        fn rows_with_the_same_keys_are_found(
            inner in proptest::collection::vec([key(), key()], 0..60),
            asked in proptest::collection::vec([key(), key()], 0..60),
            width in 0u32..64,
        ) {
            let narrow = |rows: &[[Key; 2]]| -> Vec<[Key; 2]> {
                rows.iter().map(|row| row.map(|key| key.map(|key| key >> width))).collect()
            };
            let (inner, asked) = (narrow(&inner), narrow(&asked));
            let column = |rows: &[[Key; 2]], at: usize| -> Vec<Key> { rows.iter().map(|row| row[at]).collect() };
            let first = |rows: &[[Key; 2]]| -> Vec<[Key; 1]> { rows.iter().map(|row| [row[0]]).collect() };
            let of = |make: fn(std::vec::IntoIter<Key>) -> Vector<'static>, rows: &[[Key; 2]], at| make(column(rows, at).into_iter());
            for (make, ask) in [(ints as fn(_) -> _, ints as fn(_) -> _), (texts, texts), (texts, codes), (codes, texts)] {
                let lookup = Lookup::new(vec![of(make, &inner, 0)], inner.len()).expect("memory");
                let keys = [of(ask, &asked, 0)];
                let found = lookup.find(&keys, asked.len());
                prop_assert_eq!(&found, &expected(&first(&inner), &first(&asked)));
                prop_assert_eq!(lookup.find_one(&keys, asked.len()), found.first_of_each());
            }
            // As a column has them.
            let lookup = Lookup::new(vec![of(ints, &inner, 0)], inner.len()).expect("memory");
            let held: Vec<[Key; 1]> = first(&asked).into_iter().filter(|key| key[0].is_some()).collect();
            let column = Dense::ints(held.iter().map(|key| key[0]));
            let all: Vec<u32> = (0..held.len() as u32).collect();
            let some: Vec<u32> = all.iter().copied().filter(|row| row % 3 > 0).collect();
            for rows in [&all[..], &all[held.len() / 2..], &some].into_iter().filter(|rows| !rows.is_empty()) {
                let keys: Vec<[Key; 1]> = rows.iter().map(|&row| held[row as usize]).collect();
                let expected = expected(&first(&inner), &keys);
                let Some(found) = lookup.find_words(column.words(), rows, false) else { continue };
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(lookup.find_words(column.words(), rows, true), Some(expected.first_of_each()));
                let places = lookup.places_of_words(column.words(), rows).expect("words");
                prop_assert_eq!(&places, &expected.first_of_each().asked);
                if lookup.is_unique() {
                    let asked: Vec<u32> = places.iter().map(|&place| rows[place as usize]).collect();
                    prop_assert_eq!(lookup.found_by_words(column.words(), &asked), found.found);
                }
            }
            let lookup = Lookup::new(vec![of(ints, &inner, 0), of(texts, &inner, 1)], inner.len()).expect("memory");
            let found = lookup.find(&[of(ints, &asked, 0), of(codes, &asked, 1)], asked.len());
            prop_assert_eq!(found, expected(&inner, &asked));
        }
    }

    #[test]
    fn keys_far_apart_and_none() {
        let far = [Some(i64::MIN), Some(0), Some(i64::MAX)];
        let lookup = Lookup::new(vec![ints(far.into_iter())], 3).expect("memory");
        assert!(lookup.is_unique());
        assert_eq!(lookup.find(&[ints(far.into_iter())], 3).found, [0, 1, 2]);
        let empty = Lookup::new(vec![ints([None].into_iter())], 1).expect("memory");
        assert_eq!(empty.find(&[ints([None, Some(0)].into_iter())], 2), Matches::default());
    }
}
