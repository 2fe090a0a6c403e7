//! `COPY table [(columns)] TO`, turned into the query that reads the same rows.
//!
//! COPY itself does this when row-level security applies (DoCopy in commands/copy.c); here it is done always, so that
//! privileges and policies are checked where every query has them checked, and so that the planner may use what the
//! table's access method offers.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::error::raise;
use super::scope::Scope;
use super::statement::{Statement, raw};
use super::tree::{integers, node};
use crate::pg::Relation;
use crate::pg::node::Node;
use crate::pg::parse::RawStmt;
use crate::pg::relation::Opened;
use crate::pg::tupdesc::name_bytes;

/// The query and the table it must still mean when it is planned.
pub struct TableQuery<'a> {
    pub raw: &'a RawStmt,
    pub relation: pg_sys::Oid,
}

/// `SELECT columns FROM ONLY table`, for the table of a COPY TO. Locks the table until the end of the transaction.
pub fn table_query<'a>(table: &pg_sys::RangeVar, statement: &Statement<'a>, scope: Scope<'a>) -> TableQuery<'a> {
    // SAFETY: a node of the parser's.
    let relation = unsafe { Opened::named(table, pg_sys::AccessShareLock) };
    check_kind(&relation);
    let desc = relation.desc();
    // SAFETY: an open relation, and the statement's list of columns; it returns a list of their numbers.
    let columns = unsafe {
        integers(pg_sys::CopyGetAttnums(
            desc.raw(),
            relation.raw(),
            statement.attributes(),
        ))
    };
    let columns = columns
        .into_iter()
        .map(|number| name_bytes(desc.attribute(number as usize - 1)));
    let raw = raw(select(columns, &relation, scope), statement.place(), scope);
    TableQuery {
        raw,
        relation: relation.id(),
    }
}

/// The parser's tree of that query.
fn select<'a, 'n>(columns: impl Iterator<Item = &'n CStr>, table: &Relation, _scope: Scope<'a>) -> &'a Node {
    let nil = std::ptr::null_mut();
    let name = CString::new(table.name_bytes()).expect("a name has no zeros");
    // SAFETY: the tags are those of the structs, and the names are copied, so that all of it
    // lives as long as the scope.
    unsafe {
        let targets = columns.fold(nil, |targets, name| {
            let column = node::<pg_sys::ColumnRef>(pg_sys::NodeTag::T_ColumnRef);
            let name = pg_sys::makeString(pg_sys::pstrdup(name.as_ptr()));
            (*column).fields = pg_sys::lappend(nil, name.cast());
            (*column).location = -1;
            let target = node::<pg_sys::ResTarget>(pg_sys::NodeTag::T_ResTarget);
            (*target).val = column.cast();
            (*target).location = -1;
            pg_sys::lappend(targets, target.cast())
        });
        let schema = pg_sys::get_namespace_name(table.schema());
        let from = pg_sys::makeRangeVar(schema, pg_sys::pstrdup(name.as_ptr()), -1);
        (*from).inh = false;
        let select = node::<pg_sys::SelectStmt>(pg_sys::NodeTag::T_SelectStmt);
        (*select).targetList = targets;
        (*select).fromClause = pg_sys::lappend(nil, from.cast());
        Node::of(select.cast())
    }
}

/// Raises COPY's error for what it does not read by name.
fn check_kind(relation: &Relation) {
    let (what, has_rows) = match relation.kind() {
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
        format!("cannot copy from {what} \"{}\"", relation.name()),
        None,
        has_rows.then(|| "Try the COPY (SELECT ...) TO variant.".into()),
    )
}
