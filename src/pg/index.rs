//! A table's indexes in VACUUM (vacuum.c, indexam.c).

use super::relation::Relation;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::c_void;

/// All of a table's indexes, opened; closed on drop, their locks kept to the end of the transaction.
pub struct Indexes<'a> {
    table: &'a Relation,
    list: *mut pg_sys::Relation,
    stats: Vec<*mut pg_sys::IndexBulkDeleteResult>,
    strategy: pg_sys::BufferAccessStrategy,
}

/// What is known of the table's rows.
#[derive(Clone, Copy)]
pub struct Rows {
    pub count: f64,
    pub estimated: bool,
}

impl<'a> Indexes<'a> {
    /// # Safety
    /// The strategy stays for as long as this lives.
    pub unsafe fn open(table: &'a Relation, strategy: pg_sys::BufferAccessStrategy) -> Indexes<'a> {
        let (mut list, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: an open table.
        unsafe { pg_sys::vac_open_indexes(table.raw(), pg_sys::RowExclusiveLock as i32, &mut count, &mut list) };
        Indexes {
            table,
            list,
            stats: vec![std::ptr::null_mut(); count as usize],
            strategy,
        }
    }

    /// Without a strategy: in shared buffers, as other statements.
    pub fn open_plainly(table: &'a Relation) -> Indexes<'a> {
        // SAFETY: there is no strategy.
        unsafe { Indexes::open(table, std::ptr::null_mut()) }
    }

    pub fn is_empty(&self) -> bool {
        self.stats.is_empty()
    }

    fn raw(&self, at: usize) -> pg_sys::Relation {
        assert!(at < self.stats.len());
        // SAFETY: the list has so many.
        unsafe { *self.list.add(at) }
    }

    fn info(&self, at: usize, rows: Rows) -> pg_sys::IndexVacuumInfo {
        // SAFETY: numbers and pointers.
        let mut info: pg_sys::IndexVacuumInfo = unsafe { std::mem::zeroed() };
        info.index = self.raw(at);
        #[cfg(not(feature = "pg15"))]
        {
            info.heaprel = self.table.raw();
        }
        info.message_level = pg_sys::DEBUG2 as i32;
        info.num_heap_tuples = rows.count;
        info.estimated_count = rows.estimated;
        info.strategy = self.strategy;
        info
    }

    /// ambulkdelete of all: removes the entries whose TIDs are dead.
    pub fn bulk_delete(&mut self, is_dead: &dyn Fn(&pg_sys::ItemPointerData) -> bool) {
        let rows = Rows {
            count: self.table.tuples().into(),
            estimated: true,
        };
        for at in 0..self.stats.len() {
            let mut info = self.info(at, rows);
            let state = (&raw const is_dead).cast_mut().cast();
            // SAFETY: `state` is what `ask` expects, and lives until it returns.
            self.stats[at] = unsafe { pg_sys::index_bulk_delete(&mut info, self.stats[at], Some(ask), state) };
        }
    }

    /// amvacuumcleanup of all; what they say of themselves goes to pg_class.
    pub fn cleanup(&mut self, rows: Rows) {
        for at in 0..self.stats.len() {
            let mut info = self.info(at, rows);
            // SAFETY: an open index and what it returned before.
            let stats = unsafe { pg_sys::index_vacuum_cleanup(&mut info, self.stats[at]).as_ref() };
            if let Some(stats) = stats.filter(|stats| !stats.estimated_count) {
                // SAFETY: an open index.
                let index = unsafe { Relation::of(self.raw(at)) };
                let none = (pg_sys::InvalidTransactionId, Default::default());
                super::vacuum::update_stats(index, stats.num_pages, stats.num_index_tuples, 0, false, none);
            }
        }
    }
}

impl Drop for Indexes<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: opened by us. After an error the resource owner closes them.
            unsafe { pg_sys::vac_close_indexes(self.stats.len() as i32, self.list, pg_sys::NoLock as i32) }
        }
    }
}

/// # Safety
/// `state` is what [`Indexes::bulk_delete`] passes.
#[pg_guard]
unsafe extern "C-unwind" fn ask(tid: pg_sys::ItemPointer, state: *mut c_void) -> bool {
    // SAFETY: as said; PostgreSQL passes a TID.
    unsafe { (*state.cast::<&dyn Fn(&pg_sys::ItemPointerData) -> bool>())(&*tid) }
}
