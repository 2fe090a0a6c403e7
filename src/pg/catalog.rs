//! Rows of PostgreSQL's catalogs that no cache has yet.

use super::node::Nodes;
use super::relation::Opened;
use super::snapshot::{Own, Snapshot};
use pgrx::pg_sys;
use std::ffi::CStr;
use std::ptr::null_mut;

/// Whether the command under way has given the relation another access method: the next command will see it.
pub fn has_new_access_method(relid: pg_sys::Oid) -> bool {
    let own = Own::of_kind(pg_sys::SnapshotType::SNAPSHOT_SELF);
    access_method(relid, Some(&own)) != access_method(relid, None)
}

/// Whether a table has partitions with an access method, which nobody has locked yet.
pub fn has_partitions_with(table: pg_sys::Oid, method: &CStr) -> bool {
    let rel = Opened::with_lock(table, pg_sys::NoLock);
    // SAFETY: an open table, which keeps what is known of its partitions; an OID each.
    unsafe {
        let method = pg_sys::get_table_am_oid(method.as_ptr(), true);
        let known = &*pg_sys::RelationGetPartitionDesc(rel.raw(), true);
        let partitions = || (0..known.nparts as usize).map(|at| *known.oids.add(at));
        // Of those that are partitioned themselves nothing is kept that may be looked at without a lock.
        let below = |partition: &pg_sys::Oid| {
            pg_sys::get_rel_relkind(*partition) as u8 == pg_sys::RELKIND_PARTITIONED_TABLE
                && inheritors(*partition).any(|inheritor| method_of(inheritor) == Some(method))
        };
        partitions().any(|partition| method_of(partition) == Some(method))
            || partitions().any(|partition| below(&partition))
    }
}

/// A table and all that inherit from it, which are read from the catalog.
fn inheritors(table: pg_sys::Oid) -> impl Iterator<Item = pg_sys::Oid> {
    // SAFETY: it looks them up; a list of OIDs.
    unsafe {
        let all = pg_sys::find_all_inheritors(table, pg_sys::NoLock as i32, null_mut());
        let count = all.as_ref().map_or(0, |all| all.length as usize);
        (0..count).map(move |at| (*(*all).elements.add(at)).oid_value)
    }
}

/// pg_class.relam, as the caches have it.
fn method_of(table: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
    // SAFETY: it is looked up; a row of pg_class.
    unsafe {
        let row = pg_sys::SearchSysCache1(cache, table.into());
        (!row.is_null()).then(|| {
            let form = &*(pg_sys::GETSTRUCT(row) as *const pg_sys::FormData_pg_class);
            let method = form.relam;
            pg_sys::ReleaseSysCache(row);
            method
        })
    }
}

/// pg_class.relam as a snapshot sees it, by default the catalogs' own.
fn access_method(relid: pg_sys::Oid, snapshot: Option<&Snapshot>) -> Option<pg_sys::Oid> {
    let by = (pg_sys::ClassOidIndexId, pg_sys::Anum_pg_class_oid);
    let form = |row, _| {
        // SAFETY: a row of pg_class.
        unsafe { (*(pg_sys::GETSTRUCT(row) as *const pg_sys::FormData_pg_class)).relam }
    };
    rows(pg_sys::RelationRelationId, by, relid, snapshot, form).pop()
}

