//! `COPY table [(columns)] TO`, turned into the query that reads the same rows.
//!
//! COPY itself does this when row-level security applies (DoCopy in commands/copy.c); here it is done always, so that
//! privileges and policies are checked where every query has them checked, and so that the planner may use what the
//! table's access method offers.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::raise;
use super::tupdesc::attributes;

/// The query and the table it must still mean when it is planned.
pub struct TableQuery {
    pub raw: *mut pg_sys::RawStmt,
    pub relation: pg_sys::Oid,
}

/// `SELECT columns FROM ONLY table`. Locks the table until the end of the transaction.
///
/// # Safety
/// `statement` is a COPY TO with a relation; `planned` is what it came in.
pub unsafe fn table_query(statement: *const pg_sys::CopyStmt, planned: *const pg_sys::PlannedStmt) -> TableQuery {
    let relation = pg_sys::table_openrv((*statement).relation, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
    let class = (*relation).rd_rel;
    check_kind((*class).relkind as u8, (*class).relname.data.as_ptr());

    let mut targets = std::ptr::null_mut();
    let columns = pg_sys::CopyGetAttnums((*relation).rd_att, relation, (*statement).attlist);
    let count = if columns.is_null() { 0 } else { (*columns).length };
    let attributes = attributes((*relation).rd_att);
    for i in 0..count as usize {
        let number = (*(*columns).elements.add(i)).int_value;
        let name = pg_sys::pstrdup(attributes[number as usize - 1].attname.data.as_ptr());
        let column = node::<pg_sys::ColumnRef>(pg_sys::NodeTag::T_ColumnRef);
        (*column).fields = pg_sys::lappend(std::ptr::null_mut(), pg_sys::makeString(name).cast());
        (*column).location = -1;
        let target = node::<pg_sys::ResTarget>(pg_sys::NodeTag::T_ResTarget);
        (*target).val = column.cast();
        (*target).location = -1;
        targets = pg_sys::lappend(targets, target.cast());
    }

    let from = pg_sys::makeRangeVar(
        pg_sys::get_namespace_name((*class).relnamespace),
        pg_sys::pstrdup((*class).relname.data.as_ptr()),
        -1,
    );
    (*from).inh = false;
    let select = node::<pg_sys::SelectStmt>(pg_sys::NodeTag::T_SelectStmt);
    (*select).targetList = targets;
    (*select).fromClause = pg_sys::lappend(std::ptr::null_mut(), from.cast());
    let raw = node::<pg_sys::RawStmt>(pg_sys::NodeTag::T_RawStmt);
    (*raw).stmt = select.cast();
    (*raw).stmt_location = (*planned).stmt_location;
    (*raw).stmt_len = (*planned).stmt_len;

    let oid = (*relation).rd_id;
    pg_sys::table_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
    TableQuery { raw, relation: oid }
}

/// Raises COPY's error for what it does not read by name.
unsafe fn check_kind(kind: u8, name: *const std::ffi::c_char) {
    let (what, has_rows) = match kind {
        pg_sys::RELKIND_RELATION => return,
        pg_sys::RELKIND_VIEW => ("view", true),
        pg_sys::RELKIND_MATVIEW => ("materialized view", true),
        pg_sys::RELKIND_FOREIGN_TABLE => ("foreign table", true),
        pg_sys::RELKIND_PARTITIONED_TABLE => ("partitioned table", true),
        pg_sys::RELKIND_SEQUENCE => ("sequence", false),
        _ => ("non-table relation", false),
    };
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("cannot copy from {what} \"{}\"", CStr::from_ptr(name).to_string_lossy()),
        None,
        has_rows.then(|| "Try the COPY (SELECT ...) TO variant.".into()),
    )
}

/// makeNode().
unsafe fn node<T>(tag: pg_sys::NodeTag) -> *mut T {
    let node = pg_sys::palloc0(std::mem::size_of::<T>()).cast::<pg_sys::Node>();
    (*node).type_ = tag;
    node.cast()
}
