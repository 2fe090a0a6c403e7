//! Stubs older than a key. A unique index or a replica identity that came when a row already had its stub makes columns
//! keys which the stub has as NULL. Heap would take their NULLs for the row's old values: for locks it is told here
//! what the row says; for logical decoding the stub has to be made anew.

use super::row::Row;
use super::stub;
use crate::disguise::keys::Keys;
use crate::heap::settled::settled;
use crate::pg::tupdesc::Attribute;
use crate::pg::{Lock, Pin, Relation, Slot, Tuple, xid};
use crate::storage::rowpage::{heap_tuple, tid_block};
use pg_sys::IndexAttrBitmapKind::{INDEX_ATTR_BITMAP_IDENTITY_KEY, INDEX_ATTR_BITMAP_KEY};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;

/// Has heap_update() find the row's key changed if and only if it is, while the result lives. `new` is the version to
/// be, `row` the columnar row whose stub is at `place`. None when the stub lacks nothing.
pub fn pose<'a>(
    rel: &'a Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    new: &Slot,
    row: impl FnOnce() -> Row,
) -> Option<Keys<'a>> {
    let mut keys = rel.index_attributes(INDEX_ATTR_BITMAP_KEY);
    let lacking = lacking(rel, tid, place, row, |at| keys.has(at));
    if lacking.is_empty() {
        return None;
    }
    let mut changed = false;
    for (at, old) in lacking {
        keys.remove(at);
        let (value, null) = new.value(at);
        // SAFETY: two values of that attribute.
        changed |= null || unsafe { !values_equal(value, old, rel.desc().attribute(at)) };
    }
    if changed {
        keys.add_whole_row();
    }
    Some(Keys::replace(rel, keys))
}

/// # Safety
/// Both are values of the attribute.
unsafe fn values_equal(a: pg_sys::Datum, b: pg_sys::Datum, att: &Attribute) -> bool {
    // SAFETY: as the caller promises.
    unsafe { pg_sys::datum_image_eq(a, b, att.attbyval, att.attlen.into()) }
}

/// Whether the stub lacks what is logged of the old row. The table is logically logged.
pub fn lacks_identity(
    rel: &Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    row: impl FnOnce() -> Row,
) -> bool {
    let identity = rel.index_attributes(INDEX_ATTR_BITMAP_IDENTITY_KEY);
    let logged = |at| rel.has_full_identity() || identity.has(at);
    !lacking(rel, tid, place, row, logged).is_empty()
}

/// Takes such a stub away, so that a new one is made. False when the row cannot be changed anyway: heap
/// says why.
pub fn renew(rel: &Relation, pin: &Pin, offset: u16) -> bool {
    let oldest_xmin = xid::oldest_xmin(rel);
    if let Some(lock) = pin.try_cleanup() {
        let Some(mut stub) = heap_tuple(rel, pin, offset) else {
            return true;
        };
        if settled(&mut stub, &lock, oldest_xmin) {
            let row = stub::key_of(&stub).expect("looked at under the same pin");
            stub::remove_idle(rel, &lock, &[(row, offset)]);
            return true;
        }
    }
    let _lock = pin.share();
    let Some(mut stub) = heap_tuple(rel, pin, offset) else {
        return true;
    };
    use pg_sys::HTSV_Result::*;
    let in_use = match stub.fate(oldest_xmin, pin.buffer()) {
        HEAPTUPLE_LIVE => true,
        HEAPTUPLE_DELETE_IN_PROGRESS => !xid::is_current(stub.header().update_xid()),
        _ => false,
    };
    if in_use {
        ErrorReport::new(
            PgSqlErrorCode::ERRCODE_OBJECT_IN_USE,
            format!(
                "row of relation \"{}\" is locked since before its replica identity was set",
                rel.name()
            ),
            "",
        )
        .set_hint("Try again when the transactions that lock the row have ended.")
        .report(PgLogLevel::ERROR);
    }
    false
}

/// Those of the columns (from 0) that are NULL in the stub but not in its row, with their values.
fn lacking(
    rel: &Relation,
    tid: &pg_sys::ItemPointerData,
    place: &pg_sys::ItemPointerData,
    row: impl FnOnce() -> Row,
    wanted: impl Fn(usize) -> bool,
) -> Vec<(usize, pg_sys::Datum)> {
    let desc = rel.desc();
    let nulls = |tuple: &mut Tuple, _: &Lock| {
        let wanted = (0..desc.natts()).filter(|&at| wanted(at));
        wanted.filter(|&at| tuple.is_null(at, desc)).collect()
    };
    let stub = |at: &pg_sys::ItemPointerData| (tid_block(at), at.ip_posid);
    let nulls: Vec<usize> = stub::with_tuple(rel, stub(tid), stub(place), nulls).unwrap_or_default();
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
