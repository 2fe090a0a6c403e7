//! The metapage's payload.
//!
//! ```text
//!    0  u32  format version
//!    4  u32  logical blocks handed out so far
//!    8  u64  manifest sequence number, +1 at every flip
//!   16  u32  manifest bytes (0: none yet, an empty manifest)
//!   20  u32  manifest extents in use
//!   24  u32  map epoch, +1 whenever a mapping is taken back
//!   32  u128 incarnation (0: none yet)
//!   64  [u32 start, u32 len; 100]  manifest extents
//!  864  [u32; 256] x 3             radix tables of the page maps (see `Map`)
//! 3936  [u32; 512]                 V -> P for V < 512, in place
//! 5984  [u32; 512]                 P -> V + 1 for P < 512, in place
//! ```

use crate::{Blob, Damaged, Extent};

/// Version of everything on disk. Raised when a layout changes.
pub const FORMAT_VERSION: u32 = 5;
/// The oldest that is read. A table of it is of the newest once its manifest has been replaced: version 4 has loads in
/// progress in the manifest, version 5 leaves with longer bounds of strings, and nothing else is new.
pub const OLDEST_VERSION: u32 = 3;
/// Smallest payload the layout fits in.
pub const BYTES: usize = 8032;

/// The first byte of the manifest's sequence number.
pub const SEQUENCE: usize = 8;
const INCARNATION: usize = 32;
pub const MAX_EXTENTS: usize = 100;
/// Entries of one map page.
pub const MAP_FANOUT: u32 = 2040;
const TABLE: usize = 256;
/// Entries of the small maps inside the metapage.
pub const INLINE: u32 = 512;

/// The page maps. Each is a radix tree of two levels of map pages under a table in the metapage; 0 means no entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Map {
    /// Logical block V -> physical page P of its row page.
    Forward,
    /// Physical page P -> V + 1.
    Reverse,
    /// V / 4 -> page of the stub directory.
    Stubs,
}

/// Where in its map an index lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// In the metapage itself, at this byte.
    Inline(usize),
    /// Through the metapage's table (byte of the entry), then `mid` in the upper map page and `low` in the lower.
    Tree { table: usize, mid: usize, low: usize },
}

impl Map {
    /// The metapage's table for this map: byte of the first entry, number of entries.
    pub fn table(self) -> (usize, usize) {
        (864 + self as usize * TABLE * 4, TABLE)
    }

    /// None when the index is beyond what the map can hold.
    pub fn slot(self, index: u32) -> Option<Slot> {
        let inline = match self {
            Map::Forward => Some(3936),
            Map::Reverse => Some(5984),
            Map::Stubs => None,
        };
        match inline {
            Some(base) if index < INLINE => Some(Slot::Inline(base + index as usize * 4)),
            _ => {
                let top = (index / (MAP_FANOUT * MAP_FANOUT)) as usize;
                (top < TABLE).then_some(Slot::Tree {
                    table: 864 + (self as usize * TABLE + top) * 4,
                    mid: (index / MAP_FANOUT % MAP_FANOUT) as usize,
                    low: (index % MAP_FANOUT) as usize,
                })
            }
        }
    }
}

pub fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

pub fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub fn init(meta: &mut [u8]) {
    meta[..BYTES].fill(0);
    put_u32(meta, 0, FORMAT_VERSION);
}

pub fn check(meta: &[u8]) -> Result<(), Damaged> {
    match version(meta) {
        OLDEST_VERSION..=FORMAT_VERSION => Ok(()),
        other => Err(Damaged(format!(
            "format version {other}, this library knows {OLDEST_VERSION} to {FORMAT_VERSION}"
        ))),
    }
}

pub fn version(meta: &[u8]) -> u32 {
    get_u32(meta, 0)
}

pub fn blocks(meta: &[u8]) -> u32 {
    get_u32(meta, 4)
}

pub fn set_blocks(meta: &mut [u8], blocks: u32) {
    put_u32(meta, 4, blocks);
}

pub fn sequence(meta: &[u8]) -> u64 {
    u64::from_le_bytes(meta[SEQUENCE..SEQUENCE + 8].try_into().unwrap())
}

