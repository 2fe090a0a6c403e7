//! `COPY table TO` as text: PostgreSQL's COPY is shown a table whose documents are text, which is written from columns
//! without the documents' binary form.

use super::scan;
use crate::columnar::storage;
use crate::fault::fault;
use crate::pg::copy::{self, Posed, Shown};
use crate::pg::parse::CopyStmt;
use crate::pg::relation::{Opened, Routine};
use crate::pg::tupdesc::{Attribute, name_bytes};
use crate::storage::manifest;
use crate::table::slot;
use amax_format::ColumnType;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CStr;
use std::sync::OnceLock;

/// Executes the statement, and returns the number of rows. None if there is nothing to be won, or if anything is out of the
/// ordinary, an error above all: nothing has been done then, and PostgreSQL does it.
///
/// # Safety
/// A utility statement's tree and text in an active snapshot; the environment is the statement's, or null.
pub unsafe fn as_text(statement: &CopyStmt, source: &CStr, environment: *mut pg_sys::QueryEnvironment) -> Option<u64> {
    if statement.is_from() || !is_text(statement) || !may_write(statement) || copy::has_other_checks() {
        return None;
    }
    // SAFETY: a node of the parser's.
    let table = unsafe { Opened::find_named(statement.table()?, pg_sys::AccessShareLock)? };
    let is_document = |att: &Attribute| storage(att).column == ColumnType::Json;
    let has_documents =
        table.is_ours() && table.kind() == pg_sys::RELKIND_RELATION && table.desc().attributes().any(is_document);
    if !has_documents || !table.may_be_read_whole() || manifest::current(&table).components.is_empty() {
        return None;
    }
    let shown = |att: &Attribute| match is_document(att) {
        // Generated columns are not copied.
        _ if !statement.lists(name_bytes(att)) || att.attgenerated != 0 => Shown::Not,
        true => Shown::Text,
        false => Shown::AsIs,
    };
    fault("copy_text");
    let mut posed = Posed::new(&table, routine(), shown);
    // SAFETY: as the caller promises; it copies this table.
    Some(unsafe { posed.copy_to(statement, source, environment) })
}

/// Whether the format is one of those that are made of types' output functions.
fn is_text(statement: &CopyStmt) -> bool {
    let mut formats = statement.words().filter(|(name, _)| *name == c"format");
    formats
        .next()
        .is_none_or(|(_, word)| word == Some(c"text") || word == Some(c"csv"))
        && formats.next().is_none()
}

/// Whether the user may write to where it goes.
fn may_write(statement: &CopyStmt) -> bool {
    let role = match (statement.filename(), statement.is_program()) {
        (None, _) => return true,
        (Some(_), true) => pg_sys::ROLE_PG_EXECUTE_SERVER_PROGRAM,
        (Some(_), false) => pg_sys::ROLE_PG_WRITE_SERVER_FILES,
    };
    copy::user_has_role(role)
}

/// What such a table has beside its own callbacks, which its scan goes by once it has begun.
fn routine() -> &'static pg_sys::TableAmRoutine {
    static ROUTINE: OnceLock<Routine> = OnceLock::new();
    &ROUTINE
        .get_or_init(|| {
            Routine(pg_sys::TableAmRoutine {
                slot_callbacks: Some(slot_callbacks),
                scan_begin: Some(begin),
                ..*super::routine()
            })
        })
        .0
}

// Unguarded: it returns a constant.
unsafe extern "C-unwind" fn slot_callbacks(_rel: pg_sys::Relation) -> *const pg_sys::TupleTableSlotOps {
    slot::text_ops()
}

/// # Safety
/// As table_beginscan() calls it, of what COPY has been shown.
#[pg_guard]
unsafe extern "C-unwind" fn begin(
    rel: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    nkeys: i32,
    key: *mut pg_sys::ScanKeyData,
    parallel: pg_sys::ParallelTableScanDesc,
    flags: u32,
) -> pg_sys::TableScanDesc {
    // SAFETY: as the caller promises.
    unsafe { scan::begin(copy::table_of(rel).raw(), snapshot, nkeys, key, parallel, flags) }
}
