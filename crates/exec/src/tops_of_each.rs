//! The first rows of each group in an order, so many of each, as a row number or a rank within partitions bounds them.

use crate::best::{Asked, Best};
use crate::collation::Collation;
use crate::error::Result;
use crate::group::Grouping;
use crate::order::SortKey;
use crate::vector::{Type, Vector};

/// The best rows of each group so far, each with where it is.
#[derive(Debug)]
pub struct TopsOfEach<P> {
    groups: Vec<Type>,
    asked: Asked,
    grouping: Grouping,
    /// Of each group, by its number.
    best: Vec<Best<P>>,
    /// How many rows they have, and what they take.
    kept: usize,
    bytes: usize,
    /// The group of each row of a batch, and the rows by their groups.
    scratch: (Vec<u32>, Vec<u32>),
}

/// Rows of a group that are kept at least before the worse ones go.
const FEWEST: usize = 8;

impl<P: Copy> TopsOfEach<P> {
    /// The best `count` rows of each of the groups by keys of these types, with all that are equal to the last one if `ties`.
    /// Without sort keys they are those that are added first.
    pub fn new(groups: Vec<Type>, keys: Vec<SortKey>, count: usize, ties: bool) -> Self {
        Self {
            grouping: Grouping::new(&groups),
            groups,
            asked: Asked { keys, count, ties },
            best: Vec::new(),
            kept: 0,
            bytes: 0,
            scratch: Default::default(),
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
        if self.asked.count == 0 {
            return Ok(());
        }
        let (groups, keys) = vectors.split_at(self.groups.len());
        let (group_of, order) = &mut self.scratch;
        self.grouping.assign(groups, rows, group_of)?;
        let fresh = || Best::new(&self.asked, FEWEST);
        self.best.resize_with(self.grouping.len(), fresh);
        order.clear();
        order.extend(0..rows as u32);
        order.sort_by_key(|&row| group_of[row as usize]);
        for rows in order.chunk_by(|&a, &b| group_of[a as usize] == group_of[b as usize]) {
            let best = &mut self.best[group_of[rows[0] as usize] as usize];
            self.kept -= best.len();
            self.bytes -= best.bytes_used();
            for &row in rows {
                let row = row as usize;
                best.offer(&self.asked, keys, row, collation, at(row));
            }
            self.kept += best.len();
            self.bytes += best.bytes_used();
        }
        Ok(())
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Of what is kept; what there is for a batch is not counted.
    pub fn bytes_used(&self) -> usize {
        self.grouping.bytes_used() + self.best.len() * size_of::<Best<P>>() + self.bytes
    }

    /// Where the rows are that are kept.
    pub fn places(&self) -> impl Iterator<Item = P> {
        self.best.iter().flat_map(Best::places)
    }

    /// Where the best rows are, in no order.
    pub fn finish(mut self, collation: &dyn Collation) -> Vec<P> {
        for best in &mut self.best {
            best.prune(&self.asked, collation);
        }
        self.places().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Bytewise;
    use crate::top::Top;
    use crate::top::tests::{all_keys, numbers, vector};
    use crate::vector::Scalar;

    /// Rows that are kept of vectors added in pieces, and what is in use after them.
    fn found(
        groups: &Vector<'_>,
        sort: &[SortKey],
        (count, ties): (usize, bool),
        keys: &[Vector<'_>],
        piece: usize,
    ) -> (Vec<usize>, usize) {
        let mut tops = TopsOfEach::new(vec![groups.ty], sort.to_vec(), count, ties);
        for from in (0..groups.len()).step_by(piece) {
            let places: Vec<u32> = (from..groups.len().min(from + piece)).map(|i| i as u32).collect();
            let all = std::iter::once(groups).chain(keys);
            let pieces: Vec<Vector<'_>> = all.map(|vector| vector.pick(&places)).collect();
            let added = tops.add(&pieces, places.len(), &Bytewise, |i| from + i);
            added.expect("there is room");
            assert_eq!(tops.len(), tops.places().count());
        }
        let bytes = tops.bytes_used();
        let mut found = tops.finish(&Bytewise);
        found.sort_unstable();
        (found, bytes)
    }

    /// The same by a [`Top`] for each group.
    fn check(groups: &[i64], sort: &[SortKey], keys: &[Vector<'_>]) {
        let vector = Vector::of_words(Type::Int, groups.to_vec());
        for count in [0, 1, 2, 5, 100] {
            for ties in [false, true] {
                let mut wanted: Vec<usize> = Vec::new();
                let mut names = groups.to_vec();
                names.sort_unstable();
                names.dedup();
                for name in names {
                    let of_group: Vec<u32> = (0..groups.len() as u32)
                        .filter(|&i| groups[i as usize] == name)
                        .collect();
                    let mut top = Top::new(sort.to_vec(), count, ties);
                    let keys: Vec<Vector<'_>> = keys.iter().map(|key| key.pick(&of_group)).collect();
                    top.add(&keys, of_group.len(), &Bytewise, |i| of_group[i] as usize);
                    wanted.extend(top.finish(&Bytewise));
                }
                wanted.sort_unstable();
                for piece in [1, 7, 1000] {
                    let (found, bytes) = found(&vector, sort, (count, ties), keys, piece);
                    // Without ties any of equal rows may be kept.
                    match ties {
                        true => assert_eq!(found, wanted, "{sort:?} {count} {piece}"),
                        false => assert_eq!(found.len(), wanted.len(), "{sort:?} {count} {piece}"),
                    }
                    assert!(bytes >= found.len() * size_of::<usize>());
                }
            }
        }
    }

    #[test]
    fn rows_of_groups() {
        let groups = numbers(400, 13);
        let few: Vec<Scalar<'_>> = numbers(400, 30)
            .into_iter()
            .map(|n| if n % 7 == 0 { Scalar::Null } else { Scalar::Int(n) })
            .collect();
        let few = vector(Type::Int, &few);
        let alone = vector(
            Type::Int,
            &numbers(400, 1 << 40).into_iter().map(Scalar::Int).collect::<Vec<_>>(),
        );
        for key in all_keys(Type::Int) {
            check(&groups, &[key], std::slice::from_ref(&few));
            check(&groups, &[key, key], &[few.clone(), alone.clone()]);
        }
    }

    #[test]
    fn without_an_order_the_first_rows_stay() {
        let groups = Vector::of_words(Type::Int, (0..100).map(|n| n % 3).collect::<Vec<i64>>());
        let (rows, _) = found(&groups, &[], (2, false), &[], 7);
        assert_eq!(rows, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn rows_that_are_beaten_go() {
        let group = Vector::of_words(Type::Int, vec![1, 1]);
        let key = SortKey {
            ty: Type::Int,
            descending: true,
            nulls_first: true,
        };
        let mut tops = TopsOfEach::new(vec![Type::Int], vec![key], 3, true);
        for n in 0..10_000 {
            let keys = [group.clone(), Vector::of_words(Type::Int, vec![n, n])];
            tops.add(&keys, 2, &Bytewise, |i| (n, i)).expect("there is room");
        }
        assert!(tops.bytes_used() < 100_000, "{}", tops.bytes_used());
        let mut kept = tops.finish(&Bytewise);
        kept.sort_unstable();
        assert_eq!(kept, [(9_998, 0), (9_998, 1), (9_999, 0), (9_999, 1)]);
    }
}
