//! The first row of each group in an order, as DISTINCT ON asks for it.
//!
//! Of a batch the first row of each group is found by comparing its rows with one another: the first key's values are
//! made numbers that have their order, where that is easy. Only those rows are compared with what is kept.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::collation::Collation;
use crate::error::Result;
use crate::group::Grouping;
use crate::order::{SortKey, Value, ordered};
use crate::table::NONE;
use crate::vector::{Type, Vector};

/// The first row of each group so far, with where it is.
#[derive(Debug)]
pub struct TopOfEach<P> {
    groups: Vec<Type>,
    keys: Vec<SortKey>,
    /// Whether there are further keys, which somebody else looks at: then all rows stay that are equal by these.
    ties: bool,
    grouping: Grouping,
    /// Of each group, by its number; none is None between batches.
    kept: Vec<Option<Kept<P>>>,
    /// As many values as there are keys for each group, of its first row.
    values: Vec<Value>,
    /// Further rows that are equal to the first of their group: which that is; some are of a row that was first before.
    equal: Vec<(u32, P)>,
    /// How many there may be before those are let go of.
    room: usize,
    /// Of what values have on the heap.
    bytes: usize,
    scratch: Scratch,
}

#[derive(Debug)]
struct Kept<P> {
    at: P,
    /// Of the rows in `equal`, those from here are equal to it.
    since: usize,
}

/// Of one batch.
#[derive(Debug, Default)]
struct Scratch {
    /// The group of each row.
    groups: Vec<u32>,
    /// Of each group the first row so far, or [`NONE`].
    first: Vec<u32>,
    /// The groups that have one.
    met: Vec<u32>,
}

/// Rows that are kept at least before those are let go of that are not needed.
const FEWEST: usize = 1024;

/// Keys of a batch, as numbers where that is easy.
struct Keys<'a> {
    keys: &'a [SortKey],
    vectors: &'a [Vector<'a>],
    /// The first key's: the lower, the better.
    ranks: Option<Cow<'a, [i64]>>,
    collation: &'a dyn Collation,
}

impl<'a> Keys<'a> {
    fn new(keys: &'a [SortKey], vectors: &'a [Vector<'a>], collation: &'a dyn Collation) -> Self {
        let first = keys.first().zip(vectors.first());
        Self {
            keys,
            vectors,
            ranks: first.and_then(|(key, vector)| ranks(key, vector, collation)),
            collation,
        }
    }

    /// The place of a row of the batch before or behind another.
    #[inline]
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let skip = match &self.ranks {
            Some(ranks) => match ranks[a as usize].cmp(&ranks[b as usize]) {
                Ordering::Equal => 1,
                order => return order,
            },
            None => 0,
        };
        self.further(skip, a, b)
    }

    fn further(&self, skip: usize, a: u32, b: u32) -> Ordering {
        let mut all = self.keys.iter().zip(self.vectors).enumerate().skip(skip);
        let (a, b) = (a as usize, b as usize);
        let found = all.find_map(|(number, (key, vector))| {
            let order = key.rows(number, vector, a, b, self.collation);
            order.is_ne().then_some(order)
        });
        found.unwrap_or(Ordering::Equal)
    }

    /// The place of a row before or behind values that are kept.
    fn place(&self, row: u32, kept: &[Value]) -> Ordering {
        let mut all = self.keys.iter().zip(self.vectors).zip(kept).enumerate();
        let found = all.find_map(|(number, ((key, vector), kept))| {
            let order = key.place(number, vector, row as usize, kept, self.collation);
            order.is_ne().then_some(order)
        });
        found.unwrap_or(Ordering::Equal)
    }
}

/// Numbers in the order of a key's values, the first of them lowest; None where they are not easy to have.
fn ranks<'a>(key: &SortKey, vector: &'a Vector<'_>, collation: &dyn Collation) -> Option<Cow<'a, [i64]>> {
    let words = &*vector.words;
    let mut ranks = match vector.ty {
        Type::Bool | Type::Int if !key.descending && vector.valid.is_none() => return Some(Cow::Borrowed(words)),
        Type::Bool | Type::Int => words.to_vec(),
        Type::Float => words.iter().map(|&word| ordered(word)).collect(),
        Type::Text => {
            let strings = vector.strings.as_ref()?;
            // Sorting them takes some twenty looks at each.
            if !vector.dictionary || strings.len() > vector.len() / 16 {
                return None;
            }
            let of_code = ranks_of_strings(strings.len(), |a, b| {
                collation.compare(0, strings.get(a), strings.get(b))
            });
            // A NULL's word may be anything.
            let rank = |&word: &i64| of_code.get(word as usize).copied().unwrap_or(0);
            words.iter().map(rank).collect()
        }
        Type::Numeric => return None,
    };
    if key.descending {
        ranks.iter_mut().for_each(|rank| *rank = !*rank);
    }
    if let Some(valid) = &vector.valid {
        let null = if key.nulls_first { i64::MIN } else { i64::MAX };
        for (rank, &valid) in ranks.iter_mut().zip(&**valid) {
            match valid {
                true if *rank == null => return None,
                true => {}
                false => *rank = null,
            }
        }
    }
    Some(Cow::Owned(ranks))
}

