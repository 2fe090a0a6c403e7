//! Which rows can have a match in a join: the keys of its other side as a set, which may hold more than it was given.

use crate::evaluated::{Evaluated, select};
use crate::store::{Store, Strings, Words};
use crate::vector::{Type, Vector};
use amax_format::Integers;

/// A set of keys that are equal bytewise. It contains every key it was made of, and perhaps others.
#[derive(Clone, Debug)]
pub struct KeySet {
    ty: Type,
    set: Set,
}

#[derive(Clone, Debug)]
enum Set {
    Range(Integers),
    /// A Bloom filter: two bits of the one word that a hash leads to.
    Bloom {
        words: Vec<u64>,
        shift: u32,
    },
}

/// Bits that a key may take.
const BITS: usize = 64;

/// Where a hash leads to among 2^(64 - shift) words, and its bits there.
#[inline]
fn place(hash: u64, shift: u32) -> (usize, u64) {
    let at = hash.checked_shr(shift).unwrap_or(0);
    (at as usize, 1 << (hash & 63) | 1 << (hash >> 6 & 63))
}

impl Set {
    fn range(keys: &[i64]) -> Option<Self> {
        let (&first, &last) = (keys.iter().min()?, keys.iter().max()?);
        let places = usize::try_from(last.checked_sub(first)?).ok()?.checked_add(1)?;
        if places / 64 >= (keys.len() * BITS / 64).max(1024) {
            return None;
        }
        let mut integers = Integers::new(first, places);
        keys.iter().for_each(|&key| integers.add(key));
        Some(Self::Range(integers))
    }

    fn bloom(keys: usize, hashes: impl Iterator<Item = u64>) -> Self {
        let words = (keys / 4).next_power_of_two();
        let shift = 64 - words.trailing_zeros();
        let mut words = vec![0; words];
        for hash in hashes {
            let (at, bits) = place(hash, shift);
            words[at] |= bits;
        }
        Self::Bloom { words, shift }
    }

    #[inline]
    fn has_hash(&self, hash: u64) -> bool {
        let Self::Bloom { words, shift } = self else {
            unreachable!("a range has no hashes");
        };
        let (at, bits) = place(hash, *shift);
        words[at] & bits == bits
    }
}

impl KeySet {
    /// The set of a vector's values; NULL is equal to nothing. None if it is not of integers or text.
    pub fn new(keys: &Vector<'_>) -> Option<Self> {
        let valid = || (0..keys.len()).filter(|&i| keys.is_valid(i));
        let set = match keys.ty {
            Type::Int => {
                let words: Vec<i64> = valid().map(|i| keys.words[i]).collect();
                let hashes = words.iter().map(|&word| Words::hash(word));
                Set::range(&words).unwrap_or_else(|| Set::bloom(words.len(), hashes))
            }
            Type::Text => {
                let hashes = valid().map(|i| Strings::hash(keys.string(i)));
                Set::bloom(keys.len(), hashes)
            }
            Type::Bool | Type::Float | Type::Numeric => return None,
        };
        Some(Self { ty: keys.ty, set })
    }

    /// Of `rows`, ascending, none of them twice, those whose key, an integer in a column as it is held, may be in the set; None if that has to be found
    /// another way.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn select_words(&self, words: &amax_format::Words, rows: &[u32]) -> Option<Vec<u32>> {
        let Set::Range(integers) = &self.set else {
            return None;
        };
        Some(words.rows_in(rows, integers))
    }

    /// Of `rows`, for which a key has been evaluated, those whose key may be in the set, and those that are unsure.
    ///
    /// # Panics
    /// If the key is of another type.
    pub fn select(&self, found: &Evaluated<'_>, rows: &[u32]) -> Vec<u32> {
        let keys = &found.vector;
        assert_eq!(keys.ty, self.ty, "keys of one type");
        match (&self.set, self.ty) {
            (Set::Range(integers), _) => {
                let has = integers.has();
                keep(found, rows, move |i| has(keys.words[i]))
            }
            (set, Type::Int) => keep(found, rows, |i| set.has_hash(Words::hash(keys.words[i]))),
            (set, _) => match &keys.strings {
                Some(strings) if keys.dictionary && strings.len() <= rows.len() => {
                    let has = |code| set.has_hash(Strings::hash(strings.get(code)));
                    let has: Vec<bool> = (0..strings.len()).map(has).collect();
                    keep(found, rows, |i| has[keys.words[i] as usize])
                }
                _ => keep(found, rows, |i| set.has_hash(Strings::hash(keys.string(i)))),
            },
        }
    }
}

