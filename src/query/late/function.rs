//! `amax.late_document()`: one row's document.

use crate::pg::datum::copied;
use crate::pg::expr::check_marked;
use crate::pg::relation::Opened;
use crate::pg::slot::Single;
use crate::pg::snapshot::active;
use crate::pg::state::fetch_row;
use crate::table::slot::ops;
use pgrx::AnyElement;
use pgrx::prelude::*;
use std::ffi::CStr;

pub const NAME: &CStr = c"late_document";

/// The document of a row that the query's snapshot sees. Who may read the table was asked of the query: so it works in
/// plans of ours only (`FuncExpr::marked`).
#[pg_extern]
fn late_document(
    table: pg_sys::Oid,
    attribute: i32,
    tid: pg_sys::ItemPointerData,
    call: pg_sys::FunctionCallInfo,
) -> Option<AnyElement> {
    // SAFETY: PostgreSQL's description of the call.
    unsafe { check_marked(call, "amax.late_document()") };
    let rel = Opened::with_lock(table, pg_sys::AccessShareLock);
    let slot = Single::new(rel.desc(), ops());
    let found = fetch_row(&rel, tid, active(), &slot);
    assert!(found, "a row stays where it is for a snapshot that sees it");
    let (value, null) = slot.value(attribute as usize - 1);
    // SAFETY: a document unless it is NULL; a copy stays when the slot goes.
    unsafe {
        let value = if null { value } else { copied(value) };
        AnyElement::from_polymorphic_datum(value, null, pg_sys::JSONBOID)
    }
}