/// Of strings that are compared by their numbers; equal ones have the same.
fn ranks_of_strings(strings: usize, compare: impl Fn(usize, usize) -> Ordering) -> Vec<i64> {
    let mut sorted: Vec<usize> = (0..strings).collect();
    sorted.sort_unstable_by(|&a, &b| compare(a, b));
    let mut ranks = vec![0; strings];
    let mut rank = 0;
    for pair in sorted.windows(2) {
        rank += i64::from(compare(pair[0], pair[1]).is_ne());
        ranks[pair[1]] = rank;
    }
    ranks
}

impl<P: Copy> TopOfEach<P> {
    /// Of groups by keys of these types; with all rows that are equal to the first one if `ties`. Without sort keys the
    /// first row is the one that is added first.
    pub fn new(groups: Vec<Type>, keys: Vec<SortKey>, ties: bool) -> Self {
        Self {
            grouping: Grouping::new(&groups),
            groups,
            keys,
            ties,
            kept: Vec::new(),
            values: Vec::new(),
            equal: Vec::new(),
            room: FEWEST,
            bytes: 0,
            scratch: Scratch::default(),
        }
    }

    /// Adds rows, given a vector for each key of the groups, then one for each sort key; `at` says where a row is.
    ///
    /// # Errors
    /// Those of [`Grouping::assign`].
    pub fn add(
        &mut self,
        vectors: &[Vector<'_>],
        rows: usize,
        collation: &dyn Collation,
        at: impl Fn(usize) -> P,
    ) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let (groups, vectors) = vectors.split_at(self.groups.len());
        let added = self.grouping.assign(groups, rows, &mut scratch.groups);
        if added.is_ok() {
            self.add_grouped(&mut scratch, vectors, collation, at);
        }
        self.scratch = scratch;
        added
    }