/// What `f` makes of the rows of a catalog that have an OID in the first column of an index, given with its number in the catalog. `f` is also given the catalog's columns.
fn rows<R>(
    catalog: pg_sys::Oid,
    (index, column): (u32, u32),
    oid: pg_sys::Oid,
    snapshot: Option<&Snapshot>,
    f: impl Fn(pg_sys::HeapTuple, pg_sys::TupleDesc) -> R,
) -> Vec<R> {
    let catalog = Opened::with_lock(catalog, pg_sys::AccessShareLock);
    let snapshot = snapshot.map_or(null_mut(), Snapshot::raw);
    let (column, equal) = (column as i16, pg_sys::BTEqualStrategyNumber as u16);
    let by = pg_sys::Oid::from(pg_sys::F_OIDEQ);
    // SAFETY: numbers and pointers, which are filled in below.
    let mut key: pg_sys::ScanKeyData = unsafe { std::mem::zeroed() };
    // SAFETY: a key of the index's first column, an OID.
    unsafe { pg_sys::ScanKeyInit(&mut key, column, equal, by, pg_sys::Datum::from(oid)) };
    // SAFETY: catalog, snapshot and key stay until the scan has ended.
    let scan = unsafe { pg_sys::systable_beginscan(catalog.raw(), index.into(), true, snapshot, 1, &mut key) };
    let mut found = Vec::new();
    loop {
        // SAFETY: the scan has begun.
        let row = unsafe { pg_sys::systable_getnext(scan) };
        if row.is_null() {
            break;
        }
        found.push(f(row, catalog.desc().raw()));
    }
    // SAFETY: the scan has begun; nobody looks at its rows any more.
    unsafe { pg_sys::systable_endscan(scan) };
    found
}

/// The tables that a table is a child or partition of, and those that they are.
pub fn ancestors(relid: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    let by = (pg_sys::InheritsRelidSeqnoIndexId, pg_sys::Anum_pg_inherits_inhrelid);
    let form = |row, _| {
        // SAFETY: a row of pg_inherits.
        unsafe { (*(pg_sys::GETSTRUCT(row) as *const pg_sys::FormData_pg_inherits)).inhparent }
    };
    let mut found = rows(pg_sys::InheritsRelationId, by, relid, None, form);
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let above = rows(pg_sys::InheritsRelationId, by, parent, None, form);
        let new: Vec<_> = above.into_iter().filter(|oid| !found.contains(oid)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

/// Statistics that somebody has declared of a table.
pub struct Declared<'a> {
    /// SET STATISTICS of theirs; less than 0 if there is none.
    pub target: i32,
    /// Of columns of the type in question.
    pub of_type: bool,
    /// Over the table, which has number 1 in them.
    pub expressions: Nodes<'a>,
}

/// Those of a table, as far as columns of type `ty` and expressions are concerned.
pub fn declared<'a>(relid: pg_sys::Oid, ty: pg_sys::Oid) -> Vec<Declared<'a>> {
    let by = (pg_sys::StatisticExtRelidIndexId, pg_sys::Anum_pg_statistic_ext_stxrelid);
    let form = |row, desc| {
        let (mut null, mut no_expressions) = (true, true);
        // SAFETY: a row of pg_statistic_ext, whose keys are an int2vector, which is never toasted, and whose expressions are a list of nodes.
        unsafe {
            let target = pg_sys::heap_getattr(row, pg_sys::Anum_pg_statistic_ext_stxstattarget as i32, desc, &mut null);
            // 32 bits before 17, then 16, and perhaps NULL.
            let target = if null { -1 } else { i32::from(target.value() as i16) };
            let keys = pg_sys::heap_getattr(row, pg_sys::Anum_pg_statistic_ext_stxkeys as i32, desc, &mut null);
            let text = pg_sys::heap_getattr(
                row,
                pg_sys::Anum_pg_statistic_ext_stxexprs as i32,
                desc,
                &mut no_expressions,
            );
            let keys = keys.cast_mut_ptr::<pg_sys::int2vector>();
            let keys = (*keys).values.as_slice((*keys).dim1 as usize);
            let expressions = match no_expressions {
                true => null_mut(),
                false => pg_sys::stringToNode(pg_sys::text_to_cstring(text.cast_mut_ptr())),
            };
            Declared {
                target,
                of_type: keys.iter().any(|&key| pg_sys::get_atttype(relid, key) == ty),
                expressions: Nodes::of(expressions.cast()),
            }
        }
    };
    rows(pg_sys::StatisticExtRelationId, by, relid, None, form)
}
