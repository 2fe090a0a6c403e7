//! CLUSTER and VACUUM FULL: heapam_relation_copy_for_cluster() over rows of row pages and of components.

use super::rewrite::{Cutoffs, Rewrite};
use crate::columnar;
use crate::pg::cluster::Sort;
use crate::pg::index_scan::IndexScan;
use crate::pg::memory::Context;
use crate::pg::progress::{self, Rewriting};
use crate::pg::slot::Single;
use crate::pg::snapshot::any;
use crate::pg::{Relation, Slot, Tuple, xid};
use crate::storage::rowpage::new_tid;
use crate::table::slot;
use pgrx::pg_sys;
use pgrx::prelude::*;

/// # Safety
/// As table_relation_copy_for_cluster() calls it.
#[pg_guard]
pub unsafe extern "C-unwind" fn copy_for_cluster(
    old: pg_sys::Relation,
    new: pg_sys::Relation,
    index: pg_sys::Relation,
    use_sort: bool,
    oldest_xmin: pg_sys::TransactionId,
    xid_cutoff: *mut pg_sys::TransactionId,
    multi_cutoff: *mut pg_sys::MultiXactId,
    num_tuples: *mut f64,
    tups_vacuumed: *mut f64,
    tups_recently_dead: *mut f64,
) {
    // SAFETY: PostgreSQL's arguments stay until we return; there may be no index.
    unsafe {
        let cutoffs = Cutoffs {
            oldest_xmin,
            xid: *xid_cutoff,
            multi: *multi_cutoff,
        };
        let index = (!index.is_null()).then(|| Relation::of(index));
        let mut counts = Counts {
            rows: &mut *num_tuples,
            vacuumed: &mut *tups_vacuumed,
            recently_dead: &mut *tups_recently_dead,
        };
        copy(
            Relation::of(old),
            Relation::of(new),
            index,
            use_sort,
            cutoffs,
            &mut counts,
        );
    }
}

/// What CLUSTER tells of the versions it met.
struct Counts<'a> {
    rows: &'a mut f64,
    vacuumed: &'a mut f64,
    recently_dead: &'a mut f64,
}

fn copy(old: &Relation, new: &Relation, index: Option<&Relation>, sort: bool, cutoffs: Cutoffs, counts: &mut Counts) {
    let mut rewrite = Rewrite::new(old, new, cutoffs);
    let sort = index.filter(|_| sort).map(|index| Sort::begin(old.desc(), index));
    let slot = Single::new(old.desc(), slot::ops());
    let mut context = Context::new("amax cluster row");
    let (mut read, mut written) = (0, 0);
    let mut take = |slot: &Slot| {
        read = told(read, progress::rows_read);
        context.reset();
        context.within(|| {
            let (mut tuple, state) = row_version(old, slot, cutoffs.oldest_xmin);
            if counts.version(old, &tuple, state) {
                match &sort {
                    None => {
                        rewrite.add(&mut tuple);
                        written = told(written, progress::rows_rewritten);
                    }
                    Some(sort) => sort.put(&mut tuple),
                }
            }
        });
    };
    match index.filter(|_| sort.is_none()) {
        Some(index) => {
            progress::rewriting(Rewriting::IndexScan);
            let scan = IndexScan::of_all(old, index);
            while scan.next(&slot) {
                crate::memory::check_for_interrupts();
                take(&slot);
            }
        }
        None => {
            progress::rewriting(Rewriting::Scan);
            super::scan::for_each(old, any(), &slot, &mut take);
        }
    }
    drop(slot);
    if let Some(sort) = sort {
        progress::rewriting(Rewriting::Sort);
        sort.drain(|tuple| {
            if written == 0 {
                progress::rewriting(Rewriting::Write);
            }
            written = told(written, progress::rows_rewritten);
            crate::memory::check_for_interrupts();
            context.reset();
            context.within(|| rewrite.add(tuple));
        });
    }
    rewrite.finish();
}

/// One row more, which is told now and then.
fn told(rows: u64, tell: fn(u64)) -> u64 {
    if (rows + 1).is_multiple_of(1024) {
        tell(rows + 1);
    }
    rows + 1
}

/// The row in the slot as a heap tuple with its physical TID, which is what update chains link, and its state for
/// VACUUM.
fn row_version<'a>(
    rel: &Relation,
    slot: &'a Slot,
    oldest_xmin: pg_sys::TransactionId,
) -> (Tuple<'a>, pg_sys::HTSV_Result::Type) {
    let of_page = slot::with_heap_tuple(slot, |tuple, lock| {
        // SAFETY: it stays while the slot has the pin.
        let mut tuple = unsafe { Tuple::of(tuple.data()) };
        tuple.set_tid(new_tid(lock.block(), tuple.tid().ip_posid));
        let state = tuple.fate(oldest_xmin, lock.buffer());
        (tuple, state)
    });
    of_page.unwrap_or_else(|| {
        let row = slot::columnar_row(slot).expect("the slot holds a columnar row");
        columnar::row_for_rewrite(rel, row, slot.formed(), oldest_xmin)
    })
}

impl Counts<'_> {
    /// Counts a version; true when it has to be copied.
    fn version(&mut self, rel: &Relation, tuple: &Tuple, state: pg_sys::HTSV_Result::Type) -> bool {
        use pg_sys::HTSV_Result::*;
        match state {
            HEAPTUPLE_DEAD => {
                *self.vacuumed += 1.0;
                return false;
            }
            HEAPTUPLE_RECENTLY_DEAD => *self.recently_dead += 1.0,
            HEAPTUPLE_INSERT_IN_PROGRESS => warn_unless_mine(rel, tuple.header().xmin(), "insert"),
            HEAPTUPLE_DELETE_IN_PROGRESS => {
                warn_unless_mine(rel, tuple.header().update_xid(), "delete");
                *self.recently_dead += 1.0;
            }
            _ => {}
        }
        *self.rows += 1.0;
        true
    }
}

fn warn_unless_mine(rel: &Relation, xid: pg_sys::TransactionId, what: &str) {
    if !xid::is_current(xid) {
        pgrx::warning!("concurrent {what} in progress within table \"{}\"", rel.name());
    }
}
