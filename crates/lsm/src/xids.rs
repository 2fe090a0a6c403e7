//! The transaction ids of a leaf's rows (heap's xmin), kept beside the leaf until they are frozen by age as heap's are.
//! A flush takes only rows that every snapshot of its own server sees; with their ids, a standby's older snapshots can
//! tell which rows they do not see.

use crate::seal::{seal, unseal};
use crate::{Blob, Damaged};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// FrozenTransactionId (transam.h): everyone sees the row.
pub const FROZEN: u32 = 2;

/// FirstNormalTransactionId (transam.h).
const FIRST_NORMAL: u32 = 3;

pub fn is_normal(xid: u32) -> bool {
    xid >= FIRST_NORMAL
}

/// TransactionIdPrecedes() (transam.c): ids wrap around, those that are not normal are older than all others.
pub fn precedes(a: u32, b: u32) -> bool {
    if is_normal(a) && is_normal(b) {
        (a.wrapping_sub(b) as i32) < 0
    } else {
        a < b
    }
}

/// Ids of consecutive rows, each the one before plus `step`: one run for rows of one transaction, or of one transaction
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The row after the last.
    end: u32,
    first: u32,
    step: i32,
}

/// An id for each row of a leaf, in the order of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Xids(Vec<Run>);

impl Xids {
    /// Of rows that all have the same id.
    pub fn all(rows: u32, xid: u32) -> Xids {
        let run = Run {
            end: rows,
            first: xid,
            step: 0,
        };
        Xids(if rows == 0 { vec![] } else { vec![run] })
    }

    pub fn len(&self) -> u32 {
        self.0.last().map_or(0, |run| run.end)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the next row's.
    pub fn push(&mut self, xid: u32) {
        let rows = self.len();
        let start = self.0.len().checked_sub(2).map_or(0, |at| self.0[at].end);
        if let Some(run) = self.0.last_mut() {
            if rows - start == 1 {
                run.step = xid.wrapping_sub(run.first) as i32;
            }
            if xid == run.id(rows - start) {
                run.end += 1;
                return;
            }
        }
        self.0.push(Run {
            end: rows + 1,
            first: xid,
            step: 0,
        });
    }

    /// The id of a row.
    pub fn get(&self, row: u32) -> u32 {
        let at = self.0.partition_point(|run| run.end <= row);
        let start = at.checked_sub(1).map_or(0, |before| self.0[before].end);
        self.0[at].id(row - start)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs()
            .flat_map(|(rows, run)| (0..rows.len() as u32).map(move |n| run.id(n)))
    }

    fn runs(&self) -> impl Iterator<Item = (Range<u32>, &Run)> {
        let mut start = 0;
        self.0
            .iter()
            .map(move |run| (std::mem::replace(&mut start, run.end)..run.end, run))
    }

    /// The oldest and the newest, unless everyone sees all rows.
    pub fn range(&self) -> Option<(u32, u32)> {
        let normal = self.iter().filter(|&xid| is_normal(xid));
        normal.fold(None, |range, xid| match range {
            None => Some((xid, xid)),
            Some((oldest, newest)) if precedes(xid, oldest) => Some((xid, newest)),
            Some((oldest, newest)) if precedes(newest, xid) => Some((oldest, xid)),
            range => range,
        })
    }

    /// The same with all that are older than `limit` frozen.
    pub fn frozen(&self, limit: u32) -> Xids {
        let mut frozen = Xids::default();
        for xid in self.iter() {
            frozen.push(if precedes(xid, limit) { FROZEN } else { xid });
        }
        frozen
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut last = 0u32;
        let stored: Vec<Stored> = self
            .runs()
            .map(|(rows, run)| {
                let rows = rows.len() as u32;
                let first = run.first.wrapping_sub(last) as i32;
                last = run.id(rows - 1);
                Stored(rows, first, run.step)
            })
            .collect();
        seal(&stored)
    }

    pub fn decode(bytes: &[u8]) -> Result<Xids, Damaged> {
        let (mut end, mut last) = (0u32, 0u32);
        let runs = unseal::<Vec<Stored>>(bytes)?.into_iter().map(|stored| {
            let Stored(rows, first, step) = stored;
            let first = last.wrapping_add(first as u32);
            end = end.checked_add(rows).filter(|_| rows > 0)?;
            let run = Run { end, first, step };
            last = run.id(rows - 1);
            Some(run)
        });
        let runs: Option<Vec<Run>> = runs.collect();
        runs.map(Xids).ok_or_else(|| Damaged("a run without rows".into()))
    }

    /// Bytes of memory.
    pub fn bytes_used(&self) -> usize {
        self.0.len() * std::mem::size_of::<Run>()
    }
}

impl Run {
    fn id(&self, nth: u32) -> u32 {
        self.first.wrapping_add((self.step as u32).wrapping_mul(nth))
    }
}

/// A run on disk: its rows, how much its first id is more than the last one before, its step. All small as a rule, so a
/// few bytes.
#[derive(Serialize, Deserialize)]
struct Stored(u32, i32, i32);

/// Where a leaf's ids are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeafXids {
    /// Everyone sees the rows, as far as their component is visible: they were frozen, or loaded in bulk (see
    /// [`crate::Origin`]).
    #[default]
    Frozen,
    /// All rows have this one.
    One(u32),
    /// Encoded [`Xids`], some of which may be frozen.
    Each { oldest: u32, newest: u32, ids: Blob },
}

