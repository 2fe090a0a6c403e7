//! A table's indexes: what they are of, and VACUUM of them (vacuum.c, indexam.c).

use super::expr::Var;
use super::node::{Node, Nodes};
use super::relation::Relation;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::{CStr, CString, c_void};

/// The access method of this name; InvalidOid if there is none.
pub fn method(name: &CStr) -> pg_sys::Oid {
    // SAFETY: it is looked up.
    unsafe { pg_sys::get_index_am_oid(name.as_ptr(), true) }
}

/// An open index's access method.
pub fn method_of(index: &Relation) -> pg_sys::Oid {
    // SAFETY: fields of an open relation.
    unsafe { (*(*index.raw()).rd_rel).relam }
}

/// The table of an open index.
pub fn table_of(index: &Relation) -> pg_sys::Oid {
    // SAFETY: every open index has its row of pg_index.
    unsafe { (*(*index.raw()).rd_index).indrelid }
}

/// The expressions of an open index over its table's row, which has number 1 in them (RelationGetIndexExpressions()).
pub fn expressions(index: &Relation) -> Nodes<'static> {
    // SAFETY: an open index; a list of expressions, in the current memory context.
    unsafe { Nodes::of(pg_sys::RelationGetIndexExpressions(index.raw())) }
}

/// What an open index sees to that no two rows have, of rows that a snapshot sees: columns and expressions over its table's row,
/// which has number 1 in them. None if it does not, or not at once, or not of all rows.
pub fn unique_key(index: &Relation, table: &Relation) -> Option<Vec<&'static Node>> {
    // SAFETY: every open index has its row of pg_index.
    let form = unsafe { &*(*index.raw()).rd_index };
    // SAFETY: an open index.
    let is_partial = unsafe { !pg_sys::RelationGetIndexPredicate(index.raw()).is_null() };
    if !(form.indisunique && form.indimmediate && form.indisvalid && form.indisready) || is_partial {
        return None;
    }
    // SAFETY: it has so many columns, of the table's or 0.
    let columns = unsafe { form.indkey.values.as_slice(form.indnkeyatts as usize) };
    let mut expressions = expressions(index).iter();
    let key = |&column: &i16| match column {
        0 => expressions.next(),
        1.. => {
            let att = table.desc().attribute(column as usize - 1);
            Some(Var::make(1, column, att.atttypid, att.atttypmod, att.attcollation))
        }
        _ => None,
    };
    columns.iter().map(key).collect()
}

/// A table's primary key.
pub fn primary_key(table: &Relation) -> Option<pg_sys::Oid> {
    // SAFETY: an open table.
    #[cfg(not(feature = "pg18"))]
    let found = unsafe { pg_sys::RelationGetPrimaryKeyIndex(table.raw()) };
    // SAFETY: as above.
    #[cfg(feature = "pg18")]
    let found = unsafe { pg_sys::RelationGetPrimaryKeyIndex(table.raw(), false) };
    (found != pg_sys::InvalidOid).then_some(found)
}

/// A name that no relation has in the table's schema (ChooseRelationName()).
pub fn new_name(table: &Relation, label: &str) -> String {
    let label = CString::new(label).expect("names have no zeroes");
    let table_name = CString::new(table.name_bytes()).expect("names have no zeroes");
    // SAFETY: strings that end with a zero; so does what is returned.
    unsafe {
        let name = pg_sys::ChooseRelationName(
            table_name.as_ptr(),
            std::ptr::null(),
            label.as_ptr(),
            table.schema(),
            false,
        );
        CStr::from_ptr(name).to_string_lossy().into_owned()
    }
}

/// The relation of this name in a schema.
pub fn id_of(name: &str, schema: pg_sys::Oid) -> Option<pg_sys::Oid> {
    let name = CString::new(name).expect("names have no zeroes");
    // SAFETY: it is looked up.
    let found = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    (found != pg_sys::InvalidOid).then_some(found)
}

/// An index of a table by its name, which is in the table's schema.
pub fn named(table: &Relation, name: &CStr) -> Option<pg_sys::Oid> {
    // SAFETY: it is looked up.
    let found = unsafe { pg_sys::get_relname_relid(name.as_ptr(), table.schema()) };
    // SAFETY: as above.
    let is_of_table = || unsafe { pg_sys::IndexGetRelation(found, true) } == table.id();
    (found != pg_sys::InvalidOid && is_of_table()).then_some(found)
}

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
