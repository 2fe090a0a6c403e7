//! The manifest: everything a reader must know of the columnar side, in one value that is replaced as a whole.

use crate::seal::{self, seal, unseal};
use crate::{Blob, Damaged, Extent, FreeSpace, Key, LeafXids, RangeSet};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;

/// Who wrote a component that was loaded in bulk. Flushed and merged ones have no origin: their rows have an id each
/// ([`LeafXids`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// 32-bit transaction id of the (sub)transaction; frozen (the origin dropped) before relfrozenxid passes it.
    pub xid: u32,
    pub cmin: u32,
    /// Whether it is known to have committed, and every snapshot of the server that found out sees that. A standby's
    /// may not yet.
    pub settled: bool,
}

/// An immutable disk component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    pub id: u64,
    /// The logical blocks whose rows it holds, all of them. No two components share one.
    pub blocks: RangeSet,
    pub rows: u64,
    pub leaves: u32,
    /// Pages of leaves and directory.
    pub pages: u64,
    /// An encoded [`Directory`].
    pub directory: Blob,
    pub origin: Option<Origin>,
    /// The oldest transaction id that its leaves have for their rows.
    pub oldest_xid: Option<u32>,
    /// What a merge left out when it made the component, until that is swept.
    pub unswept: Option<Unswept>,
}

impl Component {
    /// Whether the snapshots of this server see its rows, but for what their stubs say.
    pub fn is_settled(&self) -> bool {
        self.origin.is_none_or(|origin| origin.settled)
    }
}

/// Rows that a merge left out. Their marks in the stub directory stay for those who still read the merge's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unswept {
    /// As of [`Retired`]; once it is removable for everyone the marks may go.
    pub safexid: u64,
    pub rows: u64,
}

/// One mega leaf of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafEntry {
    pub first: Key,
    pub last: Key,
    pub rows: u32,
    pub image: Blob,
    pub xids: LeafXids,
    /// TIDs that index entries may hold for a row whose own TID is another (the root of its HOT chain): sorted
    /// (alias, offset of the row in the same block).
    pub aliases: Vec<(Key, u16)>,
}

impl LeafEntry {
    /// Its pages.
    pub fn extents(&self) -> impl Iterator<Item = &Extent> {
        let blobs = std::iter::once(&self.image).chain(self.xids.blob());
        blobs.flat_map(|blob| &blob.extents)
    }

    /// The aliases in logical block `block`.
    pub fn aliases_of(&self, block: u32) -> &[(Key, u16)] {
        let start = self.aliases.partition_point(|a| a.0 < crate::tid::key(block, 0));
        let of_block = &self.aliases[start..];
        &of_block[..of_block.partition_point(|a| crate::tid::block(a.0) == block)]
    }
}

/// A component's leaves, in key order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    pub leaves: Vec<LeafEntry>,
}

impl Directory {
    /// The leaf whose key range holds `key`.
    pub fn leaf_of(&self, key: Key) -> Option<usize> {
        let i = self.leaves.partition_point(|leaf| leaf.last < key);
        (i < self.leaves.len() && self.leaves[i].first <= key).then_some(i)
    }

    /// The first leaf that can hold keys of logical block `block` or later ones.
    pub fn first_leaf_at(&self, block: u32) -> usize {
        self.leaves.partition_point(|leaf| crate::tid::block(leaf.last) < block)
    }

    /// All pages of the component whose directory this is, stored at `stored`.
    pub fn pages(&self, stored: &Blob) -> Vec<Extent> {
        let extents = self.leaves.iter().flat_map(LeafEntry::extents);
        extents.chain(&stored.extents).copied().collect()
    }

    /// The oldest transaction id of the leaves.
    pub fn oldest_xid(&self) -> Option<u32> {
        let oldest = self.leaves.iter().filter_map(|leaf| Some(leaf.xids.range()?.0));
        oldest.reduce(|a, b| if crate::xids::precedes(b, a) { b } else { a })
    }

    pub fn encode(&self) -> Vec<u8> {
        seal(self)
    }

    pub fn decode(bytes: &[u8]) -> Result<Directory, Damaged> {
        unseal(bytes)
    }
}

/// What nothing refers to: left by a load or flush that failed before it published, or in the hands of one that goes
/// on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspects {
    /// Next full transaction id when they were found. Once it is removable for everyone, nobody has them in hand any
    /// more.
    pub safexid: u64,
    pub pages: RangeSet,
    /// Logical blocks handed out by then.
    pub blocks: u32,
}

/// Pages given up, which some snapshot may still read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retired {
    /// Next full transaction id after they were given up; reusable once it is removable for everyone. See
    /// [`Manifest::stamp`].
    pub safexid: u64,
    pub pages: RetiredPages,
}

