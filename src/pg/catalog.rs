//! Rows of PostgreSQL's catalogs that no cache has yet.

use super::relation::Opened;
use super::snapshot::{Own, Snapshot};
use pgrx::pg_sys;
use std::ptr::null_mut;

/// Whether the command under way has given the relation another access method: the next command will see it.
pub fn has_new_access_method(relid: pg_sys::Oid) -> bool {
    let own = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_SELF);
    access_method(relid, Some(&own)) != access_method(relid, None)
}

/// pg_class.relam as a snapshot sees it, by default the catalogs' own.
fn access_method(relid: pg_sys::Oid, snapshot: Option<&Snapshot>) -> Option<pg_sys::Oid> {
    let catalog = Opened::with_lock(pg_sys::RelationRelationId, pg_sys::AccessShareLock);
    let index = pg_sys::Oid::from(pg_sys::ClassOidIndexId);
    let snapshot = snapshot.map_or(null_mut(), Snapshot::raw);
    let (column, equal) = (pg_sys::Anum_pg_class_oid as i16, pg_sys::BTEqualStrategyNumber as u16);
    let by = pg_sys::Oid::from(pg_sys::F_OIDEQ);
    // SAFETY: numbers and pointers, which are filled in below.
    let mut key: pg_sys::ScanKeyData = unsafe { std::mem::zeroed() };
    // SAFETY: a key of the index's only column, an OID.
    unsafe { pg_sys::ScanKeyInit(&mut key, column, equal, by, pg_sys::Datum::from(relid)) };
    // SAFETY: catalog, snapshot and key stay until the scan has ended.
    let scan = unsafe { pg_sys::systable_beginscan(catalog.raw(), index, true, snapshot, 1, &mut key) };
    // SAFETY: the scan has begun.
    let row = unsafe { pg_sys::systable_getnext(scan) };
    let form = |row| {
        // SAFETY: a row of pg_class, as long as the scan is where it is.
        unsafe { (*(pg_sys::GETSTRUCT(row) as *const pg_sys::FormData_pg_class)).relam }
    };
    let found = (!row.is_null()).then(|| form(row));
    // SAFETY: the scan has begun; nobody looks at its row any more.
    unsafe { pg_sys::systable_endscan(scan) };
    found
}
