//! What PostgreSQL counts of a table (pgstat.h), where heap's functions do not count it for us.

use pgrx::pg_sys;

/// pgstat_count_heap_scan().
pub unsafe fn count_scan(rel: pg_sys::Relation) {
    if let Some(stats) = table_stats(rel) {
        #[cfg(feature = "pg15")]
        {
            (*stats).t_counts.t_numscans += 1;
        }
        #[cfg(not(feature = "pg15"))]
        {
            (*stats).counts.numscans += 1;
        }
    }
}

/// pgstat_count_heap_getnext() (a macro in pgstat.h), of several rows.
pub unsafe fn count_rows(rel: pg_sys::Relation, rows: usize) {
    if let Some(stats) = table_stats(rel) {
        #[cfg(feature = "pg15")]
        {
            (*stats).t_counts.t_tuples_returned += rows as i64;
        }
        #[cfg(not(feature = "pg15"))]
        {
            (*stats).counts.tuples_returned += rows as i64;
        }
    }
}

/// pgstat_count_heap_fetch().
pub unsafe fn count_fetch(rel: pg_sys::Relation) {
    if let Some(stats) = table_stats(rel) {
        #[cfg(feature = "pg15")]
        {
            (*stats).t_counts.t_tuples_fetched += 1;
        }
        #[cfg(not(feature = "pg15"))]
        {
            (*stats).counts.tuples_fetched += 1;
        }
    }
}

/// pgstat's count of inserted rows, which heap's functions keep themselves.
pub unsafe fn count_inserts(rel: pg_sys::Relation, rows: usize) {
    pg_sys::pgstat_count_heap_insert(rel, rows as i64);
}

unsafe fn table_stats(rel: pg_sys::Relation) -> Option<*mut pg_sys::PgStat_TableStatus> {
    if !(*rel).pgstat_enabled {
        return None;
    }
    if (*rel).pgstat_info.is_null() {
        pg_sys::pgstat_assoc_relation(rel);
    }
    Some((*rel).pgstat_info)
}