/// The safexid of what is given up by the very change that writes this manifest: removable for nobody.
pub const UNKNOWN_XID: u64 = u64::MAX;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetiredPages {
    Columnar(Vec<Extent>),
    /// Row pages that were flushed: (logical block, physical page).
    Rows(Vec<(u32, u32)>),
}

/// Logical blocks that a load has taken for rows which it has not published yet, though index entries lead there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loading {
    /// Full id of the load's (sub)transaction.
    pub xid: u64,
    pub blocks: RangeSet,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub next_component: u64,
    /// Oldest first.
    pub components: Vec<Component>,
    pub retired: Vec<Retired>,
    pub free: FreeSpace,
    /// Logical blocks that hold no rows and never will, without index entries: those of loads that failed.
    pub void: RangeSet,
    pub suspects: Option<Suspects>,
    /// Loads into tables with unique keys: those in progress, and those that have failed since the last one began.
    pub loading: Vec<Loading>,
    /// The components' block ranges, ascending, each with the component's index. Made by the first question about a
    /// block: whoever changes the components of a manifest must not have asked before.
    #[serde(skip)]
    owners: OnceCell<Vec<(u32, u32, usize)>>,
}

impl Manifest {
    /// The component that holds logical block `block`; None when its rows are in a row page, or there are none.
    pub fn component_of(&self, block: u32) -> Option<usize> {
        let owners = self.owners();
        let at = owners.partition_point(|&(_, end, _)| end <= block);
        owners
            .get(at)
            .filter(|&&(start, ..)| start <= block)
            .map(|&(.., component)| component)
    }

    /// The ranges of `0..blocks` that no component holds and that are not void.
    pub fn unowned(&self, blocks: u32) -> RangeSet {
        let mut unowned = RangeSet::default();
        let mut next = 0;
        for &(start, end, _) in self.owners() {
            unowned.insert(next, start.min(blocks));
            next = end;
        }
        unowned.insert(next, blocks);
        unowned.difference(&self.void)
    }

    fn owners(&self) -> &[(u32, u32, usize)] {
        self.owners.get_or_init(|| {
            let mut owners: Vec<_> = self
                .components
                .iter()
                .enumerate()
                .flat_map(|(at, c)| c.blocks.ranges().iter().map(move |r| (r.0, r.1, at)))
                .collect();
            owners.sort_unstable();
            owners
        })
    }

    /// Notes that a load takes the logical blocks from `start` up to `end`, and forgets others that do not go on.
    pub fn load(&mut self, xid: u64, start: u32, end: u32, goes_on: impl Fn(u64) -> bool) {
        self.loading.retain(|load| goes_on(load.xid));
        let at = self.loading.iter().position(|load| load.xid == xid);
        let at = at.unwrap_or_else(|| {
            let blocks = RangeSet::default();
            self.loading.push(Loading { xid, blocks });
            self.loading.len() - 1
        });
        self.loading[at].blocks.insert(start, end);
    }

    /// The transaction of the load that has taken logical block `block`, if it is noted.
    pub fn loader_of(&self, block: u32) -> Option<u64> {
        let load = self.loading.iter().find(|load| load.blocks.contains(block))?;
        Some(load.xid)
    }

    /// Notes that the rows of these blocks have been published.
    pub fn loaded(&mut self, blocks: &RangeSet) {
        for load in &mut self.loading {
            load.blocks = load.blocks.difference(blocks);
        }
        self.loading.retain(|load| !load.blocks.is_empty());
    }

    /// An id that no component has had.
    pub fn new_id(&mut self) -> u64 {
        let id = self.next_component;
        self.next_component += 1;
        id
    }

    /// Adds a component, the youngest.
    pub fn add(&mut self, mut component: Component) {
        component.id = self.new_id();
        self.components.push(component);
    }

    /// Puts another component in the place of component `id`, which nobody else may have removed. It has the same rows, or
    /// says what it leaves out of them.
    pub fn replace(&mut self, id: u64, mut by: Component) {
        by.id = self.new_id();
        let of = self.components.iter_mut().find(|c| c.id == id);
        let of = of.expect("whoever removes components has the lock");
        by.unswept = by.unswept.or(of.unswept);
        *of = by;
    }

    /// Gives pages up.
    pub fn retire(&mut self, pages: RetiredPages) {
        self.retired.push(Retired {
            safexid: UNKNOWN_XID,
            pages,
        });
    }

    /// Pages of components, or of the stub directory, that were given up.
    pub fn retired_columnar(&self) -> RangeSet {
        let mut pages = RangeSet::default();
        for retired in &self.retired {
            if let RetiredPages::Columnar(extents) = &retired.pages {
                extents.iter().for_each(|e| pages.insert(e.start, e.start + e.len));
            }
        }
        pages
    }