/// The rows that are unsure, or not NULL and for which `has` holds.
fn keep(found: &Evaluated<'_>, rows: &[u32], has: impl Fn(usize) -> bool) -> Vec<u32> {
    match &found.vector.valid {
        None if found.unsure.is_empty() => select(rows, |i, _| has(i)),
        Some(valid) if found.unsure.is_empty() => select(rows, |i, _| valid[i] && has(i)),
        _ => {
            let mut unsure = vec![false; rows.len()];
            found.unsure.iter().for_each(|&i| unsure[i as usize] = true);
            select(rows, |i, _| unsure[i] || found.vector.is_valid(i) && has(i))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::VectorBuilder;
    use amax_format::Dense;
    use proptest::prelude::*;

    fn ints(keys: &[Option<i64>]) -> Vector<'static> {
        let mut builder = VectorBuilder::new(Type::Int);
        for key in keys {
            match key {
                Some(key) => builder.push_word(*key),
                None => builder.push_null(),
            }
        }
        builder.finish()
    }

    fn texts(keys: &[Option<i64>]) -> Vector<'static> {
        let mut builder = VectorBuilder::new(Type::Text);
        for key in keys {
            match key {
                Some(key) => builder.push_text(key.to_string().as_bytes()),
                None => builder.push_null(),
            }
        }
        builder.finish()
    }

    fn selected(set: &KeySet, vector: Vector<'static>, unsure: Vec<u32>) -> Vec<u32> {
        let rows: Vec<u32> = (0..vector.len() as u32).map(|row| row * 2).collect();
        set.select(&Evaluated { vector, unsure }, &rows)
    }

    #[test]
    fn integers_close_together_are_told_exactly() {
        let set = KeySet::new(&ints(&[Some(-3), None, Some(70), Some(-3)])).expect("integers");
        let asked = ints(&[
            Some(-3),
            Some(-4),
            None,
            Some(69),
            Some(70),
            Some(71),
            Some(i64::MIN),
            Some(i64::MAX),
        ]);
        assert_eq!(selected(&set, asked, vec![3]), [0, 6, 8]);
    }

    #[test]
    fn bloom_filters_leave_most_others_out() {
        let keys: Vec<Option<i64>> = (0..10_000).map(|i| Some(i << 40)).collect();
        let others: Vec<Option<i64>> = (0..10_000).map(|i| Some((i << 40) + 1)).collect();
        for make in [ints, texts] {
            let set = KeySet::new(&make(&keys)).expect("keys");
            assert_eq!(selected(&set, make(&keys), Vec::new()).len(), 10_000);
            let wrong = selected(&set, make(&others), Vec::new()).len();
            assert!(wrong < 500, "{wrong} of 10000");
        }
    }

    #[test]
    fn no_key_has_no_match() {
        for make in [ints, texts] {
            let set = KeySet::new(&make(&[None])).expect("keys");
            let asked = make(&[Some(0), None, Some(i64::MAX)]);
            assert!(selected(&set, asked, Vec::new()).is_empty());
        }
    }

    proptest! {
        #[test]
        fn a_column_gives_what_its_values_give(
            keys in proptest::collection::vec(any::<i64>(), 1..200),
            asked in proptest::collection::vec((any::<i64>(), any::<bool>()), 1..300),
            width in 49u32..64,
        ) {
            let keys: Vec<Option<i64>> = keys.iter().map(|key| Some(key >> width)).collect();
            let set = KeySet::new(&ints(&keys)).expect("keys");
            let column = Dense::ints(asked.iter().map(|asked| Some(asked.0 >> width)));
            let words = column.words();
            let all: Vec<u32> = (0..asked.len() as u32).collect();
            let some: Vec<u32> = all.iter().copied().filter(|&row| asked[row as usize].1).collect();
            for rows in [&all, &all[all.len() / 2..], &some] {
                let values = ints(&rows.iter().map(|&row| Some(asked[row as usize].0 >> width)).collect::<Vec<_>>());
                let expected = set.select(&Evaluated { vector: values, unsure: Vec::new() }, rows);
                prop_assert_eq!(set.select_words(words, rows).expect("a range"), expected);
            }
        }

        #[test]
        fn every_key_is_found(
            keys in proptest::collection::vec(proptest::option::of(any::<i64>()), 0..200),
            width in 0u32..64,
        ) {
            let keys: Vec<Option<i64>> = keys.iter().map(|key| key.map(|key| key >> width)).collect();
            let valid = |i: &u32| keys[*i as usize / 2].is_some();
            let expected: Vec<u32> = (0..keys.len() as u32).map(|i| i * 2).filter(valid).collect();
            for make in [ints, texts] {
                let set = KeySet::new(&make(&keys)).expect("keys");
                prop_assert_eq!(selected(&set, make(&keys), Vec::new()), expected.clone());
            }
        }
    }
}
