//! The keys of a leaf's rows.

use std::ops::Range;

/// A key per row, ascending. Mostly each is one more than the one before, so runs of such keys are kept: every session
/// and every worker has the keys of each leaf it reads.
#[derive(Clone, Debug)]
pub struct Keys {
    rows: usize,
    kept: Kept,
}

#[derive(Clone, Debug)]
enum Kept {
    Runs(Vec<Run>),
    Each(Vec<u64>),
}

/// Rows from `row` on up to the next run's: the first has `key`, each other one the next.
#[derive(Clone, Copy, Debug)]
struct Run {
    row: usize,
    key: u64,
}

impl Keys {
    /// `keys` ascend.
    pub(crate) fn new(keys: Vec<u64>) -> Self {
        let begins = |row: &usize| *row == 0 || keys[*row] != keys[*row - 1] + 1;
        let runs = (0..keys.len()).filter(begins).count();
        let rows = keys.len();
        let kept = if runs * 4 > rows {
            Kept::Each(keys)
        } else {
            let run = |row| Run { row, key: keys[row] };
            Kept::Runs((0..rows).filter(begins).map(run).collect())
        };
        Self { rows, kept }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The key of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> u64 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match &self.kept {
            Kept::Each(keys) => keys[row],
            Kept::Runs(runs) => {
                let run = runs[runs.partition_point(|run| run.row <= row) - 1];
                run.key + (row - run.row) as u64
            }
        }
    }

    /// The keys of consecutive rows.
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn range(&self, rows: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        let mut next = rows.start;
        // The run that the next row is of, and where it ends.
        let (mut run, mut end) = (Run { row: 0, key: 0 }, 0);
        std::iter::from_fn(move || {
            let row = next;
            if row >= rows.end {
                return None;
            }
            next += 1;
            let runs = match &self.kept {
                Kept::Each(keys) => return Some(keys[row]),
                Kept::Runs(runs) => runs,
            };
            if row >= end {
                let at = runs.partition_point(|run| run.row <= row);
                run = runs[at - 1];
                end = runs.get(at).map_or(self.rows, |next| next.row);
                assert!(row < end, "row {row} of {}", self.rows);
            }
            Some(run.key + (row - run.row) as u64)
        })
    }

    /// How many rows have keys below this one: the first row whose key is not.
    pub fn first(&self, key: u64) -> usize {
        match &self.kept {
            Kept::Each(keys) => keys.partition_point(|&k| k < key),
            Kept::Runs(runs) => {
                let after = runs.partition_point(|run| run.key < key);
                let Some(run) = after.checked_sub(1).map(|at| runs[at]) else {
                    return 0;
                };
                let end = runs.get(after).map_or(self.rows, |next| next.row);
                let before = usize::try_from(key - run.key).unwrap_or(usize::MAX);
                run.row.saturating_add(before).min(end)
            }
        }
    }

    /// The row with this key.
    pub fn find(&self, key: u64) -> Option<usize> {
        let runs = match &self.kept {
            Kept::Each(keys) => return keys.binary_search(&key).ok(),
            Kept::Runs(runs) => runs,
        };
        let after = runs.partition_point(|run| run.key <= key);
        let run = runs[after.checked_sub(1)?];
        let end = runs.get(after).map_or(self.rows, |next| next.row);
        let before = usize::try_from(key - run.key).ok()?;
        let row = run.row.checked_add(before)?;
        (row < end).then_some(row)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.range(0..self.rows)
    }

    /// Bytes of memory held.
    pub fn bytes_used(&self) -> usize {
        match &self.kept {
            Kept::Runs(runs) => runs.len() * size_of::<Run>(),
            Kept::Each(keys) => keys.len() * 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_take_little() {
        let blocks = (0..100_u64).flat_map(|block| (1..=120).map(move |offset| block << 16 | offset));
        let keys = Keys::new(blocks.collect());
        assert_eq!(keys.len(), 12_000);
        assert!(keys.bytes_used() <= 100 * 16);
        let scattered = Keys::new((0..100).map(|key| key * 2).collect());
        assert_eq!(scattered.bytes_used(), 800);
    }

    proptest! {
        #[test]
        fn as_a_list(gaps in prop::collection::vec(prop_oneof![8 => Just(1_u64), 1 => 1..5_u64, 1 => any::<u32>().prop_map(|gap| u64::from(gap) + 1)], 0..200),
                     sought in any::<u64>()) {
            let list: Vec<u64> = gaps.iter().scan(0_u64, |key, gap| { *key += gap; Some(*key) }).collect();
            let keys = Keys::new(list.clone());
            prop_assert_eq!(keys.len(), list.len());
            prop_assert_eq!(keys.iter().collect::<Vec<_>>(), list.clone());
            let near = list.iter().flat_map(|&key| [key - 1, key, key + 1]);
            for key in near.chain([0, sought, u64::MAX]) {
                prop_assert_eq!(keys.first(key), list.partition_point(|&k| k < key));
                prop_assert_eq!(keys.find(key), list.binary_search(&key).ok());
            }
        }
    }
}