    /// How many row pages were given up.
    pub fn retired_rows(&self) -> u64 {
        let of = |retired: &Retired| match &retired.pages {
            RetiredPages::Rows(rows) => rows.len() as u64,
            RetiredPages::Columnar(_) => 0,
        };
        self.retired.iter().map(of).sum()
    }

    /// Makes those of components free. Nobody is reading the relation.
    pub fn free_retired_columnar(&mut self) {
        let pages = self.retired_columnar();
        self.retired.retain(|r| !matches!(r.pages, RetiredPages::Columnar(_)));
        pages.ranges().iter().for_each(|&(start, end)| {
            let len = end - start;
            self.free.give(Extent { start, len });
        });
    }

    /// Takes free pages off the suspects: whoever takes them has them in hand until he publishes, and that they were
    /// suspects says nothing of them any more. Due with each change.
    pub fn trust_free(&mut self) {
        if let Some(suspects) = &mut self.suspects {
            suspects.pages = suspects.pages.difference(self.free.ranges());
        }
    }

    /// Fills in what was not known when this manifest was written. Whoever changes the manifest says what transaction
    /// id is next, after the change that wrote it was logged: an id that was next before may have been used, and its
    /// end logged, earlier than that change, and a standby's snapshot in between would pass for one that is past the
    /// change.
    pub fn stamp(&mut self, next_xid: u64) {
        let retired = self.retired.iter_mut().map(|r| &mut r.safexid);
        let unswept = self.components.iter_mut().filter_map(|c| c.unswept.as_mut());
        retired
            .chain(unswept.map(|u| &mut u.safexid))
            .filter(|xid| **xid == UNKNOWN_XID)
            .for_each(|xid| *xid = next_xid);
    }

    /// Whether anything that was given up waits for this transaction id to be removable.
    pub fn waits_for(&self, xid: u64) -> bool {
        let retired = self.retired.iter().map(|r| r.safexid);
        let unswept = self.components.iter().filter_map(|c| c.unswept);
        retired.chain(unswept.map(|u| u.safexid)).any(|safexid| safexid == xid)
    }

    /// Whether anything that was given up waits for a stamp.
    pub fn wants_stamp(&self) -> bool {
        self.waits_for(UNKNOWN_XID)
    }

    pub fn rows(&self) -> u64 {
        self.components.iter().map(|c| c.rows).sum()
    }

    /// Pages of the components.
    pub fn pages(&self) -> u64 {
        self.components.iter().map(|c| c.pages).sum()
    }

    pub fn encode(&self) -> Vec<u8> {
        seal(self)
    }

