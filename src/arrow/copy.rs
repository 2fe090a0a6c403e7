//! `COPY … TO … WITH (FORMAT arrow)`: what DoCopy and DoCopyTo do, with Arrow as the format.

use std::ffi::c_char;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::encoder::{Columns, Encoder};
use super::error::{fail, raise};
use super::guc::Limits;
use super::options;
use super::output::Output;
use super::query::{Execution, plan_copy};
use super::receiver::{Receiver, RowSink, WhenFull};
use super::relation::{TableQuery, table_query};

/// Executes the statement and returns the number of rows copied.
///
/// # Safety
/// `planned` holds a CopyStmt; called from a utility hook, with an active snapshot.
pub unsafe fn run(
    planned: *mut pg_sys::PlannedStmt,
    source: *const c_char,
    environment: *mut pg_sys::QueryEnvironment,
) -> u64 {
    pg_sys::check_stack_depth();
    // Analysis scribbles on the tree, which may be a cached one.
    let statement: *mut pg_sys::CopyStmt = pg_sys::copyObjectImpl((*planned).utilityStmt.cast()).cast();
    if (*statement).is_from {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "COPY FROM is not supported with format arrow",
            Some("The arrow format can only be written.".into()),
            None,
        );
    }
    let framing = options::framing(statement);
    check_privileges(statement);

    let (raw, relation, cursor_options) = if (*statement).relation.is_null() {
        let raw = pg_sys::palloc0(std::mem::size_of::<pg_sys::RawStmt>()).cast::<pg_sys::RawStmt>();
        (*raw).type_ = pg_sys::NodeTag::T_RawStmt;
        (*raw).stmt = (*statement).query;
        (*raw).stmt_location = (*planned).stmt_location;
        (*raw).stmt_len = (*planned).stmt_len;
        (raw, None, pg_sys::CURSOR_OPT_PARALLEL_OK as i32)
    } else {
        // No parallel plan: like COPY, keep the order of the table.
        let TableQuery { raw, relation } = table_query(statement, planned);
        (raw, Some(relation), 0)
    };
    let plan = plan_copy(raw, source, environment, cursor_options);
    if let Some(relation) = relation
        && !pg_sys::list_member_oid((*plan).relationOids, relation)
    {
        fail(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "relation referenced by COPY statement has changed",
        );
    }

    // See what this command's predecessors in the transaction did.
    pg_sys::PushCopiedSnapshot(pg_sys::GetActiveSnapshot());
    pg_sys::UpdateActiveSnapshotCommandId();
    let mut execution = Execution::start(
        plan,
        source,
        pg_sys::GetActiveSnapshot(),
        std::ptr::null_mut(),
        environment,
    );
    let columns = Columns::new(execution.columns());
    let column_count = (*execution.columns()).natts as u16;
    let mut output = Output::open(statement);
    output.begin(relation.unwrap_or(pg_sys::InvalidOid), column_count);

    let mut encoder = Encoder::new(columns, output, framing, Limits::current());
    let mut receiver = Receiver::new(&mut encoder as *mut _ as *mut dyn RowSink, WhenFull::Write);
    execution.set_receiver(&mut receiver);
    execution.run(true);
    encoder.finish();
    execution.end();
    pg_sys::PopActiveSnapshot();

    encoder.output().close();
    encoder.total_rows()
}

/// Files and programs are for the roles that COPY lets have them.
unsafe fn check_privileges(statement: *const pg_sys::CopyStmt) {
    if (*statement).filename.is_null() {
        return;
    }
    let (role, name, what) = if (*statement).is_program {
        (
            pg_sys::ROLE_PG_EXECUTE_SERVER_PROGRAM,
            "pg_execute_server_program",
            "to or from an external program",
        )
    } else {
        (pg_sys::ROLE_PG_WRITE_SERVER_FILES, "pg_write_server_files", "to a file")
    };
    if !pg_sys::has_privs_of_role(pg_sys::GetUserId(), pg_sys::Oid::from(role)) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be superuser or have privileges of the {name} role to COPY {what}"),
            None,
            Some("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.".into()),
        );
    }
}
