//! Values out of line, whose chunks are in heap's TOAST table.
//!
//! Those of rows that were flushed are of no use: the component holds the values now, and no snapshot reads the row page any
//! more.
//!
//! They are not deleted by a transaction (maintenance has none) but marked as inserted by one that failed, with a stock
//! generic change; the TOAST table's own VACUUM, which follows ours, removes them and their index entries. It passes
//! over pages that the visibility map vouches for, so the map is changed too, and logged as an image of its page,
//! before the chunks are.

use crate::pg::relation::Opened;
use crate::pg::snapshot::Own;
use crate::pg::stats::count_delete;
use crate::pg::values::Row;
use crate::pg::{Pin, Relation, TupleDesc, Values, wal};
use crate::storage::buffer::Change;
use crate::storage::rowpage::{self, heap_tuple, heap_tuple_of, tid_block};
use pgrx::pg_sys;

/// The ids of the values out of line that tuples of the page refer to. The caller has it locked.
pub fn values_on(rel: &Relation, pin: &Pin) -> Vec<pg_sys::Oid> {
    let mut values = Vec::new();
    let Some(toast) = rel.toast() else {
        return values;
    };
    let mut row = Row::new(rel.desc().natts());
    for offset in rowpage::offsets(pin.page()) {
        if let Some(mut tuple) = heap_tuple(rel, pin, offset)
            && tuple.header().has_external()
        {
            external_values(row.deform(&mut tuple, rel.desc()), rel.desc(), toast, &mut values);
        }
    }
    values
}

/// Takes, to the end of the transaction, the locks that whoever reads values out of line takes: then reading one takes no
/// messages of catalogs that have changed, hence no snapshot for reading them again, and no later horizon with that.
pub fn lock_for_reading(rel: &Relation) {
    if let Some(toast) = rel.toast() {
        let table = Opened::with_lock(toast, pg_sys::AccessShareLock);
        table.all_indexes(|index| {
            Opened::with_lock(index.id, pg_sys::AccessShareLock);
            true
        });
    }
}

/// Marks all chunks of these values. The caller has the TOAST table's lock, and no page locked.
pub fn kill_chunks(rel: &Relation, values: &[pg_sys::Oid]) {
    let Some(toast) = rel.toast().filter(|_| !values.is_empty()) else {
        return;
    };
    let table = Opened::with_lock(toast, pg_sys::RowExclusiveLock);
    let mut tids = chunks(&table, values);
    tids.sort_unstable();
    let mut blocks: Vec<u32> = tids.iter().map(|tid| tid.0).collect();
    blocks.dedup();
    clear_visible(&table, &blocks);
    for of_block in tids.chunk_by(|a, b| a.0 == b.0) {
        kill(&table, of_block);
    }
}

/// The TOAST value ids in a tuple.
fn external_values(row: Values, desc: &TupleDesc, toast: pg_sys::Oid, out: &mut Vec<pg_sys::Oid>) {
    for at in (0..desc.natts()).filter(|&at| desc.attribute(at).attlen == -1) {
        let Some(value) = row.get(at) else {
            continue;
        };
        let varlena = value.cast_mut_ptr::<u8>();
        // VARATT_IS_EXTERNAL_ONDISK (postgres.h): a one-byte header of 1, the tag VARTAG_ONDISK (18), then
        // varatt_external.
        // SAFETY: a value of variable length, as long as its header says.
        let pointer = unsafe {
            (*varlena == 1 && *varlena.add(1) == 18)
                .then(|| std::ptr::read_unaligned(varlena.add(2) as *const pg_sys::varatt_external))
        };
        out.extend(pointer.filter(|p| p.va_toastrelid == toast).map(|p| p.va_valueid));
    }
}

