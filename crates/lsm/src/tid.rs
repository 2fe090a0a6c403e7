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

/// A row's number among all that there may be, block after block.
pub fn ordinal(key: Key) -> u64 {
    u64::from(block(key)) * u64::from(MAX_OFFSET) + u64::from(offset(key)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_numbers_in_their_order() {
        let keys = [key(0, 1), key(0, 2), key(0, MAX_OFFSET), key(1, 1), key(7, 3)];
        assert_eq!(keys.map(ordinal), [0, 1, 290, 291, 7 * 291 + 2]);
    }
}
