//! What PostgreSQL counts of a table (pgstat.h), where heap's functions do not count it for us.

use super::relation::Relation;
use pgrx::pg_sys;

/// pgstat_count_heap_scan().
pub fn count_scan(rel: &Relation) {
    count(rel, |counts| counts.scans(1));
}

/// pgstat_count_heap_getnext() (a macro in pgstat.h), of several rows.
pub fn count_rows(rel: &Relation, rows: usize) {
    count(rel, |counts| counts.rows(rows as i64));
}

/// pgstat_count_heap_fetch().
pub fn count_fetch(rel: &Relation) {
    count(rel, |counts| counts.fetches(1));
}

/// pgstat's count of inserted rows, which heap's functions keep themselves; fewer than none for what is no row.
pub fn count_inserts(rel: &Relation, rows: i64) {
    // SAFETY: an open relation.
    unsafe { pg_sys::pgstat_count_heap_insert(rel.raw(), rows) }
}

/// pgstat_count_heap_delete().
pub fn count_delete(rel: &Relation) {
    // SAFETY: an open relation.
    unsafe { pg_sys::pgstat_count_heap_delete(rel.raw()) }
}

/// autovacuum_vacuum_insert_scale_factor.
pub fn vacuum_insert_scale() -> f64 {
    // SAFETY: a setting.
    unsafe { pg_sys::autovacuum_vac_ins_scale }
}

/// Has autovacuum come although a table's rows are too few for that: it is told of more dead ones than there are, as many
/// as it waits for in a table of so many rows (relation_needs_vacanalyze(), autovacuum.c), until it has been there. Not where the table says itself when it comes.
pub fn call_autovacuum(rel: &Relation, rows: f64) {
    // SAFETY: settings; fields of an open relation, and of what is known of it, which nobody frees meanwhile.
    unsafe {
        if !pg_sys::AutoVacuumingActive() || rel.has_own_autovacuum() {
            return;
        }
        let known = pg_sys::pgstat_fetch_stat_tabentry(rel.id()).as_ref();
        let (live, dead) = known.map_or((0, 0), Counts::rows_of);
        let rows = rows.max(live as f64);
        let wanted = f64::from(pg_sys::autovacuum_vac_thresh) + pg_sys::autovacuum_vac_scale * rows;
        count(rel, |counts| {
            let missing = wanted as i64 + 1 - dead - counts.dead_rows();
            counts.add_dead_rows(missing.max(0));
        });
    }
}

/// A block that was asked for and found, as ReadBuffer() counts it.
pub fn count_hit(rel: &Relation) {
    // SAFETY: a field of an open relation; null if nobody counts.
    if let Some(stats) = unsafe { (*rel.raw()).pgstat_info.as_mut() } {
        Counts(stats).hits(1);
    }
}

fn count(rel: &Relation, f: impl FnOnce(&mut Counts)) {
    // SAFETY: fields of an open relation; PostgreSQL makes its entry if it has none yet.
    unsafe {
        if !(*rel.raw()).pgstat_enabled {
            return;
        }
        if (*rel.raw()).pgstat_info.is_null() {
            pg_sys::pgstat_assoc_relation(rel.raw());
        }
        f(&mut Counts(&mut *(*rel.raw()).pgstat_info));
    }
}

/// A table's counts, which have other names from version to version.
struct Counts<'a>(&'a mut pg_sys::PgStat_TableStatus);

#[cfg(feature = "pg15")]
impl Counts<'_> {
    fn scans(&mut self, more: i64) {
        self.0.t_counts.t_numscans += more;
    }

    fn rows(&mut self, more: i64) {
        self.0.t_counts.t_tuples_returned += more;
    }

    fn fetches(&mut self, more: i64) {
        self.0.t_counts.t_tuples_fetched += more;
    }

    fn hits(&mut self, more: i64) {
        self.0.t_counts.t_blocks_fetched += more;
        self.0.t_counts.t_blocks_hit += more;
    }

    /// Those that are not reported yet.
    fn dead_rows(&self) -> i64 {
        self.0.t_counts.t_delta_dead_tuples
    }

    fn add_dead_rows(&mut self, more: i64) {
        self.0.t_counts.t_delta_dead_tuples += more;
    }

    /// Live and dead.
    fn rows_of(known: &pg_sys::PgStat_StatTabEntry) -> (i64, i64) {
        (known.n_live_tuples, known.n_dead_tuples)
    }
}

#[cfg(not(feature = "pg15"))]
impl Counts<'_> {
    fn scans(&mut self, more: i64) {
        self.0.counts.numscans += more;
    }

    fn rows(&mut self, more: i64) {
        self.0.counts.tuples_returned += more;
    }

    fn fetches(&mut self, more: i64) {
        self.0.counts.tuples_fetched += more;
    }

    fn hits(&mut self, more: i64) {
        self.0.counts.blocks_fetched += more;
        self.0.counts.blocks_hit += more;
    }

    /// Those that are not reported yet.
    fn dead_rows(&self) -> i64 {
        self.0.counts.delta_dead_tuples
    }

    fn add_dead_rows(&mut self, more: i64) {
        self.0.counts.delta_dead_tuples += more;
    }

    /// Live and dead.
    fn rows_of(known: &pg_sys::PgStat_StatTabEntry) -> (i64, i64) {
        (known.live_tuples, known.dead_tuples)
    }
}
