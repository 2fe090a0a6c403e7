//! `COPY … WITH (FORMAT arrow | parquet)`: what DoCopy and DoCopyTo do, with batches of Arrow; `from` has the other direction.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::direct::Direct;
use super::encoder::{Columns, Encoder};
use super::error::{fail, raise};
use super::format::Format;
use super::from;
use super::guc::Limits;
use super::options;
use super::output::Output;
use super::query::{Execution, Plan};
use super::receiver::{Receiver, WhenFull};
use super::relation::{TableQuery, table_query};
use super::scope::Scope;
use super::statement::{Destination, Statement};
use crate::pg::copy::user_has_role;
use crate::pg::memory::Context;
use crate::pg::snapshot::Active;

/// Executes the statement and returns the number of rows copied. For a utility hook: there is an active snapshot.
pub fn run<'a>(statement: Statement<'a>, scope: Scope<'a>) -> u64 {
    // SAFETY: it raises an error at most.
    unsafe { pg_sys::check_stack_depth() };
    let format = Format::of(&statement).expect("the hook has looked");
    if statement.is_from() {
        check_privileges(statement.destination(), true);
        return from::run(statement, format, scope);
    }
    let asked = options::outgoing(&statement, format);
    check_privileges(statement.destination(), false);

    let (raw, relation, cursor_options) = match statement.table() {
        None => (statement.query(scope), None, pg_sys::CURSOR_OPT_PARALLEL_OK as i32),
        Some(table) => {
            // No parallel plan: like COPY, keep the order of the table.
            let TableQuery { raw, relation } = table_query(table, &statement, scope);
            (raw, Some(relation), 0)
        }
    };
    let plan = Plan::of_copy(raw, scope, cursor_options);
    if let Some(relation) = relation
        && !plan.reads(relation)
    {
        fail(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            "relation referenced by COPY statement has changed",
        );
    }

    // See what this command's predecessors in the transaction did.
    let active = Active::of_command();
    let mut execution = Execution::start(plan, scope, &active);
    let columns = Columns::new(execution.columns(), format, asked.shapes, scope);
    let column_count = execution.columns().natts() as u16;
    let mut output = Output::open(statement.destination());
    output.begin(relation.unwrap_or(pg_sys::InvalidOid), column_count);

    let mut encoder = Encoder::new(columns, output, asked.framing, Limits::current());
    let mut row = Context::new("Arrow row");
    match execution.with_top(Direct::of) {
        Ok(mut direct) => {
            while execution.run_direct(|| direct.fill(&mut encoder, &mut row, Output::offer)) {
                encoder.flush();
            }
        }
        Err(_) => execution.run(&mut Receiver::new(&mut encoder, &mut row, WhenFull::Write), true),
    }
    // What waits for its schema does not keep what the query has open.
    encoder.flush();
    execution.end();
    drop(active);
    encoder.finish();

    encoder.output().close();
    encoder.total_rows()
}

/// Files and programs are for the roles that COPY lets have them.
fn check_privileges(destination: Destination, is_from: bool) {
    let (role, name, what) = match destination {
        Destination::Client => return,
        Destination::Program(_) => (
            pg_sys::ROLE_PG_EXECUTE_SERVER_PROGRAM,
            "pg_execute_server_program",
            "to or from an external program",
        ),
        Destination::File(_) if is_from => (pg_sys::ROLE_PG_READ_SERVER_FILES, "pg_read_server_files", "from a file"),
        Destination::File(_) => (pg_sys::ROLE_PG_WRITE_SERVER_FILES, "pg_write_server_files", "to a file"),
    };
    if !user_has_role(role) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("must be superuser or have privileges of the {name} role to COPY {what}"),
            None,
            Some("Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.".into()),
        );
    }
}
