//! Grouping sets: the same rows, grouped several times, each time by some of the keys.
//!
//! A group's first key is the number of its set, and keys that its set does not have are NULL. So groups of all sets are in
//! one table, and whatever is done with groups, as passes and sending them, knows nothing of sets.

use crate::aggregator::Aggregator;
use crate::error::Result;
use crate::rows::Rows;
use crate::vector::{Type, Vector};

/// Which keys each set has.
#[derive(Clone, Debug)]
pub struct GroupingSets {
    keys: Vec<Type>,
    sets: Vec<Vec<bool>>,
}

impl GroupingSets {
    /// Of keys of these types; each set says of each key whether it has it.
    ///
    /// # Panics
    /// If a set is of other keys.
    pub fn new(keys: &[Type], sets: Vec<Vec<bool>>) -> Self {
        assert!(sets.iter().all(|set| set.len() == keys.len()), "sets of the keys");
        Self {
            keys: keys.to_vec(),
            sets,
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// The types of groups' keys: a set's number, then the keys.
    pub fn types(&self) -> Vec<Type> {
        std::iter::once(Type::Int).chain(self.keys.iter().copied()).collect()
    }

    /// The groups' keys of `n` rows with these values, for a set.
    fn keys<'a>(&self, set: usize, values: &'a [Vector<'_>], n: usize) -> Vec<Vector<'a>> {
        let number = Vector::of_words(Type::Int, vec![set as i64; n]);
        let keys = values.iter().zip(&self.sets[set]).map(|(values, &has)| match has {
            true => values.shared(),
            false => Vector::nulls(values.ty, n),
        });
        std::iter::once(number).chain(keys).collect()
    }

    /// Rows whose columns are keys and whatever else, as they are for a set.
    pub fn rows<'a>(&self, set: usize, rows: &'a Rows<'_>) -> Rows<'a> {
        let (keys, others) = rows.columns.split_at(self.keys.len());
        let mut columns = self.keys(set, keys, rows.len);
        columns.extend(others.iter().map(Vector::shared));
        let filters = rows.filters.iter();
        Rows {
            len: rows.len,
            columns,
            filters: filters.map(|filter| Some(filter.as_deref()?.into())).collect(),
        }
    }

    /// Adds groups by all keys, of the same aggregates, to those of each set.
    ///
    /// # Errors
    /// Any [`Error`](crate::Error); `into` is then of no use.
    pub fn roll_up(&self, groups: &Aggregator, into: &mut Aggregator) -> Result<()> {
        let grouping = groups.grouping();
        let values: Vec<Vector<'_>> = (0..self.keys.len()).map(|column| grouping.keys(column)).collect();
        (0..self.len()).try_for_each(|set| into.add_groups(groups, &self.keys(set, &values, grouping.len())))
    }

    /// Makes the groups that are there without any row: those of sets without a key.
    ///
    /// # Errors
    /// As above.
    pub fn begin(&self, aggregator: &mut Aggregator) -> Result<()> {
        let values: Vec<Vector<'_>> = self.keys.iter().map(|&key| Vector::nulls(key, 1)).collect();
        let empty = (0..self.len()).filter(|&set| !self.sets[set].contains(&true));
        for set in empty {
            aggregator.add_group(&self.keys(set, &values, 1))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Function;
    use crate::aggregate::Input;
    use crate::state::Output;
    use crate::vector::Scalar;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Row = (Option<i64>, Option<i64>, i64);
    type Groups = BTreeMap<(i64, Option<i64>, Option<i64>), i128>;

    const SETS: [[bool; 2]; 5] = [
        [true, true],
        [true, false],
        [false, true],
        [false, false],
        [true, false],
    ];

    fn sets() -> GroupingSets {
        GroupingSets::new(&[Type::Int, Type::Int], SETS.iter().map(|set| set.to_vec()).collect())
    }

    fn words(values: impl Iterator<Item = Option<i64>> + Clone) -> Vector<'static> {
        Vector {
            valid: Some(values.clone().map(|value| value.is_some()).collect()),
            ..Vector::of_words(Type::Int, values.map(Option::unwrap_or_default).collect::<Vec<i64>>())
        }
    }

    fn batch(rows: &[Row]) -> Rows<'static> {
        Rows {
            len: rows.len(),
            columns: vec![
                words(rows.iter().map(|row| row.0)),
                words(rows.iter().map(|row| row.1)),
                words(rows.iter().map(|row| Some(row.2))),
            ],
            filters: vec![None],
        }
    }

    fn update(aggregator: &mut Aggregator, rows: &Rows<'_>) {
        let (keys, arguments) = rows.columns.split_at(rows.columns.len() - 1);
        let input = Input {
            argument: arguments.first(),
            ..Input::default()
        };
        aggregator.update(rows.len, keys, &[input]).expect("integers");
    }

    fn take(aggregator: &Aggregator, groups: &mut Groups) {
        let grouping = aggregator.grouping();
        let key = |column, group| match grouping.key(column, group) {
            Scalar::Int(value) => Some(value),
            _ => None,
        };
        for group in 0..grouping.len() {
            let sum = match aggregator.output(0, group).expect("no overflow") {
                Output::IntSum { sum, .. } => sum,
                _ => 0,
            };
            let set = key(0, group).expect("a set");
            let before = groups.insert((set, key(1, group), key(2, group)), sum);
            assert_eq!(before, None, "a group twice");
        }
    }

    fn expected(rows: &[Row]) -> Groups {
        let mut groups = Groups::from([((3, None, None), 0)]);
        for &(a, b, value) in rows {
            for (set, [has_a, has_b]) in SETS.into_iter().enumerate() {
                let key = (set as i64, a.filter(|_| has_a), b.filter(|_| has_b));
                *groups.entry(key).or_default() += i128::from(value);
            }
        }
        groups
    }

    const SUM: [(Function, Option<Type>); 1] = [(Function::Sum, Some(Type::Int))];

    proptest! {
        #[test]
        fn each_set_has_its_groups_in_any_memory(
            batches in proptest::collection::vec(
                proptest::collection::vec((proptest::option::of(-3..3i64), proptest::option::of(0..20i64), -9..9i64), 0..40),
                0..4,
            ),
            limit in prop_oneof![Just(0), Just(1000), Just(usize::MAX)],
            rolls_up: bool,
        ) {
            let sets = sets();
            let mut aggregator = Aggregator::new(&sets.types(), &SUM, limit).expect("a sum");
            let mut groups = Groups::new();
            loop {
                sets.begin(&mut aggregator).expect("memory");
                for rows in &batches {
                    let rows = batch(rows);
                    if rolls_up {
                        let mut finest = Aggregator::new(&[Type::Int, Type::Int], &SUM, usize::MAX).expect("a sum");
                        update(&mut finest, &rows);
                        sets.roll_up(&finest, &mut aggregator).expect("memory");
                    } else {
                        (0..sets.len()).for_each(|set| update(&mut aggregator, &sets.rows(set, &rows)));
                    }
                }
                take(&aggregator, &mut groups);
                if !aggregator.next_pass() {
                    break;
                }
            }
            prop_assert_eq!(groups, expected(&batches.concat()));
        }
    }

    #[test]
    fn absent_keys_of_all_types_are_null() {
        let types = [Type::Bool, Type::Int, Type::Float, Type::Numeric, Type::Text];
        let sets = GroupingSets::new(&types, vec![vec![false; 5]; 2]);
        let count = [(Function::Count, None)];
        let mut aggregator = Aggregator::new(&sets.types(), &count, usize::MAX).expect("a count");
        sets.begin(&mut aggregator).expect("memory");
        let rows = Rows {
            len: 3,
            columns: types.iter().map(|&ty| Vector::nulls(ty, 3)).collect(),
            filters: Vec::new(),
        };
        for set in 0..2 {
            let keys = sets.rows(set, &rows).columns;
            aggregator.update(3, &keys, &[Input::default()]).expect("memory");
        }
        assert_eq!(aggregator.grouping().len(), 2);
        assert!((1..6).all(|column| aggregator.grouping().key(column, 1) == Scalar::Null));
        assert!(matches!(aggregator.output(0, 1), Ok(Output::Count(3))));
    }
}
