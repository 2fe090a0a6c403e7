//! What a join index holds of a table's leaves: for each a blob with a value for each of its rows, which says what row of
//! another table has its key.

use crate::seal::{seal, unseal};
use crate::{Blob, Damaged, Extent, Key, RangeSet};
use serde::{Deserialize, Serialize};

/// What is held of one leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecar {
    /// The leaf: its first and last key, its rows, and a hash of all that it holds. Wherever a leaf like this is, this is of it.
    pub first: Key,
    pub last: Key,
    pub rows: u32,
    pub digest: u64,
    /// Rows of which nothing is known, and those that have found nothing in [`Sidecars::covered`].
    pub unknown: u32,
    pub not_found: u32,
    /// Whether all rows that it names were still there when the list was written.
    pub whole: bool,
    pub image: Blob,
}

/// All of a join index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecars {
    /// A hash of what it is about: both tables' incarnations, and what is compared.
    pub about: u128,
    /// A hash of the other table's rows that were looked up, and the blocks that they are in.
    pub found_in: u64,
    pub covered: RangeSet,
    /// Rows that there were in these blocks, those that were gone for everybody as well.
    pub there: u64,
    /// Ascending by their first keys.
    pub leaves: Vec<Sidecar>,
}

impl Sidecars {
    /// That of a leaf.
    pub fn of(&self, (first, last): (Key, Key), rows: u32, digest: u64) -> Option<&Sidecar> {
        let start = self.leaves.partition_point(|leaf| leaf.first < first);
        let from_here = self.leaves[start..].iter().take_while(|leaf| leaf.first == first);
        let is_same = |leaf: &&Sidecar| (leaf.last, leaf.rows, leaf.digest) == (last, rows, digest);
        from_here.into_iter().find(is_same)
    }

    /// Pages of the images.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        self.leaves.iter().flat_map(|leaf| &leaf.image.extents)
    }

    pub fn encode(&self) -> Vec<u8> {
        seal(self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Sidecars, Damaged> {
        unseal(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: Key, last: Key, rows: u32, digest: u64) -> Sidecar {
        let image = Blob {
            extents: vec![Extent { start: 1, len: 2 }],
            len: 3,
        };
        Sidecar {
            first,
            last,
            rows,
            digest,
            unknown: 0,
            not_found: 1,
            whole: true,
            image,
        }
    }

    #[test]
    fn finds_a_leaf_and_no_other() {
        let mut covered = RangeSet::default();
        covered.insert(3, 9);
        let all = Sidecars {
            about: u128::MAX,
            found_in: 7,
            covered,
            there: 1000,
            leaves: vec![of(1, 9, 5, 3), of(10, 30, 4, 1), of(10, 30, 4, 2), of(40, 50, 2, 1)],
        };
        let mut bytes = all.encode();
        assert_eq!(Sidecars::decode(&bytes).as_ref(), Ok(&all));
        assert_eq!(all.of((10, 30), 4, 2), Some(&all.leaves[2]));
        for (keys, rows, digest) in [
            ((10, 31), 4, 2),
            ((10, 30), 5, 2),
            ((10, 30), 4, 3),
            ((11, 30), 4, 2),
            ((60, 70), 1, 1),
        ] {
            assert_eq!(all.of(keys, rows, digest), None);
        }
        assert_eq!(all.extents().map(|extent| extent.len).sum::<u32>(), 8);
        bytes[3] ^= 1;
        assert!(Sidecars::decode(&bytes).is_err());
    }
}