pub fn manifest(meta: &[u8]) -> Result<Blob, Damaged> {
    let count = get_u32(meta, 20) as usize;
    if count > MAX_EXTENTS {
        return Err(Damaged(format!("{count} manifest extents")));
    }
    let extents = (0..count)
        .map(|i| Extent {
            start: get_u32(meta, 64 + i * 8),
            len: get_u32(meta, 68 + i * 8),
        })
        .collect();
    Ok(Blob {
        extents,
        len: get_u32(meta, 16).into(),
    })
}

/// Points the metapage at a new manifest, of the newest version. False when it has more extents than fit.
#[must_use]
pub fn set_manifest(meta: &mut [u8], blob: &Blob) -> bool {
    if blob.extents.len() > MAX_EXTENTS || blob.len > u32::MAX.into() {
        return false;
    }
    put_u32(meta, 0, FORMAT_VERSION);
    let next = sequence(meta) + 1;
    meta[SEQUENCE..SEQUENCE + 8].copy_from_slice(&next.to_le_bytes());
    put_u32(meta, 16, blob.len as u32);
    put_u32(meta, 20, blob.extents.len() as u32);
    for (i, extent) in blob.extents.iter().enumerate() {
        put_u32(meta, 64 + i * 8, extent.start);
        put_u32(meta, 68 + i * 8, extent.len);
    }
    true
}

pub fn epoch(meta: &[u8]) -> u32 {
    get_u32(meta, 24)
}

pub fn bump_epoch(meta: &mut [u8]) {
    put_u32(meta, 24, epoch(meta).wrapping_add(1));
}

/// A random number of this content of the file, which says that a TID has had no other row, since somebody has asked for it.
pub fn incarnation(meta: &[u8]) -> Option<u128> {
    let number = u128::from_le_bytes(meta[INCARNATION..INCARNATION + 16].try_into().unwrap());
    (number > 0).then_some(number)
}

pub fn set_incarnation(meta: &mut [u8], number: u128) {
    meta[INCARNATION..INCARNATION + 16].copy_from_slice(&number.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap() {
        let mut seen = std::collections::HashSet::new();
        for map in [Map::Forward, Map::Reverse] {
            for index in 0..INLINE {
                let Some(Slot::Inline(at)) = map.slot(index) else {
                    panic!("not inline")
                };
                assert!(at + 4 <= BYTES && seen.insert(at));
            }
        }
        for map in [Map::Forward, Map::Reverse, Map::Stubs] {
            for top in 0..TABLE as u32 {
                let index = top * MAP_FANOUT * MAP_FANOUT + if top == 0 { INLINE } else { 0 };
                let Some(Slot::Tree { table, .. }) = map.slot(index) else {
                    panic!("not in the tree")
                };
                assert!((864..3936).contains(&table) && seen.insert(table));
            }
        }
        assert_eq!(Map::Forward.slot(u32::MAX), None);
    }

    #[test]
    fn manifest_pointer_round_trips() {
        let mut meta = vec![0; BYTES];
        init(&mut meta);
        check(&meta).unwrap();
        let blob = Blob {
            extents: vec![Extent { start: 9, len: 2 }],
            len: 12345,
        };
        assert!(set_manifest(&mut meta, &blob));
        assert_eq!((manifest(&meta).unwrap(), sequence(&meta)), (blob, 1));
        assert_eq!(incarnation(&meta), None);
        set_incarnation(&mut meta, 7 << 100);
        assert!(set_manifest(&mut meta, &Blob::default()));
        assert_eq!(incarnation(&meta), Some(7 << 100));
    }

    #[test]
    fn an_old_table_becomes_a_new_one_with_its_next_manifest() {
        let mut meta = vec![0; BYTES];
        for (version, known) in [(2, false), (3, true), (4, true), (5, true), (6, false)] {
            put_u32(&mut meta, 0, version);
            assert_eq!(check(&meta).is_ok(), known, "{version}");
        }
        put_u32(&mut meta, 0, OLDEST_VERSION);
        assert!(set_manifest(&mut meta, &Blob::default()));
        assert_eq!(version(&meta), FORMAT_VERSION);
    }
}
