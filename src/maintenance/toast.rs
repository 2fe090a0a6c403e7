//! TOAST chunks of rows that were flushed: the component holds the values now, and no snapshot reads the row page any
//! more.
//!
//! They are not deleted by a transaction (maintenance has none) but marked as inserted by one that failed, with a stock
//! generic change; the TOAST table's own VACUUM, which follows ours, removes them and their index entries. It passes
//! over pages that the visibility map vouches for, so the map is changed too, and logged as an image of its page,
//! before the chunks are.

use crate::storage::buffer::{Change, Pin};
use crate::storage::rowpage::{self, heap_tuple, tid_block};
use crate::types::attribute;
use pgrx::pg_sys;

/// Marks all chunks that tuples of the page refer to. The caller has the TOAST table's lock.
pub unsafe fn kill_chunks(rel: pg_sys::Relation, pin: &Pin) {
    let toast = (*(*rel).rd_rel).reltoastrelid;
    if toast == pg_sys::InvalidOid {
        return;
    }
    let mut values = Vec::new();
    for offset in rowpage::offsets(pin.page()) {
        if let Some(mut tuple) = heap_tuple(rel, pin, offset)
            && (*tuple.t_data).t_infomask & pg_sys::HEAP_HASEXTERNAL as u16 != 0
        {
            external_values(&mut tuple, (*rel).rd_att, toast, &mut values);
        }
    }
    if values.is_empty() {
        return;
    }
    let lock = pg_sys::RowExclusiveLock as i32;
    let table = pg_sys::table_open(toast, lock);
    let (mut indexes, mut count) = (std::ptr::null_mut(), 0);
    let valid = pg_sys::toast_open_indexes(table, lock, &mut indexes, &mut count);
    let index = *indexes.add(valid as usize);
    let mut tids = Vec::new();
    for value in values {
        chunks(table, index, value, &mut tids);
    }
    tids.sort_unstable();
    let mut blocks: Vec<u32> = tids.iter().map(|tid| tid.0).collect();
    blocks.dedup();
    clear_visible(table, &blocks);
    for of_block in tids.chunk_by(|a, b| a.0 == b.0) {
        kill(table, of_block);
    }
    pg_sys::toast_close_indexes(indexes, count, pg_sys::NoLock as i32);
    pg_sys::table_close(table, pg_sys::NoLock as i32);
}

/// The TOAST value ids in a tuple.
unsafe fn external_values(
    tuple: &mut pg_sys::HeapTupleData,
    desc: pg_sys::TupleDesc,
    toast: pg_sys::Oid,
    out: &mut Vec<pg_sys::Oid>,
) {
    let natts = (*desc).natts as usize;
    let mut values = vec![pg_sys::Datum::null(); natts];
    let mut isnull = vec![true; natts];
    pg_sys::heap_deform_tuple(tuple, desc, values.as_mut_ptr(), isnull.as_mut_ptr());
    for at in 0..natts {
        if isnull[at] || (*attribute(desc, at)).attlen != -1 {
            continue;
        }
        let varlena = values[at].cast_mut_ptr::<u8>();
        // VARATT_IS_EXTERNAL_ONDISK (postgres.h): a one-byte header of 1, the tag VARTAG_ONDISK (18), then
        // varatt_external.
        if *varlena == 1 && *varlena.add(1) == 18 {
            let pointer = std::ptr::read_unaligned(varlena.add(2) as *const pg_sys::varatt_external);
            if pointer.va_toastrelid == toast {
                out.push(pointer.va_valueid);
            }
        }
    }
}

/// The places of a value's chunks.
unsafe fn chunks(table: pg_sys::Relation, index: pg_sys::Relation, value: pg_sys::Oid, out: &mut Vec<(u32, u16)>) {
    let mut key: pg_sys::ScanKeyData = std::mem::zeroed();
    pg_sys::ScanKeyInit(
        &mut key,
        1,
        pg_sys::BTEqualStrategyNumber as u16,
        pg_sys::Oid::from(pg_sys::F_OIDEQ),
        pg_sys::Datum::from(value),
    );
    let mut snapshot: pg_sys::SnapshotData = std::mem::zeroed();
    snapshot.snapshot_type = pg_sys::SnapshotType::SNAPSHOT_TOAST;
    let scan = pg_sys::systable_beginscan_ordered(table, index, &mut snapshot, 1, &mut key);
    loop {
        let chunk = pg_sys::systable_getnext_ordered(scan, pg_sys::ScanDirection::ForwardScanDirection);
        if chunk.is_null() {
            break;
        }
        out.push((tid_block(&(*chunk).t_self), (*chunk).t_self.ip_posid));
    }
    pg_sys::systable_endscan_ordered(scan);
}

/// Marks chunks, all of one block.
unsafe fn kill(table: pg_sys::Relation, tids: &[(u32, u16)]) {
    let block = tids[0].0;
    let pin = Pin::read(table, block);
    std::mem::forget(pin.exclusive());
    let mut change = Change::begin(table);
    let handle = change.locked(pin.into_buffer());
    let page = change.raw(handle);
    const COMMITTED: u16 = pg_sys::HEAP_XMIN_COMMITTED as u16;
    const INVALID: u16 = pg_sys::HEAP_XMIN_INVALID as u16;
    for &(_, offset) in tids {
        if let Some((tuple, _)) = rowpage::tuple_at(page, offset) {
            let state = &mut (*tuple).t_infomask;
            if *state & (COMMITTED | INVALID) != INVALID {
                *state = *state & !COMMITTED | INVALID;
                // Autovacuum goes by this count.
                pg_sys::pgstat_count_heap_delete(table);
            }
        }
    }
    let header = page as *mut pg_sys::PageHeaderData;
    if (*header).pd_flags & pg_sys::PD_ALL_VISIBLE as u16 != 0 {
        (*header).pd_flags &= !(pg_sys::PD_ALL_VISIBLE as u16);
        // Another VACUUM may have set it again.
        clear_visible(table, &[block]);
    }
    change.commit();
}

/// Heap blocks that a page of the visibility map has bits for, two each (visibilitymap.c).
const BLOCKS_PER_MAP_PAGE: u32 = (pg_sys::BLCKSZ - 24) * 4;

/// Takes the bits of ascending blocks out of the visibility map. PostgreSQL logs that only along with changes of rows.
unsafe fn clear_visible(table: pg_sys::Relation, blocks: &[u32]) {
    let permanent = (*(*table).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as i8;
    for of_page in blocks.chunk_by(|a, b| a / BLOCKS_PER_MAP_PAGE == b / BLOCKS_PER_MAP_PAGE) {
        let mut map = 0;
        let mut cleared = false;
        for &block in of_page {
            if pg_sys::visibilitymap_get_status(table, block, &mut map) != 0 {
                let bits = pg_sys::VISIBILITYMAP_VALID_BITS as u8;
                cleared |= pg_sys::visibilitymap_clear(table, block, map, bits);
            }
        }
        if map == 0 {
            continue;
        }
        let pin = Pin::adopt(map);
        if cleared && permanent {
            let _lock = pin.exclusive();
            pg_sys::CritSectionCount += 1;
            pg_sys::log_newpage_buffer(pin.buffer(), false);
            pg_sys::CritSectionCount -= 1;
        }
    }
}
