//! Stubs older than a key. A unique index or a replica identity that came when a row already had its stub makes columns
//! keys which the stub has as NULL. Heap would take their NULLs for the row's old values: for locks it is told here
//! what the row says; for logical decoding the stub has to be made anew.

use super::row::Row;
use super::stub;
use crate::heap::settled::settled;
use crate::heap::tuple::update_xid;
use crate::pg::relation::rel_name;
use crate::storage::buffer::Pin;
use crate::storage::rowpage::{heap_tuple, tid_block};
use crate::types::attribute;
use pg_sys::IndexAttrBitmapKind::{INDEX_ATTR_BITMAP_IDENTITY_KEY, INDEX_ATTR_BITMAP_KEY};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// While one of these lives, heap_update() finds the row's key changed if and only if it is.
pub struct Posed {
    rel: pg_sys::Relation,
    keys: *mut pg_sys::Bitmapset,
    posed: *mut pg_sys::Bitmapset,
}

/// `new` is the version to be, `row` the columnar row whose stub is at `place`. None when the stub lacks nothing.
pub unsafe fn pose(
    rel: pg_sys::Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    new: *mut pg_sys::TupleTableSlot,
    row: impl FnOnce() -> Row,
) -> Option<Posed> {
    let mut posed = pg_sys::RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
    let lacking = lacking(rel, tid, place, row, |at| pg_sys::bms_is_member(member(at), posed));
    if lacking.is_empty() {
        pg_sys::bms_free(posed);
        return None;
    }
    let natts = (*(*rel).rd_att).natts;
    if i32::from((*new).tts_nvalid) < natts {
        pg_sys::slot_getsomeattrs_int(new, natts);
    }
    let mut changed = false;
    for (at, old) in lacking {
        posed = pg_sys::bms_del_member(posed, member(at));
        let att = attribute((*rel).rd_att, at);
        let (value, null) = (*(*new).tts_values.add(at), *(*new).tts_isnull.add(at));
        changed |= null || !pg_sys::datum_image_eq(value, old, (*att).attbyval, (*att).attlen.into());
    }
    if changed {
        // Attribute 0, the whole row, always counts as changed (HeapDetermineColumnsInfo()).
        posed = pg_sys::bms_add_member(posed, -pg_sys::FirstLowInvalidHeapAttributeNumber);
    }
    let keys = std::mem::replace(&mut (*rel).rd_keyattr, posed);
    Some(Posed { rel, keys, posed })
}

impl Drop for Posed {
    fn drop(&mut self) {
        // Otherwise the relcache entry was rebuilt meanwhile, and ours freed with the old one.
        unsafe {
            if (*self.rel).rd_keyattr == self.posed {
                (*self.rel).rd_keyattr = self.keys;
            }
        }
    }
}

fn member(at: usize) -> i32 {
    at as i32 + 1 - pg_sys::FirstLowInvalidHeapAttributeNumber
}

/// Whether the stub lacks what is logged of the old row. The table is logically logged.
pub unsafe fn lacks_identity(
    rel: pg_sys::Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    row: impl FnOnce() -> Row,
) -> bool {
    let full = (*(*rel).rd_rel).relreplident as u8 == pg_sys::REPLICA_IDENTITY_FULL;
    let identity = pg_sys::RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_IDENTITY_KEY);
    let logged = |at| full || pg_sys::bms_is_member(member(at), identity);
    !lacking(rel, tid, place, row, logged).is_empty()
}

/// Takes such a stub away, so that a new one is made. False when the row cannot be changed anyway: heap
/// says why.
pub unsafe fn renew(rel: pg_sys::Relation, pin: &Pin, offset: u16) -> bool {
    let oldest_xmin = pg_sys::GetOldestNonRemovableTransactionId(rel);
    if let Some(_lock) = pin.try_cleanup() {
        let Some(mut stub) = heap_tuple(rel, pin, offset) else {
            return true;
        };
        if settled(&mut stub, pin, oldest_xmin) {
            let row = stub::key_of(&stub).expect("looked at under the same pin");
            stub::take_off(rel, pin, &[(row, offset)]);
            return true;
        }
    }
    let _lock = pin.share();
    let Some(mut stub) = heap_tuple(rel, pin, offset) else {
        return true;
    };
    use pg_sys::HTSV_Result::*;
    let in_use = match pg_sys::HeapTupleSatisfiesVacuum(&mut stub, oldest_xmin, pin.buffer()) {
        HEAPTUPLE_LIVE => true,
        HEAPTUPLE_DELETE_IN_PROGRESS => {
            let xid = update_xid(stub.t_data);
            !pg_sys::TransactionIdIsCurrentTransactionId(xid)
        }
        _ => false,
    };
    if in_use {
        ErrorReport::new(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            format!(
                "row of relation \"{}\" is locked since before its replica identity was set",
                rel_name(rel)
            ),
            "",
        )
        .set_hint("Try again when the transactions that lock the row have ended.")
        .report(PgLogLevel::ERROR);
    }
    false
}

/// Those of the columns (from 0) that are NULL in the stub but not in its row, with their values.
unsafe fn lacking(
    rel: pg_sys::Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    row: impl FnOnce() -> Row,
    wanted: impl Fn(usize) -> bool,
) -> Vec<(usize, pg_sys::Datum)> {
    let desc = (*rel).rd_att;
    let null = |tuple: &mut pg_sys::HeapTupleData| {
        let wanted = (0..(*desc).natts as usize).filter(|&at| wanted(at));
        wanted
            .filter(|&at| pg_sys::heap_attisnull(tuple, at as i32 + 1, desc))
            .collect()
    };
    let stub = |at: &pg_sys::ItemPointerData| (tid_block(at), at.ip_posid);
    let nulls: Vec<usize> =
        stub::with_tuple(rel, stub(tid), stub(place), |tuple, _, _| null(tuple)).unwrap_or_default();
    if nulls.is_empty() {
        return Vec::new();
    }
    let row = row();
    let value = |at| (at, row.attribute(desc, at));
    let values = nulls.into_iter().map(value);
    values
        .filter(|(_, (_, null))| !null)
        .map(|(at, (value, _))| (at, value))
        .collect()
}
