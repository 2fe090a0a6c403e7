//! How large a sample ANALYZE takes (analyze.c).

use super::relation::{Opened, Relation};
use pgrx::pg_sys;

/// A number from 0 up to 1, without 1, from the session's generator.
pub fn random() -> f64 {
    // SAFETY: the generator of this backend, which has one thread.
    unsafe { pg_sys::pg_prng_double(&raw mut pg_sys::pg_global_prng_state) }
}

/// The rows that ANALYZE takes of a table at most: 300 for each unit of the highest statistics target of its columns and of
/// its indexes' (std_typanalyze()). None if that does not tell, as extended statistics may have another.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn sample_size(rel: &Relation) -> Option<u32> {
    let default = || {
        // SAFETY: a setting.
        unsafe { pg_sys::default_statistics_target }
    };
    let of = |rel: &Relation| {
        let targets = rel.desc().attributes().filter(|att| !att.attisdropped);
        let target = |att: &pg_sys::FormData_pg_attribute| match att.attstattarget {
            ..0 => default(),
            target => target,
        };
        targets.map(target).max().unwrap_or(0)
    };
    let mut most = of(rel);
    rel.all_indexes(|index| {
        most = most.max(of(&Opened::with_lock(index.id, pg_sys::AccessShareLock)));
        true
    });
    // SAFETY: an open relation; the list is ours.
    let extended = unsafe { pg_sys::RelationGetStatExtList(rel.raw()) };
    (extended.is_null()).then(|| 300 * most.unsigned_abs())
}

/// As above; statistics targets are not among the fields of these versions' attributes.
#[cfg(not(any(feature = "pg15", feature = "pg16")))]
pub fn sample_size(_rel: &Relation) -> Option<u32> {
    None
}

/// Whether ANALYZE makes statistics of columns alone of a table's rows: none of what indexes compute or ask for, none that somebody has declared, and
/// none of a table that it is a child of, of which there might be such.
pub fn is_for_columns(rel: &Relation) -> bool {
    let is_plain = |index: pg_sys::Oid| {
        let index = Opened::with_lock(index, pg_sys::AccessShareLock);
        // SAFETY: an open index; lists are ours.
        unsafe {
            pg_sys::RelationGetIndexExpressions(index.raw()).is_null()
                && pg_sys::RelationGetIndexPredicate(index.raw()).is_null()
        }
    };
    // SAFETY: an open relation; the list is ours; looks the table up.
    let is_alone = unsafe { pg_sys::RelationGetStatExtList(rel.raw()).is_null() && !pg_sys::has_superclass(rel.id()) };
    is_alone && rel.all_indexes(|index| is_plain(index.id))
}