    fn add_grouped(
        &mut self,
        scratch: &mut Scratch,
        vectors: &[Vector<'_>],
        collation: &dyn Collation,
        at: impl Fn(usize) -> P,
    ) {
        let sort = std::mem::take(&mut self.keys);
        let keys = Keys::new(&sort, vectors, collation);
        let Scratch { groups, first, met } = scratch;
        first.resize(self.grouping.len().max(first.len()), NONE);
        for (row, &group) in groups.iter().enumerate() {
            let (row, first) = (row as u32, &mut first[group as usize]);
            if *first == NONE {
                met.push(group);
                *first = row;
            } else if keys.compare(row, *first).is_lt() {
                *first = row;
            }
        }
        self.kept.resize_with(self.grouping.len(), || None);
        self.values.resize(self.grouping.len() * sort.len(), Value::Null);
        for &group in &*met {
            let row = &mut first[group as usize];
            if self.keep(group as usize, *row, &keys, &at).is_gt() {
                *row = NONE;
            }
        }
        if self.ties {
            for (row, &group) in groups.iter().enumerate() {
                let best = first[group as usize];
                if best != NONE && best != row as u32 && keys.compare(row as u32, best).is_eq() {
                    self.equal.push((group, at(row)));
                }
            }
            self.let_go();
        }
        for group in met.drain(..) {
            first[group as usize] = NONE;
        }
        self.keys = sort;
    }

    /// Keeps a row of a batch if it is before what is kept of its group, or beside it; its place.
    fn keep(&mut self, group: usize, row: u32, keys: &Keys<'_>, at: &impl Fn(usize) -> P) -> Ordering {
        let at = at(row as usize);
        let width = keys.keys.len();
        let values = &mut self.values[group * width..(group + 1) * width];
        let order = match &self.kept[group] {
            Some(_) => keys.place(row, values),
            None => Ordering::Less,
        };
        match order {
            Ordering::Less => {
                let since = self.equal.len();
                self.kept[group] = Some(Kept { at, since });
                for (kept, vector) in values.iter_mut().zip(keys.vectors) {
                    self.bytes -= kept.heap_bytes();
                    *kept = Value::of(vector, row as usize);
                    self.bytes += kept.heap_bytes();
                }
            }
            Ordering::Equal if self.ties => self.equal.push((group as u32, at)),
            _ => {}
        }
        order
    }

    fn since(&self, group: u32) -> usize {
        self.kept[group as usize].as_ref().map_or(0, |kept| kept.since)
    }

    /// Lets go of rows that are equal to none of the first, once they may be many.
    fn let_go(&mut self) {
        if self.equal.len() < self.room {
            return;
        }
        let equal = std::mem::take(&mut self.equal).into_iter().enumerate();
        let needed = equal.filter(|&(number, (group, _))| number >= self.since(group));
        self.equal = needed.map(|(_, equal)| equal).collect();
        for kept in self.kept.iter_mut().flatten() {
            kept.since = 0;
        }
        self.room = (self.equal.len() * 2).max(FEWEST);
    }

    /// How many rows are kept, at most.
    pub fn len(&self) -> usize {
        self.kept.len() + self.equal.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Of what is kept; what there is for a batch is not counted.
    pub fn bytes_used(&self) -> usize {
        let values = self.values.len() * size_of::<Value>() + self.bytes;
        let places = self.kept.len() * size_of::<Option<Kept<P>>>() + self.equal.len() * size_of::<(u32, P)>();
        self.grouping.bytes_used() + values + places
    }

    /// Where the rows are that are kept.
    pub fn places(&self) -> impl Iterator<Item = P> {
        let kept = self.kept.iter().flatten().map(|kept| kept.at);
        let equal = self.equal.iter().enumerate();
        let equal = equal.filter(|&(number, &(group, _))| number >= self.since(group));
        kept.chain(equal.map(|(_, &(_, at))| at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Bytewise;
    use crate::top::tests::{FLOATS, all_keys, numbers, vector};
    use crate::vector::Scalar;
    use std::slice::from_ref;

    /// Rows of vectors added in pieces, and what is in use after them.
    fn found(
        groups: &[Vector<'_>],
        sort: &[SortKey],
        ties: bool,
        keys: &[Vector<'_>],
        piece: usize,
    ) -> (Vec<usize>, usize) {
        let types = groups.iter().map(|vector| vector.ty).collect();
        let mut top = TopOfEach::new(types, sort.to_vec(), ties);
        let rows = groups[0].len();
        for from in (0..rows).step_by(piece) {
            let places: Vec<u32> = (from..rows.min(from + piece)).map(|i| i as u32).collect();
            let all = groups.iter().chain(keys);
            let pieces: Vec<Vector<'_>> = all.map(|vector| vector.pick(&places)).collect();
            let added = top.add(&pieces, places.len(), &Bytewise, |i| from + i);
            added.expect("there is room");
        }
        let mut found: Vec<usize> = top.places().collect();
        found.sort_unstable();
        (found, top.bytes_used())
    }

    /// The same by looking at each pair: all rows that are before no other of their group.
    fn firsts(groups: &[Vector<'_>], sort: &[SortKey], keys: &[Vector<'_>]) -> Vec<Vec<usize>> {
        let same = |a: usize, b: usize| {
            groups.iter().all(|vector| {
                let key = SortKey {
                    ty: vector.ty,
                    descending: false,
                    nulls_first: false,
                };
                key.rows(0, vector, a, b, &Bytewise).is_eq()
            })
        };
        let order = |a: usize, b: usize| {
            let mut all = sort.iter().zip(keys);
            let found = all.find_map(|(key, vector)| {
                let kept = Value::of(vector, b);
                let order = key.values(0, &Value::of(vector, a), &kept, &Bytewise);
                order.is_ne().then_some(order)
            });
            found.unwrap_or(Ordering::Equal)
        };
        let mut sets: Vec<Vec<usize>> = Vec::new();
        for row in 0..groups[0].len() {
            match sets.iter_mut().find(|set| same(set[0], row)) {
                None => sets.push(vec![row]),
                Some(set) => match order(row, set[0]) {
                    Ordering::Less => *set = vec![row],
                    Ordering::Equal => set.push(row),
                    Ordering::Greater => {}
                },
            }
        }
        sets
    }

    fn check(groups: &[Vector<'_>], sort: &[SortKey], keys: &[Vector<'_>]) {
        let sets = firsts(groups, sort, keys);
        let mut all: Vec<usize> = sets.iter().flatten().copied().collect();
        all.sort_unstable();
        for piece in [1, 7, 40, 1000] {
            let (with_ties, bytes) = found(groups, sort, true, keys, piece);
            assert_eq!(with_ties, all, "{sort:?} {piece}");
            assert!(bytes >= all.len() * size_of::<usize>());
            let (single, _) = found(groups, sort, false, keys, piece);
            assert_eq!(single.len(), sets.len(), "{sort:?} {piece}");
            for set in &sets {
                let one = single.iter().filter(|row| set.contains(row)).count();
                assert_eq!(one, 1, "{sort:?} {piece} {set:?}");
            }
        }
    }

    /// Values some of which are NULL.
    fn some<'a>(picks: &[i64], value: impl Fn(usize) -> Scalar<'a>) -> Vec<Scalar<'a>> {
        let values = picks.iter().map(|&n| match n % 11 {
            0 => Scalar::Null,
            _ => value(n as usize),
        });
        values.collect()
    }

    #[test]
    fn words_of_groups() {
        let picks = numbers(400, 1000);
        let groups = vector(Type::Int, &some(&picks, |n| Scalar::Int(n as i64 % 13)));
        let few = vector(Type::Int, &some(&numbers(400, 30), |n| Scalar::Int(n as i64)));
        let alone = vector(Type::Int, &(0..400).map(Scalar::Int).collect::<Vec<_>>());
        let flags = vector(Type::Bool, &some(&picks, |n| Scalar::Bool(n % 3 == 0)));
        check(from_ref(&groups), &[], &[]);
        for key in all_keys(Type::Int) {
            let flag = SortKey { ty: Type::Bool, ..key };
            check(from_ref(&groups), &[key], from_ref(&few));
            check(from_ref(&groups), &[key], from_ref(&alone));
            check(
                &[flags.clone(), groups.clone()],
                &[key, key],
                &[few.clone(), alone.clone()],
            );
            check(from_ref(&flags), &[flag, key], &[flags.clone(), few.clone()]);
            check(from_ref(&alone), &[key], from_ref(&few));
        }
    }

    #[test]
    fn numbers_at_the_ends_beside_nulls() {
        let picks = numbers(200, 1000);
        let ends = [i64::MIN, i64::MAX, i64::MIN + 1, i64::MAX - 1, 0];
        let values = vector(Type::Int, &some(&picks, |n| Scalar::Int(ends[n % 5])));
        let groups = vector(
            Type::Int,
            &picks.iter().map(|n| Scalar::Int(n % 40)).collect::<Vec<_>>(),
        );
        for key in all_keys(Type::Int) {
            check(from_ref(&groups), &[key], from_ref(&values));
        }
    }

    #[test]
    fn floats_texts_and_numerics() {
        let (picks, others) = (numbers(300, 1000), numbers(300, 977));
        let texts = ["", "a", "ab", "b", "B", "ä", "a longer one than the others"];
        let payloads: Vec<Vec<u8>> = ["NaN", "Infinity", "-Infinity", "1", "1.0", "0.1", "-1e30", "1e30", "0"]
            .iter()
            .map(|text| amax_jsonb::numeric::from_text(text).expect("a number"))
            .collect();
        let floats = |picks: &[i64]| vector(Type::Float, &some(picks, |n| Scalar::Float(FLOATS[n % 8])));
        let texts = |picks: &[i64]| vector(Type::Text, &some(picks, |n| Scalar::Text(texts[n % 7].as_bytes())));
        let numerics = |picks: &[i64]| vector(Type::Numeric, &some(picks, |n| Scalar::Numeric(&payloads[n % 9])));
        let codes = |picks: &[i64]| {
            let strings = ["b", "", "c", "unused"].into_iter().collect();
            Vector::of_codes(picks.iter().map(|n| n % 3).collect::<Vec<_>>(), strings)
        };
        for key in all_keys(Type::Text) {
            let [float, numeric] = [Type::Float, Type::Numeric].map(|ty| SortKey { ty, ..key });
            check(&[floats(&picks)], &[key], &[texts(&others)]);
            check(
                &[texts(&picks)],
                &[float, numeric],
                &[floats(&others), numerics(&picks)],
            );
            check(&[numerics(&picks), codes(&others)], &[key], &[codes(&picks)]);
            check(&[codes(&picks)], &[key, numeric], &[codes(&others), numerics(&others)]);
        }
    }

    #[test]
    fn rows_that_are_no_longer_equal_to_the_first_go() {
        // Each batch has an equal pair that is before all others.
        let group = Vector::of_words(Type::Int, vec![1, 1]);
        let key = SortKey {
            ty: Type::Int,
            descending: true,
            nulls_first: true,
        };
        let mut top = TopOfEach::new(vec![Type::Int], vec![key], true);
        for n in 0..10_000 {
            let keys = [group.clone(), Vector::of_words(Type::Int, vec![n, n])];
            top.add(&keys, 2, &Bytewise, |i| (n, i)).expect("there is room");
        }
        assert_eq!(top.places().collect::<Vec<_>>(), [(9_999, 0), (9_999, 1)]);
        assert!(top.bytes_used() < 100_000, "{}", top.bytes_used());
    }
}
