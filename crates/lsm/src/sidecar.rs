//! What a join index holds of a table's leaves: for each a blob with a value for each of its rows, which says what row of
//! another table has its key.

use crate::seal::{seal, unseal};
use crate::{Blob, Damaged, Extent, Key};
use serde::{Deserialize, Serialize};

/// What is held of one leaf.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecar {
    /// The leaf: its first and last key, its rows, and a hash of all that it holds. Wherever a leaf like this is, this is of it.
    pub first: Key,
    pub last: Key,
    pub rows: u32,
    pub digest: u64,
    /// Of how many rows it is known what they find.
    pub known: u32,
    pub image: Blob,
}

/// All of a join index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecars {
    /// A hash of what it is about: both tables' incarnations, and what is compared.
    pub about: u128,
    /// A hash of the other table's rows that were looked up.
    pub found_in: u64,
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
            known: rows,
            image,
        }
    }

    #[test]
    fn finds_a_leaf_and_no_other() {
        let all = Sidecars {
            about: u128::MAX,
            found_in: 7,
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