impl LeafXids {
    /// The oldest and newest id of the leaf.
    pub fn range(&self) -> Option<(u32, u32)> {
        match *self {
            LeafXids::Frozen => None,
            LeafXids::One(xid) => Some((xid, xid)),
            LeafXids::Each { oldest, newest, .. } => Some((oldest, newest)),
        }
    }

    /// How these ids are to be kept; `write` stores bytes.
    pub fn store(ids: &Xids, write: impl FnOnce(&[u8]) -> Blob) -> LeafXids {
        match ids.range() {
            None => LeafXids::Frozen,
            Some((xid, newest)) if xid == newest && ids.iter().all(|id| id == xid) => LeafXids::One(xid),
            Some((oldest, newest)) => LeafXids::Each {
                oldest,
                newest,
                ids: write(&ids.encode()),
            },
        }
    }

    pub fn blob(&self) -> Option<&Blob> {
        match self {
            LeafXids::Each { ids, .. } => Some(ids),
            _ => None,
        }
    }

    pub fn blob_mut(&mut self) -> Option<&mut Blob> {
        match self {
            LeafXids::Each { ids, .. } => Some(ids),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(ids: &[u32]) -> Xids {
        let mut xids = Xids::default();
        ids.iter().for_each(|&xid| xids.push(xid));
        xids
    }

    #[test]
    fn a_transaction_a_row_and_a_transaction_for_all_take_one_run() {
        let each: Vec<u32> = (1000..16_000).collect();
        assert!(of(&each).encode().len() <= 12);
        assert_eq!(of(&[7; 15_000]), Xids::all(15_000, 7));
        assert!(of(&[7; 15_000]).encode().len() <= 12);
    }

    #[test]
    fn ids_wrap_around() {
        let ids = of(&[u32::MAX - 1, u32::MAX, 3, 4, FROZEN]);
        assert_eq!(ids.range(), Some((u32::MAX - 1, 4)));
        let frozen: Vec<u32> = ids.frozen(3).iter().collect();
        assert_eq!(frozen, [FROZEN, FROZEN, 3, 4, FROZEN]);
        assert_eq!(ids.frozen(5).range(), None);
        assert!(precedes(u32::MAX, 3) && !precedes(3, u32::MAX) && precedes(FROZEN, u32::MAX));
    }

    #[test]
    fn damage_is_noticed() {
        let mut bytes = of(&[5, 6, 9]).encode();
        assert!(Xids::decode(&bytes).is_ok());
        bytes[1] ^= 4;
        assert!(Xids::decode(&bytes).is_err());
        assert!(Xids::decode(&seal(&vec![Stored(0, 1, 1)])).is_err());
        assert!(Xids::decode(&seal(&vec![Stored(u32::MAX, 1, 1), Stored(2, 1, 1)])).is_err());
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(ids in prop::collection::vec(prop_oneof![2..9u32, any::<u32>()], 0..200)) {
            let xids = of(&ids);
            prop_assert_eq!(xids.len() as usize, ids.len());
            prop_assert_eq!(&Xids::decode(&xids.encode()).unwrap(), &xids);
            prop_assert_eq!(xids.iter().collect::<Vec<_>>(), ids.clone());
            for (row, &xid) in ids.iter().enumerate() {
                prop_assert_eq!(xids.get(row as u32), xid);
            }
        }
    }
}
