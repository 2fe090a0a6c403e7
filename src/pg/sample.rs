//! How large a sample ANALYZE takes (analyze.c).

use super::catalog::{ancestors, declared};
use super::relation::{Opened, Relation};
use super::statistics::target;
use pgrx::pg_sys;
use std::ptr::null_mut;

/// A number from 0 up to 1, without 1, from the session's generator.
pub fn random() -> f64 {
    // SAFETY: the generator of this backend, which has one thread.
    unsafe { pg_sys::pg_prng_double(&raw mut pg_sys::pg_global_prng_state) }
}

/// The rows that ANALYZE takes of a table at most: 300 for each unit of the highest statistics target of its columns and of
/// its indexes', and of declared statistics (std_typanalyze(), ComputeExtStatisticsRows()).
pub fn sample_size(rel: &Relation) -> u32 {
    let of = |rel: &Relation| {
        let attributes = rel.desc().attributes().filter(|att| !att.attisdropped);
        attributes.map(|att| target(rel, att.attnum)).max().unwrap_or(0)
    };
    let mut most = of(rel);
    rel.all_indexes(|index| {
        most = most.max(of(&Opened::with_lock(index.id, pg_sys::AccessShareLock)));
        true
    });
    // SAFETY: a setting.
    let default = unsafe { pg_sys::default_statistics_target };
    for declared in declared(rel.id(), pg_sys::InvalidOid) {
        // Without a target of their own: that of the columns, or of expressions (statext_compute_stattarget()).
        most = most.max(declared.target).max(default);
    }
    300 * most.unsigned_abs()
}

/// What computes something of an attribute, of type `ty`, where ANALYZE makes statistics of a table's rows: indexes with expressions or predicates, and declared statistics
/// as if they were such. None if it is more than that: statistics that somebody has declared of such columns, or of one that the table is a child of.
pub fn computing(rel: &Relation, attribute: i16, ty: pg_sys::Oid) -> Option<Vec<pg_sys::IndexInfo>> {
    let above = |table| {
        declared(table, ty)
            .iter()
            .any(|d| d.of_type || !d.expressions.is_empty())
    };
    if ancestors(rel.id()).into_iter().any(above) {
        return None;
    }
    let mut found = Vec::new();
    for declared in declared(rel.id(), ty) {
        if declared.of_type {
            return None;
        }
        found.push(pg_sys::IndexInfo {
            ii_Expressions: declared.expressions.raw(),
            ..Default::default()
        });
    }
    rel.all_indexes(|index| {
        let index = Opened::with_lock(index.id, pg_sys::AccessShareLock);
        let mut read = null_mut();
        // SAFETY: an open index, of which a struct is made; expressions over its table alone, which has number 1 in them; a set.
        unsafe {
            let info = pg_sys::BuildIndexInfo(index.raw());
            pg_sys::pull_varattnos((*info).ii_Expressions.cast(), 1, &mut read);
            pg_sys::pull_varattnos((*info).ii_Predicate.cast(), 1, &mut read);
            let member = |n: i32| pg_sys::bms_is_member(n - pg_sys::FirstLowInvalidHeapAttributeNumber, read);
            // 0: the whole row.
            if member(i32::from(attribute)) || member(0) {
                found.push(*info);
            }
        }
        true
    });
    Some(found)
}
