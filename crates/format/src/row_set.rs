//! Rows that are left while conditions are looked at one after the other: a bit for each, 64 tested at once.

use crate::places::{BYTE, GROUP, consecutive, put, set_found, set_of, tested};

/// Some of the rows from a first one on.
#[derive(Debug)]
pub struct RowSet {
    /// The group that the first bits are of.
    first: usize,
    groups: Vec<u64>,
}

impl RowSet {
    /// Of rows, ascending; None where more rows are left out between them than there are, or there are none.
    pub fn of(rows: &[u32]) -> Option<Self> {
        let (&first, &last) = rows.first().zip(rows.last())?;
        if (last - first) as usize >= 2 * rows.len() {
            return None;
        }
        let (first, last) = (first as usize / GROUP, last as usize / GROUP);
        let mut groups = vec![0; last - first + 1];
        match consecutive(rows) {
            Some(range) => {
                groups.fill(u64::MAX);
                groups[0] &= u64::MAX << (range.start % GROUP);
                groups[last - first] &= u64::MAX >> (GROUP - 1 - (range.end - 1) % GROUP);
            }
            None => {
                // A group's bits stay in a register: in memory each would wait for the one before.
                let (mut at, mut bits) = (first, 0);
                for &row in rows {
                    let group = row as usize / GROUP;
                    if group != at {
                        groups[at - first] = bits;
                        (at, bits) = (group, 0);
                    }
                    bits |= 1 << (row as usize % GROUP);
                }
                groups[at - first] = bits;
            }
        }
        Some(Self { first, groups })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.count_ones() as usize).sum()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|&group| group == 0)
    }

    /// Leaves out all.
    pub fn clear(&mut self) {
        self.groups.fill(0);
    }

    /// Those of them whose values pass, given the values of all rows.
    #[inline]
    pub(crate) fn keep<T: Copy>(&mut self, values: &[T], passes: impl Fn(T) -> bool) {
        self.keep_groups(values, |values| set_of(&tested(values, &passes)));
    }

    /// The same by a test that may look something up.
    #[inline]
    pub(crate) fn keep_found<T: Copy>(&mut self, values: &[T], passes: impl Fn(T) -> bool) {
        self.keep_groups(values, |values| match values.first_chunk::<GROUP>() {
            Some(values) => set_found(|at| passes(values[at])),
            None => set_found(|at| values.get(at).is_some_and(|&value| passes(value))),
        });
    }

    #[inline(always)]
    fn keep_groups<T>(&mut self, values: &[T], test: impl Fn(&[T]) -> u64) {
        let (all, rest) = values[self.first * GROUP..].as_chunks::<GROUP>();
        for (at, group) in self.groups.iter_mut().enumerate().filter(|(_, group)| **group != 0) {
            *group &= test(all.get(at).map_or(rest, |values| values));
        }
    }

    /// Their numbers, ascending.
    pub fn rows(&self) -> Vec<u32> {
        let mut rows = vec![0; self.len() + BYTE];
        let mut count = 0;
        for (at, &group) in self.groups.iter().enumerate() {
            count += put(group, ((self.first + at) * GROUP) as u32, &mut rows[count..]);
        }
        rows.truncate(count);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_passes_all_is_left(values in proptest::collection::vec(any::<u8>(), 1..400), from in 0..300usize, share: u8, least: u8, most: u8, by_look_up: bool) {
            let rows: Vec<u32> = (from..values.len()).map(|row| row as u32).collect();
            let some: Vec<u32> = rows.iter().copied().filter(|&row| values[row as usize].wrapping_mul(157) <= share).collect();
            for rows in [rows, some] {
                let Some(mut set) = RowSet::of(&rows) else { continue };
                prop_assert_eq!(&set.rows(), &rows);
                let mut left = rows;
                for passes in [&(|value| value >= least) as &dyn Fn(u8) -> bool, &|value| value <= most] {
                    match by_look_up {
                        true => set.keep_found(&values, passes),
                        false => set.keep(&values, passes),
                    }
                    left.retain(|&row| passes(values[row as usize]));
                    prop_assert_eq!((&set.rows(), set.len(), set.is_empty()), (&left, left.len(), left.is_empty()));
                }
            }
        }
    }
}
