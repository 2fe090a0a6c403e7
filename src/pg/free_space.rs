//! The free space map (freespace.c), by physical block.

use super::relation::Relation;
use pgrx::pg_sys;

/// RecordPageWithFreeSpace().
pub fn record(rel: &Relation, block: u32, bytes: usize) {
    // SAFETY: an open relation.
    unsafe { pg_sys::RecordPageWithFreeSpace(rel.raw(), block, bytes) }
}

/// GetRecordedFreeSpace().
pub fn recorded(rel: &Relation, block: u32) -> usize {
    // SAFETY: an open relation.
    unsafe { pg_sys::GetRecordedFreeSpace(rel.raw(), block) }
}

/// GetPageWithFreeSpace(): a block, or InvalidBlockNumber.
pub fn find(rel: &Relation, bytes: usize) -> u32 {
    // SAFETY: an open relation.
    unsafe { pg_sys::GetPageWithFreeSpace(rel.raw(), bytes) }
}

/// RecordAndGetPageWithFreeSpace(): the next candidate, after a block turned out to have `left` bytes.
pub fn find_another(rel: &Relation, block: u32, left: usize, bytes: usize) -> u32 {
    // SAFETY: an open relation.
    unsafe { pg_sys::RecordAndGetPageWithFreeSpace(rel.raw(), block, left, bytes) }
}

/// FreeSpaceMapVacuum().
pub fn vacuum(rel: &Relation) {
    // SAFETY: an open relation.
    unsafe { pg_sys::FreeSpaceMapVacuum(rel.raw()) }
}

/// FreeSpaceMapVacuumRange().
pub fn vacuum_range(rel: &Relation, start: u32, end: u32) {
    // SAFETY: an open relation.
    unsafe { pg_sys::FreeSpaceMapVacuumRange(rel.raw(), start, end) }
}

/// Lengthens the map and the visibility map to the table's last block, as heap's insertion of a row would.
pub fn lengthen(rel: &Relation) {
    let last = rel.physical_blocks() - 1;
    record(rel, last, recorded(rel, last));
    let mut buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;
    // SAFETY: an open relation; the pin is released at once.
    unsafe {
        pg_sys::visibilitymap_pin(rel.raw(), last, &mut buffer);
        pg_sys::ReleaseBuffer(buffer);
    }
}