    /// Of a table of this format version.
    pub fn decode(bytes: &[u8], version: u32) -> Result<Manifest, Damaged> {
        if version > 3 {
            return unseal(bytes);
        }
        // It ends before the loads, of which it has none.
        let body = seal::unsealed(bytes)?;
        seal::decode(&[body, &[0]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tid::key;

    #[test]
    fn survives_encoding_and_notices_damage() {
        let mut manifest = Manifest {
            next_component: 7,
            ..Default::default()
        };
        manifest.free.give(Extent { start: 3, len: 4 });
        manifest.retired.push(Retired {
            safexid: 1 << 40,
            pages: RetiredPages::Rows(vec![(1, 2)]),
        });
        let mut bytes = manifest.encode();
        for version in [3, 4] {
            bytes[0] ^= 1;
            assert!(Manifest::decode(&bytes, version).is_err());
            assert!(Manifest::decode(&[], version).is_err());
            bytes[0] ^= 1;
        }
        assert_eq!(Manifest::decode(&bytes, 4).unwrap(), manifest);
    }

    #[test]
    fn reads_what_version_3_wrote() {
        let written = [
            7, 0, 0, 1, 3, 7, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 9, 0x26, 0x8b, 0, 0x92,
        ];
        let manifest = Manifest::decode(&written, 3).unwrap();
        assert_eq!(manifest.next_component, 7);
        assert_eq!(manifest.free.ranges().ranges(), [(3, 7)]);
        assert_eq!(manifest.suspects.unwrap().blocks, 9);
        assert_eq!(manifest.loading, []);
    }

    #[test]
    fn finds_the_component_of_a_block() {
        let component = |ranges: &[(u32, u32)]| {
            let mut blocks = RangeSet::default();
            ranges.iter().for_each(|r| blocks.insert(r.0, r.1));
            Component {
                id: 0,
                blocks,
                rows: 0,
                leaves: 0,
                pages: 0,
                directory: Blob::default(),
                origin: None,
                oldest_xid: None,
                unswept: None,
            }
        };
        let manifest = Manifest {
            components: vec![component(&[(4, 6), (9, 10)]), component(&[(0, 2), (6, 7)])],
            ..Default::default()
        };
        let of: Vec<_> = (0..11).map(|b| manifest.component_of(b)).collect();
        let (a, b) = (Some(0), Some(1));
        assert_eq!(of, [b, b, None, None, a, a, b, None, None, a, None]);
        assert_eq!(manifest.unowned(12).ranges(), [(2, 4), (7, 9), (10, 12)]);
        assert_eq!(manifest.unowned(8).ranges(), [(2, 4), (7, 8)]);
    }

    #[test]
    fn stamps_what_was_given_up_by_the_change_before() {
        let mut manifest = Manifest::default();
        manifest.retire(RetiredPages::Rows(vec![(1, 2)]));
        assert!(manifest.wants_stamp());
        manifest.stamp(7);
        assert!(!manifest.wants_stamp());
        manifest.retire(RetiredPages::Columnar(vec![]));
        assert!(manifest.wants_stamp());
        manifest.stamp(9);
        assert!(!manifest.wants_stamp());
        let xids: Vec<_> = manifest.retired.iter().map(|r| r.safexid).collect();
        assert_eq!(xids, [7, 9]);
    }

    #[test]
    fn knows_which_load_has_taken_a_block() {
        let mut manifest = Manifest::default();
        let go_on = |_| true;
        manifest.load(7, 2, 4, go_on);
        manifest.load(9, 4, 6, go_on);
        manifest.load(7, 6, 8, go_on);
        let of = |manifest: &Manifest| (1..9).map(|block| manifest.loader_of(block)).collect::<Vec<_>>();
        let (a, b) = (Some(7), Some(9));
        assert_eq!(of(&manifest), [None, a, a, b, b, a, a, None]);
        let mut blocks = RangeSet::default();
        blocks.insert(3, 6);
        manifest.loaded(&blocks);
        assert_eq!(of(&manifest), [None, a, None, None, None, a, a, None]);
        assert_eq!(manifest.loading.len(), 1);
        manifest.load(11, 1, 2, |xid| xid != 7);
        assert_eq!(manifest.loading.len(), 1);
        assert_eq!(manifest.loader_of(1), Some(11));
    }

    #[test]
    fn frees_columnar_pages_that_nobody_reads() {
        let mut manifest = Manifest::default();
        manifest.free.give(Extent { start: 3, len: 1 });
        manifest.retire(RetiredPages::Rows(vec![(1, 9)]));
        manifest.retire(RetiredPages::Columnar(vec![Extent { start: 4, len: 2 }]));
        manifest.retire(RetiredPages::Columnar(vec![Extent { start: 7, len: 1 }]));
        assert_eq!(manifest.retired_columnar().ranges(), [(4, 6), (7, 8)]);
        manifest.free_retired_columnar();
        assert_eq!(manifest.free.ranges().ranges(), [(3, 6), (7, 8)]);
        assert_eq!(manifest.retired.len(), 1);
    }

    #[test]
    fn free_pages_are_no_suspects() {
        let mut pages = RangeSet::default();
        pages.insert(3, 9);
        let mut manifest = Manifest {
            suspects: Some(Suspects {
                safexid: 7,
                pages,
                blocks: 0,
            }),
            ..Default::default()
        };
        manifest.free.give(Extent { start: 5, len: 2 });
        manifest.trust_free();
        assert_eq!(manifest.free.pages(), 2);
        let suspects = manifest.suspects.unwrap();
        assert_eq!(suspects.pages.ranges(), [(3, 5), (7, 9)]);
    }

    #[test]
    fn finds_the_leaf_of_a_key() {
        let leaf = |first, last| LeafEntry {
            first,
            last,
            rows: 1,
            image: Blob::default(),
            xids: LeafXids::Frozen,
            aliases: vec![],
        };
        let directory = Directory {
            leaves: vec![leaf(key(1, 1), key(3, 9)), leaf(key(5, 2), key(8, 1))],
        };
        assert_eq!(directory.leaf_of(key(1, 1)), Some(0));
        assert_eq!(directory.leaf_of(key(3, 10)), None);
        assert_eq!(directory.leaf_of(key(5, 1)), None);
        assert_eq!(directory.leaf_of(key(8, 1)), Some(1));
        assert_eq!(directory.leaf_of(key(9, 1)), None);
        assert_eq!(directory.first_leaf_at(4), 1);
        assert_eq!(directory.first_leaf_at(3), 0);
    }
}
