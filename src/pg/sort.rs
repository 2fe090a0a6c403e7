//! PostgreSQL's sort of values, which goes to disk when they are many (tuplesort.c).

use super::lookup::held;
use pgrx::pg_sys;

/// Values of one type. It has to be ended, unless there was an error.
pub struct Sort {
    state: *mut pg_sys::Tuplesortstate,
    by_value: bool,
}

impl Sort {
    /// By an operator, in the current memory context, in as much memory as a sort may have.
    pub fn new(ty: pg_sys::Oid, operator: pg_sys::Oid, collation: pg_sys::Oid, nulls_first: bool) -> Sort {
        let (memory, none) = (std::ptr::null_mut(), pg_sys::TUPLESORT_NONE as i32);
        // SAFETY: a type, and an operator and a collation that order it.
        let state = unsafe {
            pg_sys::tuplesort_begin_datum(ty, operator, collation, nulls_first, pg_sys::work_mem, memory, none)
        };
        Sort {
            state,
            by_value: held(ty).by_value,
        }
    }

    /// Adds a copy of a value of the type, with whether it is NULL.
    pub fn put(&mut self, (value, null): (pg_sys::Datum, bool)) {
        // SAFETY: a sort that is not performed yet.
        unsafe { pg_sys::tuplesort_putdatum(self.state, value, null) }
    }

    /// To be called once, after the last value.
    pub fn perform(&mut self) {
        // SAFETY: as above.
        unsafe { pg_sys::tuplesort_performsort(self.state) }
    }

    /// Skips so many values.
    pub fn skip(&mut self, values: usize) {
        // SAFETY: a sort that has been performed.
        unsafe { pg_sys::tuplesort_skiptuples(self.state, values as i64, true) };
    }

    /// Has the next value visited, which is there no longer; None after the last.
    pub fn next<R>(&mut self, visit: impl FnOnce(pg_sys::Datum, bool) -> R) -> Option<R> {
        let (mut value, mut null, none) = (pg_sys::Datum::null(), false, std::ptr::null_mut());
        // SAFETY: as above.
        #[cfg(feature = "pg15")]
        let found = unsafe { pg_sys::tuplesort_getdatum(self.state, true, &mut value, &mut null, none) };
        // SAFETY: as above.
        #[cfg(not(feature = "pg15"))]
        let found = unsafe { pg_sys::tuplesort_getdatum(self.state, true, true, &mut value, &mut null, none) };
        found.then(|| {
            let seen = visit(value, null);
            if !self.by_value && !null {
                // SAFETY: a copy that was made for us.
                unsafe { pg_sys::pfree(value.cast_mut_ptr()) };
            }
            seen
        })
    }

    pub fn end(self) {
        // SAFETY: as above.
        unsafe { pg_sys::tuplesort_end(self.state) }
    }
}
