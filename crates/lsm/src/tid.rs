//! Row keys. A row's key is its TID: logical block number V in the high bits, offset in the low 16.

/// A row's key; orders as TIDs do.
pub type Key = u64;

/// Offsets run from 1 to MaxHeapTuplesPerPage on 8 kB pages (htup_details.h).
pub const MAX_OFFSET: u16 = 291;

pub fn key(block: u32, offset: u16) -> Key {
    u64::from(block) << 16 | u64::from(offset)
}

pub fn block(key: Key) -> u32 {
    (key >> 16) as u32
}

pub fn offset(key: Key) -> u16 {
    key as u16
}