/// The places of the values' chunks.
fn chunks(table: &Relation, values: &[pg_sys::Oid]) -> Vec<(u32, u16)> {
    let lock = pg_sys::RowExclusiveLock as i32;
    let (mut indexes, mut count) = (std::ptr::null_mut(), 0);
    let mut tids = Vec::new();
    // SAFETY: a TOAST table, open and locked; its valid index is among those opened, and all are closed again.
    unsafe {
        let valid = pg_sys::toast_open_indexes(table.raw(), lock, &mut indexes, &mut count);
        let index = *indexes.add(valid as usize);
        for &value in values {
            chunks_of(table, index, value, &mut tids);
        }
        pg_sys::toast_close_indexes(indexes, count, pg_sys::NoLock as i32);
    }
    tids
}

/// # Safety
/// The TOAST table's index on value ids.
unsafe fn chunks_of(table: &Relation, index: pg_sys::Relation, value: pg_sys::Oid, out: &mut Vec<(u32, u16)>) {
    let snapshot = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_TOAST);
    // SAFETY: as the caller promises; the key is about the index's first column, an OID.
    unsafe {
        let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
        pg_sys::ScanKeyInit(
            &mut key,
            1,
            pg_sys::BTEqualStrategyNumber as u16,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(value),
        );
        let scan = pg_sys::systable_beginscan_ordered(table.raw(), index, snapshot.raw(), 1, &mut key);
        let next = || pg_sys::systable_getnext_ordered(scan, pg_sys::ScanDirection::ForwardScanDirection).as_ref();
        while let Some(chunk) = next() {
            out.push((tid_block(&chunk.t_self), chunk.t_self.ip_posid));
        }
        pg_sys::systable_endscan_ordered(scan);
    }
}

/// Marks chunks, all of one block.
fn kill(table: &Relation, tids: &[(u32, u16)]) {
    let block = tids[0].0;
    let mut change = Change::begin(table);
    let handle = change.locked(Pin::read(table, block).lock());
    let mut page = change.whole(handle);
    const COMMITTED: u16 = pg_sys::HEAP_XMIN_COMMITTED as u16;
    const INVALID: u16 = pg_sys::HEAP_XMIN_INVALID as u16;
    for &(_, offset) in tids {
        if let Some(mut chunk) = heap_tuple_of(table, *page, block, offset) {
            let state = &mut chunk.header_mut().t_infomask;
            if *state & (COMMITTED | INVALID) != INVALID {
                *state = *state & !COMMITTED | INVALID;
                // Autovacuum goes by this count.
                count_delete(table);
            }
        }
    }
    if page.clear_all_visible() {
        // Another VACUUM may have set it again.
        clear_visible(table, &[block]);
    }
    change.commit();
}

/// Heap blocks that a page of the visibility map has bits for, two each (visibilitymap.c).
const BLOCKS_PER_MAP_PAGE: u32 = (pg_sys::BLCKSZ - 24) * 4;

/// Takes the bits of ascending blocks out of the visibility map. PostgreSQL logs that only along with changes of rows.
fn clear_visible(table: &Relation, blocks: &[u32]) {
    for of_page in blocks.chunk_by(|a, b| a / BLOCKS_PER_MAP_PAGE == b / BLOCKS_PER_MAP_PAGE) {
        let mut map = 0;
        let mut cleared = false;
        for &block in of_page {
            // SAFETY: an open table; `map` is no buffer, or the pinned one of a page of the map.
            unsafe {
                if pg_sys::visibilitymap_get_status(table.raw(), block, &mut map) != 0 {
                    let bits = pg_sys::VISIBILITYMAP_VALID_BITS as u8;
                    cleared |= pg_sys::visibilitymap_clear(table.raw(), block, map, bits);
                }
            }
        }
        if map == 0 {
            continue;
        }
        // SAFETY: visibilitymap_get_status() pinned it for us.
        let pin = unsafe { Pin::adopt(map) };
        if cleared && table.is_permanent() {
            wal::log_page(&pin.exclusive());
        }
    }
}
