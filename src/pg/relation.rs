//! Relations: which are amax tables, what they are called, and opening them for somebody who asks by SQL.

use pgrx::pg_sys;
use pgrx::prelude::*;
use std::sync::OnceLock;

/// The callbacks of the table access method.
pub struct Routine(pub pg_sys::TableAmRoutine);
// SAFETY: a table of function pointers, never changed once made.
unsafe impl Sync for Routine {}
unsafe impl Send for Routine {}

/// Made when PostgreSQL first asks for them (`am::routine`), which is before it has any relation with them.
pub static ROUTINE: OnceLock<Routine> = OnceLock::new();

/// Whether the relation is an amax table.
pub fn is_ours(rel: pg_sys::Relation) -> bool {
    let routine = unsafe { (*rel).rd_tableam };
    ROUTINE.get().is_some_and(|ours| std::ptr::eq(routine, &ours.0))
}

/// Raises an error unless the relation is an amax table.
pub fn require(rel: pg_sys::Relation) {
    if !is_ours(rel) {
        ereport!(
            ERROR,
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is not an amax table", rel_name(rel))
        );
    }
}

pub fn rel_name(rel: pg_sys::Relation) -> String {
    unsafe {
        std::ffi::CStr::from_ptr((*(*rel).rd_rel).relname.data.as_ptr())
            .to_string_lossy()
            .into_owned()
    }
}

/// RelationIsLogicallyLogged() (rel.h), catalogs apart.
pub unsafe fn is_logically_logged(rel: pg_sys::Relation) -> bool {
    pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_LOGICAL as i32
        && (*(*rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as i8
}

/// An amax table opened for somebody who may read it; closed on drop, its lock kept to the end of the transaction.
pub struct Opened(pub pg_sys::Relation);

pub fn open_for_reading(table: pg_sys::Oid) -> Opened {
    unsafe {
        let opened = Opened(pg_sys::relation_open(table, pg_sys::AccessShareLock as i32));
        require(opened.0);
        let allowed = pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), pg_sys::ACL_SELECT as pg_sys::AclMode);
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            let name = (*(*opened.0).rd_rel).relname.data.as_ptr();
            pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_TABLE, name);
        }
        opened
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            unsafe { pg_sys::relation_close(self.0, pg_sys::NoLock as i32) }
        }
    }
}
